"""Paper 3, Appendix F: how much less do ensembles of a study's networks err than each alone?

    python analysis/ensembles.py studies/paper cifar10 --sizes 1,2,5,10 -o figures

The mean of the networks' probabilities, of the scores that a study has kept (launch.scores: true).
Ensembles are of networks at random, and of the best; the best are chosen by one half of the test
images and tested on the other.
"""

from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anynet_study import apr
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import FOLDER, check_datasets, save, script, show
from anynet_study.analysis.plots import style, wording
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError


def ensembles(
    study: Study,
    dataset: str,
    sizes: Annotated[str, typer.Option(help="Networks of an ensemble.")] = "1,2,5,10",
    draws: Annotated[int, typer.Option(min=2, help="Ensembles at random of each size.")] = 100,
    output: Output = FOLDER,
) -> None:
    """Draw ensembles.png and ensembles.pdf, and print the errors."""
    check_datasets(study, [dataset])
    if study.store is None:
        raise UserError(f"{study.name}: scores of networks are kept beside a results store")
    runs = study.store.runs(columns=["run_id", "dataset", "recipe", "replicate", "status"])
    standing = study.store.stands(runs, study.options.recipe)
    chosen = (runs["dataset"] == dataset) & standing & (runs["replicate"] == 0)
    runs = runs[chosen & (runs["status"] == "completed")]
    truth = study.store.labels(dataset)
    if runs.empty or truth is None:
        raise UserError(
            f"{study.name}: no network, or no true classes, of {dataset} under "
            f"{study.errors_of[dataset]}"
        )
    scores = np.stack([study.store.scores(run) for run in runs["run_id"]])
    counts = [int(size) for size in sizes.split(",") if int(size) <= len(scores)]
    options = study.options
    table = apr.ensembles(scores, truth, counts, draws, options.seed, options.level)
    show(f"Top-1 errors of ensembles on {dataset} (%)", table)
    save(draw_ensembles(table, dataset), output / "ensembles", table)


@style.styled
def draw_ensembles(table: pd.DataFrame, dataset: str) -> Figure:
    """Errors by size, and those of the members alone."""
    drawn = style.one_panel(style.ONE_COLUMN, 2.6)
    apart = {"random": 0.98, "best": 1.02}
    for name, look in style.series_looks(apart, "choices").items():
        rows = table[table["chosen"] == name]
        line: dict[str, Any] = {"linestyle": "-", "label": f"ensemble, {name}", **look}
        places = rows["size"] * apart[name]
        style.draw_intervals(drawn.first, rows, "error", places, across=False, **line)
        alone = {"color": look["color"], "linestyle": ":", "label": f"its members alone, {name}"}
        drawn.first.plot(rows["size"], rows["alone"], **alone)
    drawn.first.xaxis.set_major_locator(MaxNLocator(integer=True))
    title = f"{wording.level(table)} intervals, n = {table.attrs['n']}"
    label = wording.error_label(dataset, "top1")
    drawn.first.set(xlabel="networks of an ensemble", ylabel=label, title=title)
    drawn.legend(*drawn.first.get_legend_handles_labels(), most=2)
    return drawn.figure


if __name__ == "__main__":
    script(ensembles)
