"""What the best architectures of every dataset look like, stage by stage (paper 1, Figure A7)."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anynet_study.apr import configurations
from anynet_study.apr.population import stages_of
from anynet_study.plots import wording
from anynet_study.plots.style import BLUE, ORANGE, TWO_COLUMNS, styled

PARAMETERS = {
    "depth": "depth\n(blocks)",
    "width": "width\n(channels)",
    "bottleneck ratio": "bottleneck\nratio",
    "group width": "group width\n(channels)",
}
DATASETS_A_BAND = 8


@styled
def configuration_grid(errors: pd.DataFrame, population: pd.DataFrame, top: int = 15) -> Figure:
    """Plot the best architecture and the mean and standard deviation of the `top` best.

    A row a parameter, a column a dataset; beyond eight datasets the columns go on in a second band
    of rows. `population` has the columns of `Population.to_pandas()`. Where architectures differ in
    their number of stages, the mean of a stage is over those of the best that have it.
    """
    table = configurations(errors, population, top=top)
    stages = stages_of(population.columns)
    names = list(errors.columns)
    bands = -(-len(names) // DATASETS_A_BAND)
    columns = -(-len(names) // bands)
    figure = Figure(figsize=(TWO_COLUMNS, 0.3 + 3.7 * bands), layout="constrained")
    grid = figure.subplots(len(PARAMETERS) * bands, columns, squeeze=False, sharex=True)
    for number, dataset in enumerate(names):
        band, column = divmod(number, columns)
        for row, parameter in enumerate(PARAMETERS):
            axes = grid[band * len(PARAMETERS) + row, column]
            chosen = table[(table["dataset"] == dataset) & (table["parameter"] == parameter)]
            _draw(axes, chosen)
            _label(axes, parameter, table, column == 0, row == len(PARAMETERS) - 1)
            axes.set(xlim=(0.5, len(stages) + 0.5), xticks=stages)
            if row == 0:
                axes.set_title(wording.shorten(dataset, 110 // columns), fontsize=7)
    for surplus in range(len(names), bands * columns):
        for row in range(len(PARAMETERS)):
            grid[(bands - 1) * len(PARAMETERS) + row, surplus % columns].remove()
    _legend(figure, table, top)
    return figure


def _draw(axes: Axes, rows: pd.DataFrame) -> None:
    rows = rows.sort_values("stage")
    stages = rows["stage"].to_numpy()
    axes.errorbar(
        stages + 0.12,
        rows["mean"],
        yerr=rows["std"],
        color=ORANGE,
        marker="s",
        markersize=2.5,
        capsize=1.5,
        elinewidth=0.8,
    )
    axes.plot(stages - 0.12, rows["best"], color=BLUE, marker="o", markersize=2.8)


def _label(axes: Axes, parameter: str, table: pd.DataFrame, first: bool, last: bool) -> None:
    """Give all panels of a parameter one scale, so that datasets can be compared."""
    rows = table[table["parameter"] == parameter]
    values = [rows["best"], rows["mean"] + rows["std"].fillna(0)]
    highest = float(np.nanmax(np.concatenate([np.asarray(v, dtype=float) for v in values] + [[1]])))
    lowest = float(np.nanmin(np.append(rows["mean"] - rows["std"].fillna(0), 0)))
    space = 0.06 * (highest - lowest)
    axes.set_ylim(lowest - space, highest + space)
    axes.tick_params(labelleft=first, labelbottom=last)
    axes.grid(axis="y", color="0.9", linewidth=0.5)
    axes.set_axisbelow(True)
    if first:
        axes.set_ylabel(PARAMETERS[parameter])
    if last:
        axes.set_xlabel("stage")


def _legend(figure: Figure, table: pd.DataFrame, top: int) -> None:
    """Say how many architectures there were, where it was fewer than asked for."""
    count = int(table["n"].max()) if len(table) else 0
    averaged = f"mean ± standard deviation of the {min(top, count)} best"
    if (table.groupby("dataset")["n"].nunique() > 1).any():
        averaged += " (of those that have the stage)"
    handles: list[Any] = [figure.axes[0].lines[-1], figure.axes[0].containers[0]]
    figure.legend(handles, ["best architecture", averaged], loc="outside lower center", ncols=2)
