"""Paper 5, section 5.2 and Figures 2 and 3: how good are the best of each size, or each family?

    python analysis/best_of_bins.py studies/paper parameters --edges 2e6,4e6
    python analysis/best_of_bins.py errors.csv flops        (a column of the table)
    python analysis/best_of_bins.py accuracies.csv parameters --accuracy --by family --robustness \
        --base val

The mean accuracy of the ten best architectures of each bin, on every dataset, or on --datasets.
With --robustness the accuracy is the average over the shifts. --by names a second factor: its
values are lines of their own, in the same bins.
"""

from typing import Annotated

import pandas as pd
import typer

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.building import described
from anynet_study.analysis.analyses.script import (
    FOLDER,
    Datasets,
    chosen_errors,
    errors_on_test_sets,
    save,
    script,
)
from anynet_study.analysis.study import SHIFT, Study


def best_of_bins(
    study: Study,
    covariate: str,
    edges: Annotated[str, typer.Option(help="Where bins end; else thirds.")] = "",
    by: Annotated[str, typer.Option(help="A second column: lines for each of its values.")] = "",
    robustness: Annotated[bool, typer.Option("--robustness", help="Of shifts' averages.")] = False,
    base: Annotated[str, typer.Option(help="Of a table: the test set without a shift.")] = "",
    top: int = 10,
    datasets: Datasets = "",
    output: Output = FOLDER,
) -> None:
    """Draw best_of_bins.png and best_of_bins.pdf; the means are in best_of_bins.csv."""
    values = described(study, covariate)
    cuts = [float(edge) for edge in edges.split(",")] if edges else 3
    how = {"top": top, **study.options.intervals}
    scores = (
        robustness_of(study, datasets, base) if robustness else 100 - chosen_errors(study, datasets)
    )
    tables: dict[str, pd.DataFrame] = {}
    for name, column in scores.items():
        whole = apr.best_of_bins(column, values, cuts, **how)
        if not by:
            tables[str(name)] = whole
            continue
        # In the same bins, though a value of the second factor may have none in some of them.
        ends: list[float] | int = [float(end) for end in whole["from"][1:].dropna()] or 1
        for level, rows in values.groupby(described(study, by), sort=False):
            label = f"{name}, {level}" if len(scores.columns) > 1 else str(level)
            part = apr.best_of_bins(column.reindex(rows.index), rows, ends, **how)
            tables[label] = with_bins(part, whole)
    what = "average accuracy on shifts (%)" if robustness else "accuracy (%)"
    figure = plots.bin_chart(tables, covariate, what)
    table = pd.concat(tables, names=["dataset"]).reset_index(0)
    save(figure, output / "best_of_bins", table)


def with_bins(part: pd.DataFrame, whole: pd.DataFrame) -> pd.DataFrame:
    """The rows of a part of the architectures, with one for each bin that the whole has."""
    found = part.set_index("bin").reindex(whole["bin"]).reset_index()
    counts = ["architectures", "averaged"]
    found[counts] = found[counts].fillna(0).astype(int)
    found.attrs = part.attrs
    return found


def robustness_of(study: Study, datasets: str, base: str) -> pd.DataFrame:
    """Average accuracy (%) over the shifts: architectures x datasets that have any."""
    if study.store is None:
        errors, _ = errors_on_test_sets(study, "", SHIFT, base)
        return pd.DataFrame(
            {
                "shifts": 100
                - errors.drop(columns=base or errors.columns[0]).mean(axis=1, skipna=False)
            }
        )
    tables = study.accuracies
    names = datasets.split(",") if datasets else [*tables]
    found = {name: errors_on_test_sets(study, name, SHIFT)[0] for name in names}
    return pd.DataFrame(
        {
            name: 100 - errors.iloc[:, 1:].mean(axis=1, skipna=False)
            for name, errors in found.items()
        }
    )


if __name__ == "__main__":
    script(best_of_bins)
