"""Correlations looked up by what they are of, and where axes of errors end: for figures and pages.

Nothing here imports matplotlib.
"""

import math
from typing import NamedTuple

import pandas as pd

FAR = 5.0
"""Errors this many interquartile ranges above the upper quartile are off the scale ..."""
FEW = 0.1
"""... if they are at most this share of all."""


class Estimate(NamedTuple):
    """A correlation with its interval and the architectures it rests on; NaN: undefined."""

    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0


def pair_estimates(table: pd.DataFrame) -> dict[tuple[str, str], Estimate]:
    """Look-up by pair of datasets, in either order; `table` is a result of `apr.correlations`."""
    found = {}
    columns = [table[name] for name in ("source", "target", "estimate", "low", "high", "n")]
    for x, y, estimate, low, high, n in zip(*columns, strict=True):
        found[x, y] = found[y, x] = Estimate(estimate, low, high, int(n))
    return found


def driver_estimates(table: pd.DataFrame, parameter: str) -> dict[str, Estimate]:
    """Look-up by dataset; `table` is a result of `apr.drivers`."""
    rows = table[table["parameter"] == parameter]
    columns = [rows[name] for name in ("dataset", "estimate", "low", "high", "n")]
    return {name: Estimate(*values) for name, *values in zip(*columns, strict=True)}


def upper_limit(errors: pd.Series) -> float:
    """The largest error to scale an axis to, percent; infinity where none is far off."""
    known = errors.dropna()
    quarter, three_quarters = known.quantile([0.25, 0.75]) if len(known) else (0.0, 0.0)
    spread = three_quarters - quarter
    far = known > three_quarters + FAR * spread
    if spread == 0 or not 0 < far.mean() <= FEW:
        return math.inf
    return float(known[~far].max())
