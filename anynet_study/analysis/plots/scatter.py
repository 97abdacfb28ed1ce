"""Errors on one dataset against errors on another: chosen pairs, and all pairs in one square."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.patches import Rectangle
from matplotlib.transforms import Bbox

from anynet_study.analysis.apr import correlations
from anynet_study.analysis.plots import style, wording
from anynet_study.analysis.plots.estimates import Estimate, pair_estimates, upper_limit
from anynet_study.analysis.plots.points import (
    MANY_POINTS,
    draw_points,
    legend_of_marks,
    note_beyond,
    scatter_data,
)

ROOMY, BRACKETS, FULL_MARKERS = 22, 36, 85
"""Points; cells of this width have room for ticks, for intervals, and for markers of full size."""
NARROW = 5
"""Inches."""
CROWDED, CUT = 8, 16
"""A matrix over two columns of more datasets has small cells, and names across, cut to so many."""
TICKS, LETTER = 0.24, 0.052
"""Inches that the ticks of such a matrix take, and a letter of the names beyond them."""


@style.styled
def scatter_grid(
    errors: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
    table: pd.DataFrame | None = None,
    metrics: Mapping[str, str] | None = None,
    count: int = 10,
    columns: int = 3,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Plot the errors of all architectures on y against those on x, for each pair (x, y).

    The title of each panel has the correlation with its interval and n, from `table` (a result of
    `apr.correlations`; computed here, without weights, where absent). The `count` best and worst on
    y are marked, a quarter of the population at most; errors far above all others are at the
    panel's edge. `metrics` maps datasets to "top1" or "top5".
    """
    table = correlations(errors) if table is None else table
    data = scatter_data(errors, pairs, count)
    estimates = pair_estimates(table)
    drawn = style.panels(len(pairs), 2.05, axes, columns)
    for panel, (x, y) in zip(drawn.axes, pairs, strict=True):
        points = data[(data["x"] == x) & (data["y"] == y)]
        limits = upper_limit(errors[x]), upper_limit(errors[y])
        draw_points(panel, points, "x_error", "y_error", limits, many=len(data) > MANY_POINTS)
        note_beyond(panel, points, "x_error", "y_error", limits)
        found = estimates.get((x, y), Estimate())
        panel.set_title(wording.correlation(*found, wording.letter(table)))
        panel.set_xlabel(wording.error_label(x, (metrics or {}).get(x, "")))
        panel.set_ylabel(wording.error_label(y, (metrics or {}).get(y, "")))
    legend_of_marks(drawn, data["mark"], len(pairs))
    return drawn.figure


@style.styled
def scatter_matrix(
    errors: pd.DataFrame,
    table: pd.DataFrame | None = None,
    count: int = 10,
    figure: Figure | None = None,
) -> Figure:
    """Plot every pair of datasets (paper 1, Figure A8), in an empty `figure` where one is given.

    Below the diagonal the errors (percent; the best and worst `count` on the row's dataset marked),
    on it their histograms, above it the correlations with their intervals from `table` (a result of
    `apr.correlations`; computed here, without weights, where absent).
    """
    table = correlations(errors) if table is None else table
    names = list(errors.columns)
    size = len(names)
    pairs = [(x, y) for i, y in enumerate(names) for x in names[:i]]
    data = scatter_data(errors, pairs, count)
    groups = dict(iter(data.groupby(["x", "y"], sort=False)))
    estimates = pair_estimates(table)
    limits = {name: upper_limit(errors[name]) for name in names}
    figure, cells = _square_grid(names, figure)
    drawn_cells: dict[tuple[int, int], Axes] = {}
    shrink = min(1.0, _points(figure, size) / FULL_MARKERS)
    look: dict[str, Any] = {"shrink": shrink, "many": len(data) > MANY_POINTS}
    for i, y in enumerate(names):
        for j, x in enumerate(names):
            if j > i:
                estimate = estimates.get((x, y), Estimate())
                _draw_correlation(figure, cells[i, j].get_position(figure), estimate, size)
                continue
            axes = drawn_cells[i, j] = figure.add_subplot(cells[i, j])
            if i == j:
                _draw_histogram(axes, errors[x].clip(upper=limits[x]))
            elif (x, y) in groups:
                draw_points(
                    axes, groups[x, y], "x_error", "y_error", (limits[x], limits[y]), **look
                )
            _label_edges(axes, i, j, names)
    _share_ranges(drawn_cells)
    drawn = style.Panels(figure, figure.axes, own=True)
    legend_of_marks(drawn, data["mark"], len(pairs), of="row's dataset")
    interval = f" [{wording.level(table)} interval]" if _points(figure, size) > BRACKETS else ""
    said = f"above: {wording.coefficient(table)}{interval}; below: errors (%)"
    for legend in figure.legends:
        legend.set_title(said)
        legend.get_title().set_fontsize(7)
    return figure


def _share_ranges(cells: dict[tuple[int, int], Axes]) -> None:
    """Give a dataset one range in all cells of its column, and one in those of its row.

    The ticks are on the outer edges, so that they have to hold for all of them. Histograms, on the
    diagonal, have counts on their vertical axes.
    """
    for place in {row for row, _ in cells}:
        column = [axes for (_, j), axes in cells.items() if j == place]
        row = [axes for (i, j), axes in cells.items() if i == place != j]
        for group, direction in ((column, "x"), (row, "y")):
            ends = [getattr(axes, f"get_{direction}lim")() for axes in group if axes.has_data()]
            if ends:
                limits = min(low for low, _ in ends), max(high for _, high in ends)
                for axes in group:
                    axes.set(**{f"{direction}lim": limits})


