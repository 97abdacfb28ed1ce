"""What was sampled: the distributions of a population's complexity and shape."""

import numpy as np
import pandas as pd
import seaborn
from matplotlib.figure import Figure

from anynet_study.apr import cumulative
from anynet_study.plots.style import POPULATION, first_in_row, panels, styled


@styled
def population_grid(population: pd.DataFrame) -> Figure:
    """Show the distributions of FLOPs, parameters, activations, cumulative depth and width.

    `population` has the columns of `Population.to_pandas()`.
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
    totals = cumulative(population)
    return pd.DataFrame(
        {
            "FLOPs (million multiply-adds)": population["flops"].to_numpy() / 1e6,
            "parameters (million)": population["parameters"].to_numpy() / 1e6,
            "activations (million)": population["activations"].to_numpy() / 1e6,
            "cumulative depth (blocks)": totals["cumulative depth"].to_numpy(),
            "cumulative width (channels)": totals["cumulative width"].to_numpy(),
        },
        index=index,
    )
