"""Which values of a parameter do good models have?

The empirical bootstrap of Radosavovic et al., "Designing Network Design Spaces" (2020, section 3):
draw a quarter of the models with replacement, keep the best one's value, and repeat; the median and
the middle 95% of the values are the best value and its range. Here in closed form, as if repeated
without end: the best of m draws is among the k best models with probability 1 - (1 - k/n)^m.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from anynet_study.apr.edf_sample import Column, make_sample
from anynet_study.apr.ranks import Floats
from anynet_study.errors import UserError


def good_range(
    errors: Column,
    parameters: pd.DataFrame,
    weights: ArrayLike | None = None,
    fraction: float = 0.25,
    level: float = 0.95,
) -> pd.DataFrame:
    """The value of each parameter that good models have, with its range.

    `errors` (percent, one a model) and the rows of `parameters`, a numeric column a parameter,
    are in the same order; models without an error, or without that parameter, are left out. Models
    of equal error share the probability to be the best, in proportion to `weights`.

    Returns DataFrame[parameter, best, low, high, n]: `best` is the median of the best models'
    values, between `low` and `high` lie `level` of them. Where the range is as wide as the whole
    population's, the parameter does not matter.
    """
    if not 0 < fraction <= 1 or not 0 < level < 1:
        raise UserError(f"fraction: {fraction}, level: {level}; legal: between 0 and 1")
    if len(parameters) != len(errors):
        raise UserError(f"parameters: {len(parameters)} rows for {len(errors)} errors")
    series = pd.Series(np.asarray(errors, dtype=np.float64))
    heights = pd.Series(np.ones(len(series)) if weights is None else np.asarray(weights))
    tails = ((1 - level) / 2, 0.5, (1 + level) / 2)
    rows = []
    for name, values in parameters.items():
        numbers = pd.Series(values.to_numpy(dtype=np.float64, na_value=np.nan))
        known = numbers.notna() & series.notna() & (heights > 0)
        chances = _chance_best(series[known], heights[known], fraction, str(name))
        low, best, high = _quantiles(numbers[known].to_numpy(), chances, tails)
        rows.append({"parameter": name, "best": best, "low": low, "high": high, "n": known.sum()})
    return pd.DataFrame(rows, columns=["parameter", "best", "low", "high", "n"])


def _chance_best(errors: pd.Series, weights: pd.Series, fraction: float, name: str) -> Floats:
    """(n,) probability that a model is the best of a resample of a fraction of the models."""
    sample = make_sample(errors, weights, name)
    draws = max(1, round(fraction * sample.n))
    beyond = np.clip(1 - np.cumsum(sample.masses), 0, 1)
    of_error = -np.diff(np.r_[1.0, beyond] ** draws)
    place = np.searchsorted(sample.errors, errors.to_numpy())
    share = weights.to_numpy() / np.bincount(place, weights)[place]
    chances: Floats = of_error[place] * share
    return chances


def _quantiles(values: Floats, chances: Floats, tails: tuple[float, ...]) -> Floats:
    """The values at which the cumulated chances pass `tails`."""
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum(chances[order]) / chances.sum()
    quantiles: Floats = values[order][np.searchsorted(cumulated, np.array(tails) - 1e-12)]
    return quantiles
