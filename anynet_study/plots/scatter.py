"""Errors on one dataset against errors on another (paper 1, Figures 3 to 6 and A8)."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure

from anynet_study.apr import correlations
from anynet_study.plots import wording
from anynet_study.plots.frames import scatter_data
from anynet_study.plots.points import MANY_POINTS, draw_points, legend_of_marks, room_for_points
from anynet_study.plots.style import (
    DIVERGING,
    POPULATION,
    SMALLEST_TEXT,
    TWO_COLUMNS,
    panels,
    styled,
)

CROWDED = 8
"""A scatter matrix of more datasets than this has small cells: shorter text, names across."""


@styled
def scatter_grid(
    errors: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
    table: pd.DataFrame | None = None,
    metrics: Mapping[str, str] | None = None,
    count: int = 10,
    columns: int = 3,
) -> Figure:
    """Plot the errors of all architectures on y against those on x, for each pair (x, y).

    The title of each panel has Spearman's rho with its interval and n, from `table` (a result of
    `apr.correlations`; computed here where absent). The `count` best and worst on y are marked, a
    quarter of the population at most. `metrics` maps datasets to "top1" or "top5".
    """
    table = correlations(errors) if table is None else table
    data = scatter_data(errors, pairs, count)
    figure, grid = panels(len(pairs), columns, height=2.05)
    for axes, (x, y) in zip(grid, pairs, strict=True):
        points = data[(data["x"] == x) & (data["y"] == y)]
        many = len(data) > MANY_POINTS
        draw_points(axes, points["x_error"], points["y_error"], points["mark"], many=many)
        axes.set_title(wording.correlation(*find_pair(table, x, y)))
        axes.set_xlabel(wording.error_label(x, (metrics or {}).get(x, "")))
        axes.set_ylabel(wording.error_label(y, (metrics or {}).get(y, "")))
    room_for_points(grid)
    legend_of_marks(figure, data["mark"], len(pairs))
    return figure


def find_pair(table: pd.DataFrame, x: str, y: str) -> tuple[float, float, float, int]:
    """Look up estimate, low, high and n of an unordered pair of datasets."""
    rows = table[
        ((table["source"] == x) & (table["target"] == y))
        | ((table["source"] == y) & (table["target"] == x))
    ]
    if rows.empty:
        return np.nan, np.nan, np.nan, 0
    row = rows.iloc[0]
    return float(row["estimate"]), float(row["low"]), float(row["high"]), int(row["n"])


@styled
def scatter_matrix(
    errors: pd.DataFrame, table: pd.DataFrame | None = None, count: int = 10
) -> Figure:
    """Plot every pair of datasets (paper 1, Figure A8).

    Below the diagonal the errors (percent; the best and worst `count` on the row's dataset marked),
    on it their histograms, above it Spearman's rho with its interval from `table` (a result of
    `apr.correlations`; computed here where absent).
    """
    table = correlations(errors) if table is None else table
    names = list(errors.columns)
    size = len(names)
    pairs = [(x, y) for i, y in enumerate(names) for x in names[:i]]
    data = scatter_data(errors, pairs, count)
    groups = dict(iter(data.groupby(["x", "y"], sort=False)))
    figure, grid = _square_grid(size)
    shrink = min(1.0, 5.5 / size)
    for i, y in enumerate(names):
        for j, x in enumerate(names):
            axes = grid[i][j]
            if j > i:
                _draw_correlation(axes, find_pair(table, x, y), size)
            elif i == j:
                _draw_histogram(axes, errors[x])
            elif (x, y) in groups:
                points = groups[x, y]
                many = len(data) > MANY_POINTS
                draw_points(
                    axes, points["x_error"], points["y_error"], points["mark"], shrink, many
                )
            _label_edges(axes, i, j, names)
    legend_of_marks(figure, data["mark"], len(pairs), of="row's dataset")
    return figure


def _square_grid(size: int) -> tuple[Figure, list[list[Axes]]]:
    """Make `size` x `size` touching panels; placed by hand, as solving so many is slow."""
    width = TWO_COLUMNS if size > 3 else TWO_COLUMNS * (size + 0.6) / 4.6
    figure = Figure(figsize=(width, width))
    left, bottom = (1.15, 1.35) if size > CROWDED else (0.62, 0.78)
    grid = figure.subplots(
        size,
        size,
        squeeze=False,
        gridspec_kw={
            "left": left / width,
            "right": 1 - 0.06 / width,
            "bottom": bottom / width,
            "top": 1 - 0.06 / width,
            "wspace": 0.08,
            "hspace": 0.08,
        },
    )
    return figure, [list(row) for row in grid]


def _draw_correlation(axes: Axes, pair: tuple[float, float, float, int], size: int) -> None:
    estimate, low, high, n = pair
    colours: Colormap = matplotlib.colormaps[DIVERGING]
    shade = Normalize(-1, 1)(estimate) if np.isfinite(estimate) else 0.5
    axes.set_facecolor((*colours(float(shade))[:3], 0.55))
    cell = 72 * TWO_COLUMNS * 0.9 / max(size, 4)
    large = float(np.clip(cell / 4.2, 6.5, 11))
    small = float(np.clip(cell / 6.5, SMALLEST_TEXT, 7.5))
    place: dict[str, Any] = {"ha": "center", "va": "center", "transform": axes.transAxes}
    axes.text(0.5, 0.64, wording.number(estimate), fontsize=large, **place)
    write = wording.number if size <= CROWDED else wording.compact
    between = f"{write(low)}, {write(high)}" if np.isfinite(estimate) else ""
    axes.text(0.5, 0.3, f"[{between}]" if size <= CROWDED else between, fontsize=small, **place)
    if size <= CROWDED:
        axes.text(0.5, 0.12, f"n = {n}", fontsize=small, **place)


def _draw_histogram(axes: Axes, errors: pd.Series) -> None:
    known = errors.dropna()
    if len(known):
        bins = int(np.clip(np.sqrt(len(known)) * 1.5, 5, 20))
        seaborn.histplot(x=known.to_numpy(), ax=axes, bins=bins, color=POPULATION, linewidth=0)
    axes.set(xlabel="", ylabel="")
    axes.set_yticks([])


def _label_edges(axes: Axes, row: int, column: int, names: list[str]) -> None:
    """Write names and ticks on the outer edges only; across the ticks where there are many."""
    size = len(names)
    crowded = size > CROWDED
    axes.margins(0.08)
    axes.tick_params(labelsize=SMALLEST_TEXT if crowded else 6.5, length=1.5, pad=1)
    axes.locator_params(axis="both" if row != column else "x", nbins=3 if crowded else 4)
    if column > row:
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
    axes.tick_params(labelbottom=row == size - 1, labelleft=column == 0 and row > 0)
    limit = 19 if crowded else int(100 / size)
    if row == size - 1:
        axes.set_xlabel(wording.shorten(names[column], limit))
    if column == 0:
        axes.set_ylabel(wording.shorten(names[row], limit))
    if crowded:
        axes.tick_params(axis="x", labelrotation=90)
        axes.xaxis.label.set(rotation=90, va="top", fontsize=6)
        axes.yaxis.label.set(rotation=0, ha="right", va="center", fontsize=6)
        axes.xaxis.set_label_coords(0.5, -0.62)
        axes.yaxis.set_label_coords(-0.62, 0.5)
