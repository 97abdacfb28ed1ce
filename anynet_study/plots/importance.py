"""How much a forest that predicts the errors needs each stage parameter."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anynet_study.apr.population import PARAMETERS
from anynet_study.plots import wording
from anynet_study.plots.style import BLUE, GREEN, ORANGE, PURPLE, first_in_row, panels, styled

COLOURS = dict(zip(PARAMETERS.values(), (BLUE, ORANGE, GREEN, PURPLE), strict=True))


@styled
def importance_grid(table: pd.DataFrame, columns: int = 4) -> Figure:
    """Plot a result of `apr.importance`: a panel a dataset, the parameters in the same order.

    Titles state R squared on held-out architectures: where it is near 0 or below, bars say nothing.
    """
    datasets = list(dict.fromkeys(table["dataset"]))
    parameters = sorted(set(table["parameter"]), key=_order)
    rows = -(-len(datasets) // columns)
    figure, grid = panels(len(datasets), columns, height=0.5 + 0.11 * len(parameters))
    width, height = figure.get_size_inches()
    figure.set_size_inches(width if rows > 1 or len(datasets) > 1 else 3.5, max(height, 2.2))
    limit = max(float(table["high"].fillna(0).max()), 0.05)
    for axes, dataset in zip(grid, datasets, strict=True):
        own = table[table["dataset"] == dataset].set_index("parameter").reindex(parameters)
        _draw(axes, own, limit)
        r2, n = own["r2"].iloc[0], int(own["n"].iloc[0])
        title = f"R² {wording.number(r2)}, n = {n}" if np.isfinite(r2) else f"too few, n = {n}"
        axes.set_title(f"{wording.shorten(dataset, 20)}\n{title}")
        axes.set_yticks(
            range(len(parameters)), parameters if first_in_row(axes) else [""] * len(parameters)
        )
        axes.set_xlabel("fall of R²")
    handles = [grid[0].patches[parameters.index(f"{prefix}1")] for prefix in COLOURS]
    figure.legend(handles, list(PARAMETERS), loc="outside lower center", ncols=len(COLOURS))
    return figure


def _order(parameter: str) -> tuple[int, int]:
    return list(COLOURS).index(parameter[0]), int(parameter[1:])


def _draw(axes: Axes, rows: pd.DataFrame, limit: float) -> None:
    colours = [COLOURS[str(parameter)[0]] for parameter in rows.index]
    places = np.arange(len(rows))
    axes.barh(places, rows["importance"].fillna(0), color=colours, height=0.72, linewidth=0)
    ends = np.abs(rows[["low", "high"]].sub(rows["importance"], axis=0).to_numpy().T)
    look: dict[str, Any] = {"fmt": "none", "ecolor": "0.25", "elinewidth": 0.7, "capsize": 1.2}
    axes.errorbar(rows["importance"], places, xerr=ends, **look)
    axes.axvline(0, color="0.4", linewidth=0.6)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(-0.1 * limit, 1.03 * limit)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4)
