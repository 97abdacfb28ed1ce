"""Errors on one dataset against errors on another (paper 1, Figures 3 to 6)."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from anynet_study.apr import correlations
from anynet_study.plots import wording
from anynet_study.plots.frames import Estimate, pair_estimates, scatter_data
from anynet_study.plots.points import MANY_POINTS, draw_points, legend_of_marks, note_beyond
from anynet_study.plots.scale import upper_limit
from anynet_study.plots.style import panels, styled


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
    `apr.correlations`; computed here, without weights, where absent). The `count` best and worst on
    y are marked, a quarter of the population at most; errors far above all others are at the
    panel's edge. `metrics` maps datasets to "top1" or "top5".
    """
    table = correlations(errors) if table is None else table
    data = scatter_data(errors, pairs, count)
    estimates = pair_estimates(table)
    figure, grid = panels(len(pairs), columns, height=2.05)
    for axes, (x, y) in zip(grid, pairs, strict=True):
        points = data[(data["x"] == x) & (data["y"] == y)]
        points = points.rename(columns={"x_error": "right", "y_error": "up"})
        limits = {"right": upper_limit(errors[x]), "up": upper_limit(errors[y])}
        draw_points(axes, points, **limits, many=len(data) > MANY_POINTS)
        note_beyond(axes, points, **limits)
        axes.set_title(wording.correlation(*estimates.get((x, y), Estimate())))
        axes.set_xlabel(wording.error_label(x, (metrics or {}).get(x, "")))
        axes.set_ylabel(wording.error_label(y, (metrics or {}).get(y, "")))
    legend_of_marks(figure, data["mark"], len(pairs))
    return figure
