"""How narrow the interval of a correlation gets with more architectures."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

from anynet_study.plots.style import BLUE, GREY, ONE_COLUMN, styled


@styled
def width_plot(table: pd.DataFrame) -> Figure:
    """Plot a result of `apr.interval_widths`: measured widths, their spread, and Fisher's."""
    figure = Figure(figsize=(ONE_COLUMN, 2.6), layout="constrained")
    axes = figure.subplots()
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
    axes.set(
        xscale="log", yscale="log", xlabel="architectures", ylabel="width of the interval of ρ"
    )
    axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
    axes.xaxis.set_minor_formatter(NullFormatter())
    for formatter in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        formatter(ScalarFormatter())
    axes.legend()
    return figure
