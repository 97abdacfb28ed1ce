"""Estimates with intervals as dots on rows: gaps between test sets, and what predicts a target."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anynet_study.plots import wording
from anynet_study.plots.style import GREY, ONE_COLUMN, PAGE, SERIES, styled

#: Most architectures on one page.
ROWS = 50


@styled
def gap_chart(table: pd.DataFrame, original: str = "original", new: str = "new") -> Figure:
    """Plot every architecture's drop in accuracy from the original to the new test set.

    `table` is a result of `apr.gaps` (paper 2, Table 1), best on the original first; beyond 50
    architectures the best 50. Names are followed by the ranks on the two test sets.
    """
    rows = table.head(ROWS)
    ranks = zip(rows["architecture"], rows["original_rank"], rows["new_rank"], strict=True)
    names = [f"{wording.shorten(name, 26)} ({a} → {b})" for name, a, b in ranks]
    figure, axes = _rows(names, 0.14)
    _draw(axes, rows, {"gap": ""}, np.arange(len(rows)))
    shown = f"best {len(rows)} of {len(table)}" if len(rows) < len(table) else f"n = {len(rows)}"
    axes.set_title(f"{shown}, rank on {wording.shorten(original, 18)} → {wording.shorten(new, 18)}")
    axes.set_xlabel(f"accuracy on {wording.shorten(original, 18)} − on the new (points)")
    return figure


@styled
def other_targets_chart(table: pd.DataFrame, source: str = "the source") -> Figure:
    """Plot each target's correlation with the source and with the other targets' average.

    `table` is a result of `apr.other_targets` (paper 3, Appendix N.2), `source` that dataset's
    name. Targets without an estimate keep their row, with the table's note.
    """
    names = [
        f"{wording.shorten(row.target, 24)}\n{row.note or f'n = {row.n}'}"
        for row in table.itertuples()
    ]
    figure, axes = _rows(names, 0.34)
    series = {"rho_source": wording.shorten(source, 24), "rho_average": "average of the others"}
    _draw(axes, table, series, np.arange(len(table)))
    axes.set_xlabel("Spearman's ρ of the scores with those on the target")
    axes.axvline(0, color="0.4", linewidth=0.6)
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _rows(names: list[str], height: float) -> tuple[Figure, Axes]:
    size = (ONE_COLUMN * 1.2, min(PAGE, 1.1 + height * len(names)))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.set_yticks(range(len(names)), names, fontsize=6)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="x", color="0.9", linewidth=0.5)
    axes.set_axisbelow(True)
    return figure, axes


def _draw(axes: Axes, table: pd.DataFrame, series: Mapping[str, str], places: np.ndarray) -> None:
    """Draw a dot a row and series, with its interval where the table has one."""
    for number, (name, label) in enumerate(series.items()):
        colour, marker = SERIES[number]
        heights = places + 0.24 * (number - (len(series) - 1) / 2)
        values = table[name] if name in table else pd.Series(np.nan, index=table.index)
        axes.plot(values, heights, marker, color=colour, markersize=3.5, label=label)
        if f"{name}_low" in table:
            ends = table[f"{name}_low"], table[f"{name}_high"]
            axes.hlines(heights, *ends, color=colour, linewidth=0.9)
    axes.spines["left"].set_color(GREY)
