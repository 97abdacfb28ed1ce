"""The matrix of rank correlations between datasets, as colours and numbers."""

from typing import Any

import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anynet_study.plots import wording
from anynet_study.plots.frames import Estimate, pair_estimates
from anynet_study.plots.style import DIVERGING, ONE_COLUMN, SMALLEST_TEXT, TWO_COLUMNS, styled

LIGHT_TEXT_ABOVE = 0.65
"""Correlations beyond this are on a dark cell."""
UNKNOWN = "0.93"
"""Colour of the diagonal, and of correlations that are undefined."""
WITH_INTERVALS = 9
"""Up to this many datasets the cells have room for intervals."""


@styled
def correlation_heatmap(table: pd.DataFrame) -> Figure:
    """Show the correlations of `apr.correlations` as a matrix, in the table's order of datasets.

    Up to nine datasets each cell has its interval too.
    """
    names = list(dict.fromkeys([*table["source"], *table["target"]]))
    values = pd.DataFrame(np.nan, index=names, columns=names)
    estimates = pair_estimates(table)
    for (x, y), found in estimates.items():
        values.loc[x, y] = found.estimate
    width = ONE_COLUMN if len(names) <= 4 else TWO_COLUMNS * 0.75
    width = TWO_COLUMNS if len(names) > 6 else width
    figure = Figure(figsize=(width, width * 0.86), layout="constrained")
    axes = figure.subplots()
    seaborn.heatmap(
        values,
        ax=axes,
        vmin=-1,
        vmax=1,
        cmap=DIVERGING,
        square=True,
        linewidths=0.5,
        cbar_kws={"label": "Spearman's ρ", "shrink": 0.8},
        xticklabels=[wording.shorten(name, 20) for name in names],
        yticklabels=[wording.shorten(name, 20) for name in names],
    )
    axes.set_facecolor(UNKNOWN)
    axes.tick_params(length=0)
    axes.tick_params(axis="x", labelrotation=90 if len(names) > 4 else 45)
    axes.tick_params(axis="y", labelrotation=0)
    _write_cells(axes, estimates, names, 72 * width * 0.66 / len(names))
    return figure


def _write_cells(
    axes: Axes, estimates: dict[tuple[str, str], Estimate], names: list[str], cell: float
) -> None:
    """Write the numbers by hand: seaborn's annotations hold one size of text only."""
    with_intervals = len(names) <= WITH_INTERVALS
    large = float(np.clip(cell / 3.6, SMALLEST_TEXT + 1, 10))
    small = float(np.clip(cell / 6.2, SMALLEST_TEXT, 7))
    for i, y in enumerate(names):
        for j, x in enumerate(names):
            if i == j:
                continue
            estimate, low, high, _ = estimates.get((x, y), Estimate())
            ink = "white" if abs(estimate) > LIGHT_TEXT_ABOVE else "black"
            look: dict[str, Any] = {"ha": "center", "va": "center", "color": ink}
            below = with_intervals and np.isfinite(estimate)
            height = i + (0.38 if below else 0.5)
            axes.text(j + 0.5, height, wording.number(estimate), fontsize=large, **look)
            if below:
                between = f"[{wording.compact(low)}, {wording.compact(high)}]"
                axes.text(j + 0.5, i + 0.72, between, fontsize=small, **look)
