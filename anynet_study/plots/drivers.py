"""Cumulative depth and width against the error (paper 1, Figure 7)."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from anynet_study.apr import drivers
from anynet_study.plots import wording
from anynet_study.plots.frames import driver_data
from anynet_study.plots.points import MANY_POINTS, draw_points, legend_of_marks, room_for_points
from anynet_study.plots.style import panels, styled

UNITS = {"cumulative depth": "blocks", "cumulative width": "channels"}


@styled
def driver_grid(
    errors: pd.DataFrame,
    population: pd.DataFrame,
    parameter: str,
    table: pd.DataFrame | None = None,
    metrics: Mapping[str, str] | None = None,
    count: int = 10,
    columns: int = 3,
) -> Figure:
    """Plot `parameter` ("cumulative depth" or "cumulative width") against the error, per dataset.

    `population` has the columns of `Population.to_pandas()`. Titles show Spearman's rho from
    `table` (a result of `apr.drivers`; computed here where absent).
    """
    table = drivers(errors, population) if table is None else table
    data = driver_data(errors, population, parameter, count)
    figure, grid = panels(len(errors.columns), columns, height=1.95, sharey=True)
    many = len(data) > MANY_POINTS
    for number, (axes, dataset) in enumerate(zip(grid, errors.columns, strict=True)):
        points = data[data["dataset"] == dataset]
        draw_points(axes, points["error"], points["value"], points["mark"], many=many)
        axes.set_title(wording.correlation(*_find(table, dataset, parameter)))
        axes.set_xlabel(wording.error_label(dataset, (metrics or {}).get(dataset, "")))
        if number % min(columns, len(grid)) == 0:
            axes.set_ylabel(f"{parameter} ({UNITS[parameter]})")
    room_for_points(grid)
    legend_of_marks(figure, data["mark"], len(grid), of="panel's dataset")
    return figure


def _find(table: pd.DataFrame, dataset: str, parameter: str) -> tuple[float, float, float, int]:
    rows = table[(table["dataset"] == dataset) & (table["parameter"] == parameter)]
    if rows.empty:
        return np.nan, np.nan, np.nan, 0
    row = rows.iloc[0]
    return float(row["estimate"]), float(row["low"]), float(row["high"]), int(row["n"])
