"""Accuracy under distribution shifts, and the best of each bin (Feuer et al. 2023, paper 5)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from anynet_study.plots import wording
from anynet_study.plots.legends import columns_that_fit
from anynet_study.plots.points import point_size
from anynet_study.plots.style import (
    BLACK,
    BLUE,
    GREY,
    ONE_COLUMN,
    ORANGE,
    SERIES,
    TWO_COLUMNS,
    panels,
    styled,
)

#: Most architectures whose lines have a colour and a name.
NAMED = len(SERIES)


@styled
def robustness_grid(table: pd.DataFrame, base: str = "base", columns: int = 3) -> Figure:
    """Plot accuracy on each shift against the base accuracy, with the baseline models' trend.

    `table` is a result of `apr.effective_robustness`; `base` names that test set in the labels. How
    far a point lies above the line is its effective robustness. Architectures that were left out
    (with a note in the table) are not drawn; the title says how many there are.
    """
    shifts = list(dict.fromkeys(table["shift"]))
    figure, grid = panels(len(shifts), columns, height=2.0)
    for axes, shift in zip(grid, shifts, strict=True):
        rows = table[table["shift"] == shift]
        known = rows[rows["note"] == ""].sort_values("base")
        for baseline, (colour, marker) in {False: (ORANGE, "^"), True: (BLUE, "o")}.items():
            chosen = known[known["baseline"] == baseline]
            size = point_size(len(known)) * (1.0 if baseline else 1.15)
            look: dict[str, Any] = {
                "color": colour,
                "marker": marker,
                "markersize": size,
                "alpha": 0.6,
            }
            axes.plot(chosen["base"], chosen["accuracy"], linestyle="none", mew=0, **look)
        axes.plot(known["base"], known["expected"], color=BLACK, linewidth=1)
        limits = axes.get_xlim(), axes.get_ylim()
        axes.plot([0, 100], [0, 100], color=GREY, linestyle=":", linewidth=0.8)
        axes.set(xlim=limits[0], ylim=limits[1])
        left_out = len(rows) - len(known)
        axes.set_title(f"n = {len(known)}" + (f" ({left_out} left out)" if left_out else ""))
        axes.set_xlabel(f"accuracy on {wording.shorten(base, 18)} (%)")
        what = "average of the shifts" if shift == "average" else wording.shorten(shift, 20)
        axes.set_ylabel(f"{what} (%)")
    _legend(figure, table)
    return figure


@styled
def bin_chart(tables: Mapping[str, pd.DataFrame], covariate: str, score: str) -> Figure:
    """Plot the mean of the best of each bin, a series a table.

    `tables` maps the name of a score to its `apr.best_of_bins`, all with the same bins; `covariate`
    and `score` label the axes, with their units. The numbers under the bins count architectures.
    """
    first = next(iter(tables.values()))
    width = min(TWO_COLUMNS, max(ONE_COLUMN, 0.9 + 0.75 * len(first)))
    figure = Figure(figsize=(width, 2.6), layout="constrained")
    axes = figure.subplots()
    for number, (name, table) in enumerate(tables.items()):
        colour, marker = SERIES[number % len(SERIES)]
        places = np.arange(len(table)) + 0.12 * (number - (len(tables) - 1) / 2)
        rising = first["from"].notna().all()  # bins of numbers: a trend
        look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4}
        label = wording.shorten(name, 30)
        axes.plot(places, table["mean"], "-" if rising else "", linewidth=0.8, label=label, **look)
        axes.vlines(places, table["low"], table["high"], color=colour, linewidth=0.9)
    labels = [
        f"{wording.shorten(row.bin, 16)}\n{_counts(row.averaged, row.architectures)}"
        for row in first.itertuples()
    ]
    axes.set_xticks(range(len(first)), labels, fontsize=6)
    axes.set_xlim(-0.5, len(first) - 0.5)
    axes.set_xlabel(covariate)
    axes.set_ylabel(f"mean of the best,\n{score}")
    axes.set_title("bars: bootstrap intervals")
    if len(tables) > 1:
        names = [wording.shorten(name, 30) for name in tables]
        figure.legend(loc="outside lower center", ncols=columns_that_fit(names, width))
    return figure


@styled
def label_set_chart(table: pd.DataFrame) -> Figure:
    """Plot the accuracy on every label set, a line an architecture.

    `table` is a result of `apr.label_set_accuracy`; label sets come in order of their classes.
    Beyond six architectures the lines are grey, and the mean over all is on top of them.
    """
    sets = table.drop_duplicates("label_set").sort_values("classes", kind="stable")
    wide = table.pivot(index="architecture", columns="label_set", values="accuracy")
    wide = wide[list(sets["label_set"])]
    figure = Figure(figsize=(ONE_COLUMN, 2.6), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(sets))
    if len(wide) <= NAMED:
        for number, name in enumerate(dict.fromkeys(table["architecture"])):
            _draw_named(axes, table[table["architecture"] == name], sets, places, number)
        names = [wording.shorten(name, 22) for name in wide.index]
        figure.legend(loc="outside lower center", ncols=columns_that_fit(names, ONE_COLUMN))
    else:
        axes.plot(places, wide.to_numpy().T, color=GREY, linewidth=0.4, alpha=0.5)
        axes.plot(places, wide.mean(), color=ORANGE, marker="o", markersize=4)
        handles = [axes.lines[-1], axes.lines[0]]
        figure.legend(handles, ["mean", "architectures"], loc="outside lower center", ncols=2)
    labels = [
        f"{wording.shorten(name, 16)}\n"
        + ("" if name == f"{classes} classes" else f"{classes} classes\n")
        + f"{images} images"
        for name, classes, images in zip(
            sets["label_set"], sets["classes"], sets["images"], strict=True
        )
    ]
    axes.set_xticks(places, labels, fontsize=6)
    axes.set_xlim(-0.4, len(sets) - 0.6)
    axes.set_xlabel("label set")
    axes.set_ylabel("top-1 accuracy (%)")
    bars = ", bars: Clopper-Pearson" if len(wide) <= NAMED else ""
    axes.set_title(f"n = {len(wide)}{bars}")
    return figure


def _draw_named(
    axes: Axes, rows: pd.DataFrame, sets: pd.DataFrame, places: np.ndarray, number: int
) -> None:
    rows = rows.set_index("label_set").reindex(sets["label_set"])
    colour, marker = SERIES[number]
    label = wording.shorten(rows["architecture"].iloc[0], 22)
    axes.plot(
        places, rows["accuracy"], color=colour, marker=marker, markersize=4, lw=0.8, label=label
    )
    axes.vlines(places, rows["low"], rows["high"], color=colour, linewidth=0.8)


def _counts(averaged: int, architectures: int) -> str:
    return f"{averaged} of {architectures}" if averaged < architectures else f"all {architectures}"


def _legend(figure: Figure, table: pd.DataFrame) -> None:
    others = bool((~table["baseline"] & (table["note"] == "")).any())
    looks = {"baseline architecture": (BLUE, "o")} | ({"other": (ORANGE, "^")} if others else {})
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=4)
        for colour, marker in looks.values()
    ]
    handles += [
        Line2D([], [], color=BLACK, linewidth=1),
        Line2D([], [], color=GREY, linestyle=":", linewidth=0.8),
    ]
    names = [*looks, "trend of the baseline", "equal"]
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), columnspacing=1)
