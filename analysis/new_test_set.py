"""Paper 2, Figure 1 and Table 1: do models keep their accuracy and their order on a new test set?

    python analysis/new_test_set.py accuracies.csv val v2 --accuracy --images val=50000,v2=10000
    python analysis/new_test_set.py studies/paper test cifar10.1 --dataset cifar10
    python analysis/new_test_set.py accuracies.csv val v2 --accuracy --describe year --against year

The line, slope and offset on three scales (new_test_set-lines.csv): with Student's t and the
standard error HC3, and with the bootstrap over models (percentiles of --resamples, in the paper
100,000). Then every model's gap and change of rank. With --against, the gap as a line on a column
of numbers that describes the models, such as their year (new_test_set-against).
"""

from pathlib import Path
from typing import Annotated, Any, get_args

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.building import described
from anynet_study.analysis.analyses.script import (
    FOLDER,
    DatasetName,
    errors_on_test_sets,
    save,
    save_table,
    script,
    show,
)
from anynet_study.analysis.apr.bootstrap import draws
from anynet_study.analysis.apr.fits import Scale
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError


def bootstrapped(
    x: NDArray[np.float64], y: NDArray[np.float64], resamples: int, seed: int, level: float
) -> NDArray[np.float64]:
    """(2, 2) low and high ends of slope and offset: percentiles over resamples of the points.

    Resamples in which x is constant have no line, and do not count.
    """
    found, middle, away = [], x.mean(), x - x.mean()
    for counts in draws(len(x), resamples, seed):
        shares = counts / len(x)
        means, variances = shares @ away, shares @ away**2 - (shares @ away) ** 2
        variances[variances < 1e-9 * away.var()] = np.nan
        slope = (shares @ (away * y) - means * (shares @ y)) / variances
        found.append(np.stack([slope, shares @ y - slope * (middle + means)]))
    ends = [50 * (1 - level), 50 * (1 + level)]
    limits: NDArray[np.float64] = np.nanpercentile(np.concatenate(found, axis=1), ends, axis=1)
    return limits


def lines(
    accuracies: pd.DataFrame, original: str, new: str, images: tuple[int, int] | None, **how: Any
) -> pd.DataFrame:
    """A row for each scale: slope and offset with both intervals, and how many models.

    Accuracies of 0% and 100% have no place on logits and probits but where numbers of `images` are
    known. A scale on which there is no line is left out.
    """
    rows = []
    for scale in get_args(Scale):
        try:
            fit = apr.linear_fit(accuracies[original], accuracies[new], scale, how["level"], images)
        except DoesNotApplyError:
            if scale == "linear":
                raise
            continue
        low, high = bootstrapped(fit.x, fit.y, **how)
        row: dict[str, Any] = {"scale": scale, "n": fit.n}
        for name, place in (("slope", 0), ("offset", 1)):
            field = {"slope": "slope", "offset": "intercept"}[name]
            row |= {f"{name}{end}": getattr(fit, field + end) for end in ("", "_low", "_high")}
            row |= {f"{name}_bootstrap_low": low[place]}
            row |= {f"{name}_bootstrap_high": high[place]}
        rows.append(row)
    return pd.DataFrame(rows)


def new_test_set(
    study: Study,
    original: str,
    new: str,
    scale: Scale = "linear",
    dataset: DatasetName = "",
    against: Annotated[str, typer.Option(help="A column of numbers, such as the year.")] = "",
    output: Output = FOLDER,
) -> None:
    """Draw new_test_set and gaps, as PNG and PDF, and print the lines and the gaps."""
    errors, counts = errors_on_test_sets(study, dataset)
    accuracies, how = 100 - errors, study.options.intervals
    sizes = None if counts is None else (counts[original], counts[new])
    found = lines(accuracies, original, new, sizes, **how)
    show(f"Line of accuracy on {new} on that on {original}", found)
    save_table(found, output / "new_test_set-lines.csv")
    table = apr.gaps(accuracies, original, new, counts, **how)
    show(f"From {original} to {new}", table)
    fit = apr.linear_fit(accuracies[original], accuracies[new], scale, study.options.level, sizes)
    figure = plots.fit_grid(accuracies, original, [new], {new: fit}, counts)
    save(figure, output / "new_test_set", plots.fit_data(accuracies, original, [new], counts))
    save(plots.gap_chart(table, original, new), output / "gaps", table)
    if against:
        draw_against(study, table, against, output)


def draw_against(study: Study, gaps: pd.DataFrame, column: str, folder: Path) -> None:
    """Draw the gap as a line on a column of numbers, and print the line."""
    values = pd.to_numeric(described(study, column), errors="coerce")
    table = gaps.assign(**{column: gaps["architecture"].map(values)})
    fit = apr.linear_fit(table[column], table["gap"], level=study.options.level)
    show(f"Loss of accuracy (points) as a line on {column}", pd.DataFrame([fit.row()]))
    save(plots.gap_line_chart(table, fit, column), folder / "new_test_set-against", table)


if __name__ == "__main__":
    script(new_test_set)