def _square_grid(names: list[str], figure: Figure | None) -> tuple[Figure, GridSpec]:
    """Make a row and a column of touching cells for each dataset; by hand, as solving is slow."""
    size = len(names)
    if figure is None:
        side = style.TWO_COLUMNS if size > 3 else style.TWO_COLUMNS * (size + 0.6) / 4.6
        side = style.own_width(side)
        figure = style.ShownFigure(figsize=(side, side))
    width, height = figure.get_size_inches()
    left, bottom = 0.62, 0.93
    if _crowded(size, width):
        longest = LETTER * max(len(wording.shorten(name, CUT)) for name in names)
        left, bottom = TICKS + longest + 0.1, TICKS + longest + 0.5
    bottom += 0.3 * (width < NARROW)  # the legend has a line more
    cells = figure.add_gridspec(
        size,
        size,
        left=left / width,
        right=1 - 0.06 / width,
        bottom=bottom / height,
        top=1 - 0.06 / height,
        wspace=0.08,
        hspace=0.08,
    )
    return figure, cells


def _draw_correlation(figure: Figure, cell: Bbox, pair: Estimate, size: int) -> None:
    """Fill a cell with the colour and the numbers of a correlation; no axes, which are slow."""
    estimate, low, high, n = pair
    shade = Normalize(-1, 1)(estimate) if np.isfinite(estimate) else 0.5
    colour = (*style.DIVERGING(float(shade))[:3], 0.55)
    figure.add_artist(Rectangle(cell.p0, cell.width, cell.height, color=colour, linewidth=0))
    points = _points(figure, size)
    large = float(np.clip(points / 4.2, 6.5 if points > BRACKETS else style.SMALLEST_TEXT, 11))
    room = 72 * figure.get_figwidth() * cell.width / 7
    small = float(np.clip(min(points / 6.5, room), style.SMALLEST_TEXT, 7.5))
    crowded = _crowded(size, figure.get_figwidth())
    write = wording.compact if crowded else wording.number
    between = f"[{write(low)}, {write(high)}]" if np.isfinite(estimate) else ""
    if points > BRACKETS:
        lines = [(0.64, wording.number(estimate), large), (0.3, between, small)]
    else:
        lines = [(0.5, wording.compact(estimate), large)]
    lines += [(0.12, f"n = {n}", small)] if not crowded else []
    for height, text, fontsize in lines:
        place = (cell.x0 + cell.width / 2, cell.y0 + height * cell.height)
        figure.text(*place, text, fontsize=fontsize, ha="center", va="center")


def _crowded(size: int, width: float) -> bool:
    """Tell whether cells of a matrix of this width (inches) are small; of four datasets never."""
    return size > CROWDED * max(width / style.TWO_COLUMNS, 0.5)


def _points(figure: Figure, size: int) -> float:
    """About the width of a cell of such a matrix."""
    return 72 * figure.get_figwidth() * 0.9 / max(size, 4)


def _draw_histogram(axes: Axes, errors: pd.Series) -> None:
    known = errors.dropna()
    if len(known):
        bins = int(np.clip(np.sqrt(len(known)) * 1.5, 5, 20))
        axes.hist(known, bins=bins, color=style.POPULATION, alpha=0.75)
    axes.set(xlabel="", ylabel="")
    axes.set_yticks([])


def _label_edges(axes: Axes, row: int, column: int, names: list[str]) -> None:
    """Write names and ticks on the outer edges only; across the ticks where there are many."""
    size = len(names)
    figure = axes.get_figure(root=True)
    assert figure is not None
    crowded = _crowded(size, figure.get_figwidth())
    axes.tick_params(labelsize=style.SMALLEST_TEXT if crowded else 6.5, length=1.5, pad=1)
    roomy = _points(figure, size) > ROOMY
    bins = (3 if crowded else 4) if roomy else 1
    axes.locator_params(axis="both" if row != column else "x", nbins=bins, min_n_ticks=min(2, bins))
    if not crowded:  # numbers at the ends would run into those of the next column
        fewer = 3 if figure.get_figwidth() < NARROW else 5
        axes.locator_params(axis="x", nbins=fewer, prune="both", min_n_ticks=1)
    axes.tick_params(labelbottom=row == size - 1, labelleft=column == 0 and row > 0)
    limit = CUT if crowded else int(100 / size)
    if row == size - 1:
        axes.set_xlabel(wording.shorten(names[column], limit))
    if column == 0:
        axes.set_ylabel(wording.shorten(names[row], limit))
    if crowded:
        axes.tick_params(axis="x", labelrotation=90)
        axes.xaxis.label.set(rotation=90, va="top", fontsize=6)
        axes.yaxis.label.set(rotation=0, ha="right", va="center", fontsize=6)
        place = axes.get_position()
        width, height = figure.get_size_inches()
        axes.xaxis.set_label_coords(0.5, -TICKS / (place.height * height))
        axes.yaxis.set_label_coords(-TICKS / (place.width * width), 0.5)
