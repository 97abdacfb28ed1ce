"""Paper 1, Figure 1: is a network that does well on the source a good choice for other images?

    python analysis/figure1.py studies/paper --datasets imagenet,powerline,insects -o figures

The errors on each dataset, relative to their mean there, against those on the source.
"""

from typing import Annotated

import pandas as pd
import typer
from matplotlib.figure import Figure

from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import (
    FOLDER,
    check_datasets,
    save,
    script,
    source_or_first,
)
from anynet_study.analysis.plots import style
from anynet_study.analysis.study import Study


def figure1(
    study: Study,
    datasets: Annotated[str, typer.Option(help="NAME,NAME,...; default: the first three.")] = "",
    output: Output = FOLDER,
) -> None:
    """Draw figure1.png and figure1.pdf."""
    source = source_or_first(study)
    names = datasets.split(",") if datasets else list(study.errors)[:3]
    check_datasets(study, names)
    relative = study.errors[names] / study.errors[names].mean()
    across = f"error on {source} (%)"
    table = relative.assign(**{across: study.errors[source]}).reset_index()
    table = table.melt(["architecture", across], names, "dataset", "error over its mean").dropna()
    save(draw_figure1(table, across), output / "figure1", table)


@style.styled
def draw_figure1(table: pd.DataFrame, across: str) -> Figure:
    """A colour and marker for each dataset."""
    drawn = style.one_panel(style.ONE_COLUMN, 2.6)
    looks = style.series_looks(dict.fromkeys(table["dataset"]), "datasets")
    for name, look in looks.items():
        rows = table[table["dataset"] == name]
        look = {"linestyle": "none", "markersize": 3.5, "alpha": 0.7, **look}
        drawn.first.plot(rows[across], rows["error over its mean"], label=name, **look)
    drawn.first.set(xlabel=across, ylabel="error over its mean")
    drawn.legend(*drawn.first.get_legend_handles_labels())
    return drawn.figure


if __name__ == "__main__":
    script(figure1)
