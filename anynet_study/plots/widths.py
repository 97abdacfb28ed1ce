"""How narrow the intervals of correlations get with more architectures."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

from anynet_study.plots import wording
from anynet_study.plots.legends import columns_that_fit
from anynet_study.plots.style import BLUE, GREY, panels, styled


@styled
def width_grid(tables: Mapping[str, pd.DataFrame], columns: int = 3) -> Figure:
    """Plot measured widths, their spread, and Fisher's, a panel a pair of datasets.

    `tables` maps what a panel is called to a result of `apr.interval_widths`.
    """
    figure, grid = panels(len(tables), columns, height=2.0)
    for axes, (name, table) in zip(grid, tables.items(), strict=True):
        _draw(axes, table)
        axes.set_title(f"{wording.shorten(name, 34)}\nn = {table['n'].max()}")
    handles, labels = grid[0].get_legend_handles_labels()
    fitting = columns_that_fit([str(label) for label in labels], figure.get_figwidth())
    figure.legend(handles, labels, loc="outside lower center", ncols=fitting)
    return figure


def _draw(axes: Axes, table: pd.DataFrame) -> None:
    sizes = table["n"]
    axes.fill_between(
        sizes,
        table["width_low"],
        table["width_high"],
        color=BLUE,
        alpha=0.25,
        lw=0,
        label="10% to 90% of the subsamples",
    )
    axes.plot(
        sizes, table["width"], color=BLUE, marker="o", markersize=3, label="bootstrap, median"
    )
    axes.plot(sizes, table["fisher"], color=GREY, linestyle="--", label="Fisher's approximation")
    axes.set(xscale="log", yscale="log", xlabel="architectures", ylabel="width of interval of ρ")
    axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
    axes.xaxis.set_minor_formatter(NullFormatter())
    for formatter in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        formatter(ScalarFormatter())
