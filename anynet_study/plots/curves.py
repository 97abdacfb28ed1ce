"""Test error epoch by epoch (paper 1, Figure A2)."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anynet_study.plots import wording
from anynet_study.plots.frames import curve_data
from anynet_study.plots.style import BLUE, GREY, ORANGE, panels, styled

LINES = 30
"""At most this many single runs are drawn, evenly spread over the final errors."""


@styled
def curve_grid(
    curves: pd.DataFrame, metrics: Mapping[str, str] | None = None, columns: int = 3
) -> Figure:
    """Plot the test error after every epoch: median, 10% to 90% band, and single runs.

    `curves` has columns dataset, architecture, epoch (from 1) and error (percent), one row a run
    and epoch (a run an architecture and dataset).
    """
    names = list(dict.fromkeys(curves["dataset"]))
    summary = curve_data(curves)
    figure, grid = panels(len(names), columns, height=1.85)
    for axes, dataset in zip(grid, names, strict=True):
        _draw_runs(axes, curves[curves["dataset"] == dataset])
        rows = summary[summary["dataset"] == dataset]
        axes.fill_between(
            rows["epoch"], rows["low"], rows["high"], color=BLUE, alpha=0.25, linewidth=0
        )
        axes.plot(rows["epoch"], rows["median"], color=ORANGE, linewidth=1.4)
        runs = int(rows["n"].max()) if len(rows) else 0
        axes.set_title(f"{wording.shorten(dataset, 24)}, n = {runs}")
        axes.set_xlabel("epoch")
        metric = wording.metric_name((metrics or {}).get(dataset, ""))
        axes.set_ylabel(f"{metric}test error (%)")
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=2))
        axes.margins(x=0.02)
    _legend(figure, grid)
    return figure


def _draw_runs(axes: Axes, curves: pd.DataFrame) -> None:
    """Draw single runs as thin lines, from the best to the worst final error in even steps."""
    runs = curves.pivot_table(index="architecture", columns="epoch", values="error", sort=False)
    runs = runs.sort_values(runs.columns[-1], kind="stable") if len(runs.columns) else runs
    picked = np.unique(np.linspace(0, max(len(runs) - 1, 0), LINES).round().astype(int))
    epochs = runs.columns.to_numpy(dtype=float)
    lines = [np.column_stack([epochs, runs.iloc[i].to_numpy()]) for i in picked if len(runs)]
    axes.add_collection(LineCollection(lines, colors=GREY, linewidths=0.4, alpha=0.6))
    axes.autoscale_view()


def _legend(figure: Figure, grid: list[Axes]) -> None:
    axes = grid[0]
    handles = [axes.lines[-1], axes.collections[-1], axes.collections[0]]
    figure.legend(
        handles,
        ["median", "10% to 90% of the architectures", "single runs"],
        loc="outside lower center",
        ncols=3,
    )
