"""The tables behind the figures: what is drawn, a row a point."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from anynet_study.apr import cumulative, mark_extremes

QUANTILES = (0.1, 0.5, 0.9)


class Estimate(NamedTuple):
    """A correlation with its interval and the architectures it rests on; NaN: undefined."""

    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0


def pair_estimates(table: pd.DataFrame) -> dict[tuple[str, str], Estimate]:
    """Look-up of a result of `apr.correlations` by pair of datasets, in either order."""
    found = {}
    columns = [table[name] for name in ("source", "target", "estimate", "low", "high", "n")]
    for x, y, estimate, low, high, n in zip(*columns, strict=True):
        found[x, y] = found[y, x] = Estimate(estimate, low, high, int(n))
    return found


def driver_estimates(table: pd.DataFrame, parameter: str) -> dict[str, Estimate]:
    """Look-up of a result of `apr.drivers` by dataset."""
    rows = table[table["parameter"] == parameter]
    columns = [rows[name] for name in ("dataset", "estimate", "low", "high", "n")]
    return {name: Estimate(*values) for name, *values in zip(*columns, strict=True)}


def scatter_data(
    errors: pd.DataFrame, pairs: Sequence[tuple[str, str]], count: int = 10
) -> pd.DataFrame:
    """Points of the error scatterplots (paper 1, Figures 3 to 5).

    Returns a row per pair (x, y) of datasets and architecture that has both errors, with columns
    x, y, architecture, x_error, y_error (percent) and mark: "top" or "worst" for the `count` best
    and worst on y (a quarter at most), else "".
    """
    frames = []
    for x, y in pairs:
        both = errors[[x, y]].dropna() if x != y else errors[[x]].dropna()
        marks = mark_extremes(both, y, count)
        frames.append(
            pd.DataFrame(
                {
                    "x": x,
                    "y": y,
                    "architecture": both.index,
                    "x_error": both[x].to_numpy(),
                    "y_error": both[y].to_numpy(),
                    "mark": marks.reindex(both.index).to_numpy(),
                }
            )
        )
    columns = ["x", "y", "architecture", "x_error", "y_error", "mark"]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def driver_data(
    errors: pd.DataFrame, population: pd.DataFrame, parameter: str, count: int = 10
) -> pd.DataFrame:
    """Points of the driver figures (paper 1, Figure 7).

    `parameter` is "cumulative depth" or "cumulative width". Returns columns dataset, architecture,
    error (percent), value and mark (as in `scatter_data`).
    """
    values = cumulative(population.set_index("architecture"))[parameter]
    frames = []
    for dataset in errors.columns:
        known = errors.loc[errors.index.isin(values.index), [dataset]].dropna()
        marks = mark_extremes(known, dataset, count)
        frames.append(
            pd.DataFrame(
                {
                    "dataset": dataset,
                    "architecture": known.index,
                    "error": known[dataset].to_numpy(),
                    "value": values.reindex(known.index).to_numpy(),
                    "mark": marks.reindex(known.index).to_numpy(),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def curve_data(curves: pd.DataFrame) -> pd.DataFrame:
    """Quantiles over the runs of the test error after every epoch.

    `curves` has columns dataset, architecture, epoch and error (percent). Returns columns dataset,
    epoch (from 1), low, median, high (10%, 50%, 90%) and n.
    """
    groups = curves.dropna(subset=["error"]).groupby(["dataset", "epoch"], sort=False)["error"]
    table = groups.quantile(list(QUANTILES)).unstack().astype(np.float64)
    table.columns = pd.Index(["low", "median", "high"])
    table["n"] = groups.size()
    return table.reset_index().sort_values(["dataset", "epoch"], kind="stable", ignore_index=True)
