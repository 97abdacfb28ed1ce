"""Paper 3, Figure 1 and Table 2: do better architectures on the source do better on the targets?

    python analysis/transfer.py studies/paper --source ImageNet --above 70
    python analysis/transfer.py accuracies.csv --accuracy --source ImageNet --above 70 --spline
    python analysis/transfer.py scores.csv --accuracy --percent --source ImageNet \
        --ranges aptos=0:1 --images ImageNet=50000,caltech=3000
    python analysis/transfer.py studies/paper --source ImageNet --above 70 --across parameters
    python analysis/transfer.py accuracies.csv --accuracy --distances distances.csv

Lines through all models, and through those above an accuracy on the source alone. Bars are the
sampling error of accuracies on datasets whose number of test images is known. --ranges are those of
scores that are no percents, such as quadratic kappa. --across also draws the scores against a
column of numbers, such as the size of the networks (Figure 9: transfer-across). Where the distances
of the datasets are known, also the slope on each target against its distance from the source
(transfer-distance; section 5, Figure 3).
"""

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.building import described
from anynet_study.analysis.analyses.script import (
    FOLDER,
    save,
    script,
    show,
    source_or_first,
)
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError


def parse_ranges(text: str) -> dict[str, tuple[float, float]]:
    """The worst and best scores by dataset; UserError where they are no such text."""
    found = {}
    for part in filter(None, text.split(",")):
        name, _, ends = part.rpartition("=")
        try:
            worst, best = map(float, ends.split(":"))
        except ValueError:
            raise UserError(f"--ranges: {part!r} is not NAME=WORST:BEST, such as f1=0:1") from None
        found[name] = (worst, best)
    return found


def transfer(
    study: Study,
    above: Annotated[float | None, typer.Option(help="Accuracy on the source, percent.")] = None,
    spline: Annotated[bool, typer.Option("--spline", help="Smoothing splines, too.")] = False,
    ranges: Annotated[str, typer.Option(help="NAME=WORST:BEST,... of other scores.")] = "",
    across: Annotated[str, typer.Option(help="A column of numbers above 0, on x.")] = "",
    output: Output = FOLDER,
) -> None:
    """Draw transfer.png and transfer.pdf, and print the fits."""
    scores, name = 100 - study.errors, source_or_first(study)
    limits = parse_ranges(ranges)
    how: dict[str, Any] = {"above": above, "ranges": limits}
    fits = apr.transfer_fits(scores, name, **how, **study.options.intervals)
    show(f"Accuracy on {name}", fits)
    images = {name: n for name, n in study.image_counts.items() if name not in limits}
    figure = plots.transfer_grid(scores, name, **how, spline=spline, images=images)
    save(figure, output / "transfer", scores.reset_index())
    if across:
        draw_across(study, scores, name, across, how, output)
    if study.known("distances") is not None:
        draw_distances(study, fits, name, output)


def draw_across(
    study: Study, scores: pd.DataFrame, source: str, column: str, how: dict[str, Any], folder: Path
) -> None:
    """Draw the scores against what a column says of the architectures, and print the lines."""
    covariate = described(study, column)
    groups = {"all": pd.Series(True, scores.index)}
    if how["above"] is not None:
        groups[f"above {how['above']:g}"] = scores[source] > how["above"]
    told: dict[str, Any] = {"groups": groups, "ranges": how["ranges"]}
    fits = apr.covariate_fits(scores, covariate, **told, level=study.options.level)
    show(f"Points for tenfold {column}", fits)
    save(plots.covariate_grid(scores, covariate, **told), folder / "transfer-across", fits)


def draw_distances(study: Study, fits: pd.DataFrame, source: str, folder: Path) -> None:
    """Draw the slopes on the targets whose distance from the source is known."""
    table = study.table("distance")
    columns = ["target", "distance", "distance_low", "distance_high"]
    turned = table.rename(columns={"source": "target", "target": "source"})
    both = pd.concat([table, turned])
    known = both.loc[both["source"] == source, columns]
    lines = fits[fits["models"] == "all"].set_index("target")[["slope", "slope_low", "slope_high"]]
    names = {"slope": "estimate", "slope_low": "low", "slope_high": "high"}
    rows = known.join(lines.rename(columns=names), on="target", how="inner").assign(source=source)
    if rows.empty:
        print(f"no transfer-distance: no distance is between {source} and a target")
        return
    figure = plots.distance_chart(rows, f"slope on accuracy on {source}")
    save(figure, folder / "transfer-distance", rows)


if __name__ == "__main__":
    script(transfer)
