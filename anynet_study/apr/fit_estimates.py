"""Least squares of many resamples at once, and the textbook's intervals of a line."""

from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.special import ndtr, stdtrit

from anynet_study.apr.bootstrap import BLOCK, draw
from anynet_study.apr.intervals import Resampled
from anynet_study.apr.ranks import Floats, Multiplicities


@dataclass(frozen=True)
class Estimates:
    """Slope, intercept and Pearson's correlation with the ends of their intervals; (3,) each."""

    estimate: Floats
    low: Floats
    high: Floats


def least_squares(x: Floats, y: Floats, multiplicities: Multiplicities) -> Floats:
    """(3, b) slope, intercept and correlation of b resamples of the points (n,), (n,).

    `multiplicities` (b, n) says how often each resample holds each point. NaN where x is constant;
    the correlation also where y is.
    """
    products, units = _standardised(x, y)
    shares = multiplicities / multiplicities.sum(axis=1, keepdims=True)
    return _lines(shares @ products, units)


def without_each(x: Floats, y: Floats) -> Floats:
    """(3, n) the fit without each point, for the jackknife."""
    products, units = _standardised(x, y)
    return _lines((products.sum(axis=0) - products) / (len(x) - 1), units)


def _standardised(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """(n, 5) u, v, u², uv, v² of standardised columns u and v, against cancellation.

    And (2, 2) the centres and spreads of x and y, which undo it.
    """
    columns = np.array([x, y])
    centre, spread = columns.mean(axis=1), columns.std(axis=1)
    u, v = (columns - centre[:, None]) / np.where(spread > 0, spread, 1.0)[:, None]
    return np.column_stack([u, v, u * u, u * v, v * v]), np.array([centre, spread])


def _lines(means: Floats, units: Floats) -> Floats:
    """(3, b) fits from the means (b, 5) of the products of standardised columns."""
    mean_u, mean_v, uu, uv, vv = means.T
    var_u, var_v, cov = uu - mean_u**2, vv - mean_v**2, uv - mean_u * mean_v
    # What is left of a constant column after cancellation is rounding, not variance.
    var_u = np.where(var_u <= 1e-13 * uu, np.nan, var_u)
    var_v = np.where(var_v <= 1e-13 * vv, np.nan, var_v)
    r = np.clip(cov / np.sqrt(var_u * var_v), -1.0, 1.0)
    centre, spread = units
    slope = cov / var_u * spread[1] / spread[0]
    intercept = centre[1] + spread[1] * mean_v - slope * (centre[0] + spread[0] * mean_u)
    result: Floats = np.array([slope, intercept, r])
    return result


def resampled_lines(x: Floats, y: Floats, resamples: int, seed: int) -> Resampled:
    """Slope, intercept and correlation with all that their bootstrap intervals need."""
    n = len(x)
    starts = range(0, resamples, BLOCK)
    blocks = (draw(n, min(BLOCK, resamples - s), seed, s // BLOCK) for s in starts)
    draws = np.concatenate([least_squares(x, y, block) for block in blocks], axis=1)
    once: Multiplicities = np.ones((1, n), dtype=np.int32)
    return Resampled(least_squares(x, y, once).ravel(), draws, without_each(x, y))


def expanded(level: float, n: int) -> float:
    """The level at which the bootstrap's intervals of a line through n points hold `level`.

    Resamples vary too little, by the factor of the two fitted parameters, and a normal quantile
    takes the scatter as known (expanded percentiles: Hesterberg, "What Teachers Should Know About
    the Bootstrap", 2015). 0.973 for 0.95 and 20 points.
    """
    return widened(level, n, n - 2)


def widened(level: float, n: int, freedom: int) -> float:
    """The level of a normal interval as wide as Student's t, by the root of n / freedom as well."""
    wide = 2 * ndtr(np.sqrt(n / freedom) * stdtrit(freedom, (1 + level) / 2)) - 1
    return min(float(wide), 1 - 1e-9)  # of very few points: all that was drawn


def student_intervals(x: Floats, y: Floats, level: float) -> Estimates:
    """Student's t intervals of slope and intercept, Fisher's of the correlation."""
    n = len(x)
    estimate = least_squares(x, y, np.ones((1, n), dtype=np.int32)).ravel()
    squares = ((x - x.mean()) ** 2).sum()
    slope_reach = student(n, level) * residual_error(x, y) / np.sqrt(squares)
    away = np.array([slope_reach, reaches(x, y, np.array([0.0]), level)[0]])
    # A perfect correlation has no width: its transformation is infinite.
    inner = np.clip(estimate[2], -1 + 1e-15, 1 - 1e-15)
    width = stats.norm.ppf((1 + level) / 2) / np.sqrt(n - 3) if abs(estimate[2]) < 1 else 0.0
    ends = np.tanh(np.arctanh(inner) + width * np.array([-1, 1]))
    low = np.append(estimate[:2] - away, min(ends[0], estimate[2]))
    high = np.append(estimate[:2] + away, max(ends[1], estimate[2]))
    return Estimates(estimate, low, high)


def reaches(x: Floats, y: Floats, at: Floats, level: float) -> Floats:
    """(k,) half the width of the line's pointwise Student's t region at each place `at`."""
    squares = ((x - x.mean()) ** 2).sum()
    error = residual_error(x, y) * np.sqrt(1 / len(x) + (at - x.mean()) ** 2 / squares)
    reach: Floats = student(len(x), level) * error
    return reach


def residual_error(x: Floats, y: Floats) -> float:
    """Standard deviation of the residuals, of n - 2 degrees of freedom."""
    slope, intercept, _ = least_squares(x, y, np.ones((1, len(x)), dtype=np.int32)).ravel()
    residuals = y - intercept - slope * x
    return float(np.sqrt((residuals**2).sum() / (len(x) - 2)))


def student(n: int, level: float) -> float:
    """The quantile of Student's t for a line through n points."""
    return float(stats.t.ppf((1 + level) / 2, n - 2))
