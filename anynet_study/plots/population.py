"""What was sampled: the distributions of a population's complexity and shape."""

import numpy as np
import pandas as pd
import seaborn
from matplotlib.figure import Figure

from anynet_study.apr import cumulative
from anynet_study.apr.population import stages_of
from anynet_study.plots.style import POPULATION, first_in_row, panels, styled

#: Counts by their column.
COSTS = {
    "flops": "FLOPs (million multiply-adds)",
    "parameters": "parameters (million)",
    "activations": "activations (million)",
}


@styled
def population_grid(population: pd.DataFrame) -> Figure:
    """Show the distributions of FLOPs, parameters, activations, cumulative depth and width.

    `population` has the columns of `Population.to_pandas()`; what it costs may be unknown. Where
    architectures differ in their number of stages, that has a panel too.
    """
    data = population_data(population)
    figure, grid = panels(len(data.columns), columns=3, height=1.6)
    for axes, (name, values) in zip(grid, data.items(), strict=True):
        bins = int(np.clip(np.sqrt(len(values)) * 1.5, 5, 30))
        seaborn.histplot(x=values.to_numpy(), ax=axes, bins=bins, color=POPULATION, linewidth=0.3)
        axes.set(xlabel=name, ylabel="")
        axes.locator_params(nbins=5, min_n_ticks=3)
        axes.set_title(f"median {values.median():.4g}")
        if first_in_row(axes):
            axes.set_ylabel("architectures")
    return figure


def population_data(population: pd.DataFrame) -> pd.DataFrame:
    """What `population_grid` shows: a row an architecture, a column a panel, units in its name."""
    index = pd.Index(population["architecture"], name="architecture")
    data = {
        title: population[name].to_numpy() / 1e6
        for name, title in COSTS.items()
        if name in population.columns
    }
    totals = cumulative(population)
    data["cumulative depth (blocks)"] = totals["cumulative depth"].to_numpy()
    data["cumulative width (channels)"] = totals["cumulative width"].to_numpy()
    depths = population[[f"d{stage}" for stage in stages_of(population.columns)]]
    if depths.isna().any(axis=None):
        data["stages"] = depths.notna().sum(axis=1).to_numpy()
    return pd.DataFrame(data, index=index)
