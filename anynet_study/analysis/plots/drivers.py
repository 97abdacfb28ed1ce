"""Draw what of an architecture drives its errors: depth and width, a forest's view, the best."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anynet_study.analysis.apr import configurations, drivers
from anynet_study.analysis.apr.population import PARAMETERS, stages_of
from anynet_study.analysis.plots import style, wording
from anynet_study.analysis.plots.estimates import Estimate, driver_estimates, upper_limit
from anynet_study.analysis.plots.points import (
    MANY_POINTS,
    draw_points,
    driver_data,
    legend_of_marks,
    note_beyond,
)

UNITS = {"cumulative depth": "blocks", "cumulative width": "channels"}
COLOURS = {"d": style.BLUE, "w": style.ORANGE, "b": style.GREEN, "g": style.PURPLE}
"""Colour of every kind of stage parameter: d, w, b and g."""
STAGE_LABELS = {
    "depth": "depth\n(blocks)",
    "width": "width\n(channels)",
    "bottleneck ratio": "bottleneck\nratio",
    "group width": "group width\n(channels)",
}
#: Most datasets beside each other, and the inches that each of them needs.
DATASETS_PER_BAND, NARROWEST = 8, 0.6


@style.styled
def driver_grid(
    errors: pd.DataFrame,
    population: pd.DataFrame,
    parameter: str,
    table: pd.DataFrame | None = None,
    metrics: Mapping[str, str] | None = None,
    count: int = 10,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Plot `parameter` ("cumulative depth" or "cumulative width") against the error, per dataset.

    `population` has the columns of `Population.to_pandas()`. Titles show the correlation from
    `table` (a result of `apr.drivers`; computed here, without weights, where absent).
    """
    table = drivers(errors, population) if table is None else table
    data = driver_data(errors, population, parameter, count)
    estimates = driver_estimates(table, parameter)
    drawn = style.panels(len(errors.columns), 1.95, axes, sharey=True)
    for panel, dataset in zip(drawn.axes, errors.columns, strict=True):
        points = data[data["dataset"] == dataset]
        limits = upper_limit(errors[dataset]), math.inf
        draw_points(panel, points, "error", "value", limits, many=len(data) > MANY_POINTS)
        note_beyond(panel, points, "error", "value", limits)
        found = estimates.get(dataset, Estimate())
        panel.set_title(wording.correlation(*found, wording.letter(table)))
        panel.set_xlabel(wording.error_label(dataset, (metrics or {}).get(dataset, "")))
    drawn.label_left(f"{parameter} ({UNITS[parameter]})")
    legend_of_marks(drawn, data["mark"], len(drawn.axes), of="panel's dataset")
    return drawn.figure


@style.styled
def importance_grid(table: pd.DataFrame, axes: Sequence[Axes] | None = None) -> Figure:
    """Plot the importance of parameters: one panel per dataset, parameters in the same order.

    `table` is a result of `apr.importance`. Titles state R squared on held-out architectures: where
    it is near 0 or below, bars say nothing.
    """
    datasets = list(dict.fromkeys(table["dataset"]))
    kinds = list(COLOURS)
    parameters = sorted(set(table["parameter"]), key=lambda p: (kinds.index(p[0]), int(p[1:])))
    height = max(0.5 + 0.11 * len(parameters), 2.2)
    # Names of parameters have room in rows a quarter of a page high.
    drawn = style.panels(len(datasets), height, axes, columns=4, least=style.PAGE / 4)
    highest = max(float(table["high"].fillna(0).max()), 0.05)
    # Estimates of what is nothing lie below 0; their whiskers are seen whole, but for wild ones.
    lowest = min(max(float(table["low"].fillna(0).min()), -highest), -0.1 * highest)
    limits = 1.03 * lowest, 1.03 * highest
    for panel, dataset in zip(drawn.axes, datasets, strict=True):
        rows = table[table["dataset"] == dataset].set_index("parameter").reindex(parameters)
        _draw_importance(panel, rows, limits)
        r2, n = rows["r2"].iloc[0], int(rows["n"].iloc[0])
        title = f"R² {wording.number(r2)}, n = {n}" if np.isfinite(r2) else f"too few, n = {n}"
        panel.set_title(f"{wording.shorten(dataset, 20)}\n{title}")
        labels = parameters if style.first_in_row(panel) else [""] * len(parameters)
        panel.set_yticks(range(len(parameters)), labels)
        panel.set_xlabel("fall of R²")
    shown = {name: kind for name, kind in PARAMETERS.items() if f"{kind}1" in parameters}
    handles = [drawn.first.patches[parameters.index(f"{kind}1")] for kind in shown.values()]
    drawn.legend(handles, list(shown), most=4)
    return drawn.figure


