"""Cumulative depth and width against the error (paper 1, Figure 7)."""

import math
from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from anynet_study.apr import drivers
from anynet_study.plots import wording
from anynet_study.plots.frames import Estimate, driver_data, driver_estimates
from anynet_study.plots.points import MANY_POINTS, draw_points, legend_of_marks, note_beyond
from anynet_study.plots.scale import upper_limit
from anynet_study.plots.style import first_in_row, panels, styled

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
    `table` (a result of `apr.drivers`; computed here, without weights, where absent).
    """
    table = drivers(errors, population) if table is None else table
    data = driver_data(errors, population, parameter, count)
    estimates = driver_estimates(table, parameter)
    figure, grid = panels(len(errors.columns), columns, height=1.95, sharey=True)
    many = len(data) > MANY_POINTS
    for axes, dataset in zip(grid, errors.columns, strict=True):
        points = data[data["dataset"] == dataset].rename(columns={"error": "right", "value": "up"})
        limit = upper_limit(errors[dataset])
        draw_points(axes, points, right=limit, many=many)
        note_beyond(axes, points, right=limit, up=math.inf)
        axes.set_title(wording.correlation(*estimates.get(dataset, Estimate())))
        axes.set_xlabel(wording.error_label(dataset, (metrics or {}).get(dataset, "")))
        if first_in_row(axes):
            axes.set_ylabel(f"{parameter} ({UNITS[parameter]})")
    legend_of_marks(figure, data["mark"], len(grid), of="panel's dataset")
    return figure
