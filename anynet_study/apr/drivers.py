"""What drives the errors: cumulative depth and width (paper 1, section 4.4, Table 4, Figure 7)."""

import numpy as np
import pandas as pd

from anynet_study.apr.correlations import correlate_pairs
from anynet_study.apr.kernels import Method
from anynet_study.apr.pairs import pairwise
from anynet_study.apr.population import parameters_of, stages_of
from anynet_study.apr.table import check_errors
from anynet_study.apr.weights import aligned_weights


def cumulative(population: pd.DataFrame) -> pd.DataFrame:
    """DataFrame["cumulative depth", "cumulative width"]: sums over an architecture's stages."""
    stages = stages_of(population.columns, "dw")
    sums = {
        f"cumulative {name}": population[[f"{prefix}{stage}" for stage in stages]].sum(axis=1)
        for name, prefix in (("depth", "d"), ("width", "w"))
    }
    return pd.DataFrame(sums)


def drivers(
    errors: pd.DataFrame,
    population: pd.DataFrame,
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    weights: pd.Series | None = None,
) -> pd.DataFrame:
    """Correlation of each dataset's errors with cumulative depth and width (Table 4).

    A positive value says that deeper, or wider, architectures err more. Returns
    DataFrame[dataset, parameter, estimate, low, high, n, p] as `correlations` does; NaN where a
    dataset has fewer than 4 errors or is constant, or all architectures are equally deep.
    `weights` by architecture as in `correlations`; a column `weight` of the population is not used
    unless given (`weights_of`).
    """
    table = check_errors(errors)
    sums = cumulative(parameters_of(table, population))
    values = np.column_stack([table.to_numpy(), sums.to_numpy(dtype=np.float64)])
    datasets = range(len(table.columns))
    columns = [(each, len(datasets) + offset) for each in datasets for offset in (0, 1)]
    result = pd.DataFrame({"dataset": np.repeat(np.array(table.columns), 2)})
    result["parameter"] = [*sums.columns] * len(datasets)
    pairs = pairwise(values, columns)
    own = aligned_weights(weights, table)
    return result.join(correlate_pairs(values, pairs, method, resamples, seed, level, own))
