"""Rankings of architectures: across datasets, over a baseline, and under test-time transforms.

Salaudeen and Hardt 2024 (paper 4), Figures 1, 8 and 10 to 12.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from anynet_study.plots import wording
from anynet_study.plots.legends import columns_that_fit
from anynet_study.plots.style import (
    BLUE,
    GREY,
    ONE_COLUMN,
    ORANGE,
    PAGE,
    SERIES,
    TWO_COLUMNS,
    styled,
)

#: Most architectures that have their names on a figure.
NAMED = 40


@styled
def rank_chart(ranks: pd.DataFrame) -> Figure:
    """Plot the rank of every architecture on every dataset, a line an architecture.

    `ranks` is a result of `apr.tied_ranks`; datasets come in its order, and the first one's order
    names the lines. Bars are the ranks that overlapping intervals leave open. Beyond six
    architectures the six best on the first dataset have colours; beyond 40 none has its name.
    """
    datasets = list(dict.fromkeys(ranks["dataset"]))
    first = ranks[ranks["dataset"] == datasets[0]].sort_values("rank", kind="stable")
    names = list(dict.fromkeys([*first["architecture"], *ranks["architecture"]]))
    width = min(TWO_COLUMNS, ONE_COLUMN + 0.9 * max(len(datasets) - 2, 0))
    figure = Figure(figsize=(width, _height(len(names), 0.16)), layout="constrained")
    axes = figure.subplots()
    step = 0.3 / max(len(names) - 1, 1)
    for number, name in reversed(list(enumerate(names))):
        rows = ranks[ranks["architecture"] == name].set_index("dataset").reindex(datasets)
        colour, marker = SERIES[number] if number < len(SERIES) else (GREY, "o")
        # Bars of tied architectures side by side.
        places = np.arange(len(datasets)) + (number * step - 0.15 if len(names) <= NAMED else 0)
        faint = 1.0 if number < len(SERIES) else 0.55
        look: dict[str, Any] = {"color": colour, "alpha": faint}
        axes.plot(places, rows["rank"], marker=marker, markersize=3, linewidth=0.9, **look)
        axes.vlines(places, rows["rank_best"], rows["rank_worst"], linewidth=0.7, **look)
    _rank_axis(axes, int(ranks["rank_worst"].max()))
    axes.set_xticks(range(len(datasets)), [wording.shorten(name, 18) for name in datasets])
    axes.set_xlim(-0.35, len(datasets) - 0.65)
    if len(names) <= NAMED:
        _name_first(axes, first)
    axes.set_title(f"n = {len(names)}")
    bar = Line2D([], [], linestyle="none", marker="|", markersize=8, color=GREY)
    figure.legend(
        [bar], ["ranks that overlapping intervals leave open"], loc="outside lower center"
    )
    return figure


@styled
def improvement_chart(table: pd.DataFrame, baseline: str = "") -> Figure:
    """Plot accuracies over the baseline model's, a series a dataset.

    `table` is a result of `apr.relative_improvement`, `baseline` the name of that model for the
    label. Architectures are in rising order on the first dataset; bars are the sampling error where
    the table has it.
    """
    datasets = list(dict.fromkeys(table["dataset"]))
    wide = table.pivot(index="architecture", columns="dataset", values="relative")[datasets]
    order = list(wide.sort_values(datasets, kind="stable").index)
    figure = Figure(figsize=(TWO_COLUMNS, 2.8), layout="constrained")
    axes = figure.subplots()
    shift = 0.5 / max(len(datasets), 2)
    for number, dataset in enumerate(datasets):
        rows = table[table["dataset"] == dataset].set_index("architecture").reindex(order)
        colour, marker = SERIES[number % len(SERIES)]
        places = np.arange(len(order)) + (number - (len(datasets) - 1) / 2) * shift
        look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 3.5}
        axes.plot(
            places, rows["relative"], linewidth=0.5, label=wording.shorten(dataset, 30), **look
        )
        if "relative_low" in rows:
            axes.vlines(places, rows["relative_low"], rows["relative_high"], color=colour, lw=0.8)
    axes.axhline(1, color=GREY, linestyle=":", linewidth=0.8)
    named = len(order) <= NAMED
    labels = [wording.shorten(name, 22) for name in order] if named else []
    axes.set_xticks(range(len(labels)), labels, rotation=90, fontsize=5.5)
    if not named:
        axes.set_xlabel("architecture, by accuracy on the first dataset")
    of = wording.shorten(baseline, 24) if baseline else "the baseline"
    axes.set_ylabel(f"accuracy over that of\n{of}")
    bars = ", bars: sampling error" if "relative_low" in table else ""
    axes.set_title(f"n = {len(order)}{bars}")
    shown = [wording.shorten(dataset, 30) for dataset in datasets]
    figure.legend(loc="outside lower center", ncols=columns_that_fit(shown, TWO_COLUMNS))
    return figure


@styled
def transform_chart(table: pd.DataFrame, top: int = NAMED) -> Figure:
    """Plot the ranks of the `top` best architectures over a family of test-time transforms.

    `table` is a result of `apr.transform_ranks`.
    """
    rows = table.head(top).reset_index(drop=True)
    figure = Figure(figsize=(ONE_COLUMN * 1.2, _height(len(rows), 0.15)), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(rows))
    axes.hlines(places, rows["rank_best"], rows["rank_worst"], color=GREY, linewidth=0.7)
    axes.hlines(places, rows["rank_low"], rows["rank_high"], color=BLUE, linewidth=2.2)
    axes.plot(rows["rank"], places, "o", color=ORANGE, markersize=4, mec="black", mew=0.3)
    names = [
        f"{wording.shorten(name, 26)} ({wording.number(mean, 1)}%)"
        for name, mean in zip(rows["architecture"], rows["mean"], strict=True)
    ]
    axes.set_yticks(places, names, fontsize=6)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(left=0.5)
    axes.set_xlabel("rank (1 is the smallest error)")
    shown = f"{len(rows)} best of {len(table)}" if len(rows) < len(table) else f"n = {len(table)}"
    axes.set_title(f"mean error over {int(table['evaluations'].iloc[0])} evaluations, {shown}")
    handles = [axes.lines[0], axes.collections[1], axes.collections[0]]
    labels = ["rank of the mean", "its interval", "best to worst single rank"]
    figure.legend(handles, labels, loc="outside lower center", ncols=3, columnspacing=1)
    return figure


def _height(rows: int, each: float) -> float:
    return float(min(max(2.2, 1.0 + each * rows), PAGE))


def _rank_axis(axes: Axes, last: int) -> None:
    axes.set_ylim(last + 0.6, 0.4)
    axes.set_ylabel("rank (1 is the smallest error)")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def _name_first(axes: Axes, first: pd.DataFrame) -> None:
    """Name the lines on the right of the axis labels, by their rank on the first dataset."""
    places = np.arange(1, len(first) + 1)
    names = [wording.shorten(name, 24) for name in first["architecture"]]
    axes.set_yticks(places, [f"{n}  {r}" for n, r in zip(names, first["rank"], strict=True)])
    axes.tick_params(axis="y", labelsize=6)