def _draw_importance(axes: Axes, rows: pd.DataFrame, limits: tuple[float, float]) -> None:
    colours = [COLOURS[str(parameter)[0]] for parameter in rows.index]
    places = np.arange(len(rows))
    axes.barh(places, rows["importance"].fillna(0), color=colours, height=0.72, linewidth=0)
    look: dict[str, Any] = {"marker": "none", "ecolor": "0.25", "elinewidth": 0.7, "capsize": 1.2}
    style.draw_intervals(axes, rows, "importance", places, **look)
    axes.axvline(0, color="0.4", linewidth=0.6)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(*limits)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4)


@style.styled
def configuration_grid(
    errors: pd.DataFrame, population: pd.DataFrame, top: int = 15, figure: Figure | None = None
) -> Figure:
    """Plot the best architecture and the mean and standard deviation of the `top` best (Figure A7).

    One row per parameter, one column per dataset; beyond eight datasets, or as many as the width
    has room for, the columns go on in a further band of rows. `population` has the columns of
    `Population.to_pandas()`. Where architectures differ in their number of stages, the mean of a
    stage is over those of the best that have it. An empty `figure` is drawn in where one is given.
    """
    table = configurations(errors, population, top=top)
    stages = stages_of(population.columns)
    names = list(errors.columns)
    width = style.own_width(style.TWO_COLUMNS)
    fitting = int((width - style.BESIDE) / NARROWEST)
    bands = -(-len(names) // min(DATASETS_PER_BAND, max(1, fitting)))
    columns, own = -(-len(names) // bands), figure is None
    if figure is None:
        height = min(3.7, max(2.6, (style.PAGE - 0.3) / bands))
        figure = style.ShownFigure(
            figsize=(style.TWO_COLUMNS, 0.3 + height * bands), layout="constrained"
        )
    grid = figure.subplots(len(STAGE_LABELS) * bands, columns, squeeze=False, sharex=True)
    for number in range(bands * columns):
        band, column = divmod(number, columns)
        for row, parameter in enumerate(STAGE_LABELS):
            axes = grid[band * len(STAGE_LABELS) + row, column]
            if number >= len(names):
                axes.remove()
                continue
            cells = table[(table["dataset"] == names[number]) & (table["parameter"] == parameter)]
            _draw_stages(axes, cells)
            _scale_stages(axes, parameter, table, column == 0, row == len(STAGE_LABELS) - 1)
            axes.set(xlim=(0.5, len(stages) + 0.5), xticks=stages)
            if column == 0:
                size = style.FONT_SIZE if bands == 1 else 6
                axes.set_ylabel(STAGE_LABELS[parameter], fontsize=size)
            if row == 0:
                axes.set_title(
                    wording.shorten(names[number], int(16 * width) // columns), fontsize=7
                )
    _explain_stages(style.Panels(figure, figure.axes, own), table, top)
    return figure


def _draw_stages(axes: Axes, rows: pd.DataFrame) -> None:
    rows = rows.sort_values("stage")
    stages = rows["stage"].to_numpy()
    look: dict[str, Any] = {"color": style.ORANGE, "marker": "s", "markersize": 2.5, "capsize": 1.5}
    axes.errorbar(stages + 0.12, rows["mean"], yerr=rows["std"], elinewidth=0.8, **look)
    axes.plot(stages - 0.12, rows["best"], color=style.BLUE, marker="o", markersize=2.8)


def _scale_stages(axes: Axes, parameter: str, table: pd.DataFrame, first: bool, last: bool) -> None:
    """Give all panels of a parameter one scale, so that datasets can be compared."""
    rows = table[table["parameter"] == parameter]
    spread = rows["std"].fillna(0)
    values = pd.concat([rows["best"], rows["mean"] + spread]).astype(float)
    highest = float(np.nanmax(np.append(values, 1)))
    lowest = float(np.nanmin(np.append(rows["mean"] - spread, 0)))
    space = 0.06 * (highest - lowest)
    axes.set_ylim(lowest - space, highest + space)
    axes.tick_params(labelleft=first, labelbottom=last)
    axes.grid(axis="y", color="0.9", linewidth=0.5)
    axes.set_axisbelow(True)
    if last:
        axes.set_xlabel("stage")


def _explain_stages(drawn: style.Panels, table: pd.DataFrame, top: int) -> None:
    """Say how many architectures there were, where it was fewer than asked for."""
    count = int(table["n"].max()) if len(table) else 0
    best = "best alone" if min(top, count) == 1 else f"{min(top, count)} best"
    averaged = f"mean ± standard deviation of the {best}"
    if (table.groupby("dataset")["n"].nunique() > 1).any():
        averaged += " (of those that have the stage)"
    handles: list[Any] = [drawn.first.lines[-1], drawn.first.containers[0]]
    drawn.legend(handles, ["best architecture", averaged], most=2)
