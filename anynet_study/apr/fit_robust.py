"""Intervals of a least-squares line that hold where scatter is uneven and points are few.

Slope, intercept and line: Student's t with the standard error HC3 (MacKinnon and White, "Some
heteroskedasticity-consistent covariance matrix estimators", 1985), which stands for leaving out
each point. Correlation: Fisher's z with the jackknife's standard error, and how many of them to go
either way by a studentised bootstrap over points.
"""

from math import comb

import numpy as np

from anynet_study.apr.bootstrap import BLOCK, draw
from anynet_study.apr.fit_estimates import Estimates, least_squares, student, without_each
from anynet_study.apr.ranks import Floats, Multiplicities

#: Fewer points have too many resamples of hardly any different ones; Student's t serves them.
FEWEST_RESAMPLED = 10
#: The largest correlation that has a finite z.
STRONGEST = 1 - 1e-15
#: Products of two columns whose means a studentised correlation needs.
POWERS = [(i, j) for i in range(5) for j in range(5 - i)]


def robust_intervals(x: Floats, y: Floats, resamples: int, seed: int, level: float) -> Estimates:
    """Slope, intercept and correlation of points (n,), (n,) with their intervals."""
    once: Multiplicities = np.ones((1, len(x)), dtype=np.int32)
    estimate = least_squares(x, y, once).ravel()
    away, left = x - x.mean(), residuals(x, y)
    slope_error = np.sqrt(((away * left) ** 2).sum()) / (away**2).sum()
    reach = np.array([student(len(x), level) * slope_error, *reaches(x, y, np.zeros(1), level)])
    low, high = _correlation_ends(x, y, float(estimate[2]), resamples, seed, level)
    return Estimates(
        estimate, np.append(estimate[:2] - reach, low), np.append(estimate[:2] + reach, high)
    )


def reaches(x: Floats, y: Floats, at: Floats, level: float) -> Floats:
    """(k,) half the width of the line's pointwise region at each place `at` (k,)."""
    error = np.sqrt(variances(x, residuals(x, y)[None], np.ones((len(at), 1)), at))
    reach: Floats = student(len(x), level) * error
    return reach


def residuals(x: Floats, y: Floats) -> Floats:
    """(n,) how far each point lies from the line through the others: residual / (1 - leverage)."""
    away = x - x.mean()
    squares = (away**2).sum()
    leverage = 1 / len(x) + away**2 / squares
    left: Floats = (y - y.mean() - away * (away @ y) / squares) / (1 - leverage)
    return left


def variances(x: Floats, left: Floats, weights: Floats, at: Floats) -> Floats:
    """(k,) variances, at places `at` (k,), of weighted sums of s lines through the same x (n,).

    `left` (s, n) are the lines' `residuals`, `weights` (k, s) those of each line at each place.
    """
    away, n = x - x.mean(), len(x)
    squares = (away**2).sum()
    shift = at - x.mean()
    factors = [1 / n**2, 2 * shift / (n * squares), (shift / squares) ** 2]
    total = np.zeros(len(at))
    for power, factor in enumerate(factors):
        products = (left * away**power) @ left.T
        total += factor * ((weights @ products) * weights).sum(axis=1)
    found: Floats = np.maximum(total, 0.0)
    return found


def _correlation_ends(
    x: Floats, y: Floats, r: float, resamples: int, seed: int, level: float
) -> tuple[float, float]:
    if abs(r) > STRONGEST:  # perfect, but for rounding: no width
        return r, r
    n, z = len(x), np.arctanh(r)
    without = np.arctanh(np.clip(without_each(x, y)[2], -STRONGEST, STRONGEST))
    error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    errors_away = student(n, level)
    if n >= FEWEST_RESAMPLED:
        errors_away = _studentised_quantile(x, y, float(z), resamples, seed, level)
    reach = min(errors_away * error, 2 * np.arctanh(STRONGEST))
    return min(float(np.tanh(z - reach)), r), max(float(np.tanh(z + reach)), r)


def _studentised_quantile(
    x: Floats, y: Floats, z: float, resamples: int, seed: int, level: float
) -> float:
    """How many of their own standard errors a share `level` of the resamples' z stay within."""
    n = len(x)
    u, v = ((column - column.mean()) / column.std() for column in (x, y))
    powers = np.stack([u**i * v**j for i, j in POWERS], axis=1)
    distances = []
    for start in range(0, resamples, BLOCK):
        counts = draw(n, min(BLOCK, resamples - start), seed, start // BLOCK)
        there, error = _z_and_error((counts / n) @ powers, n)
        with np.errstate(divide="ignore", invalid="ignore"):
            away = np.abs(there - z) / error
        distances.append(np.where(np.isnan(away), np.inf, away))
    return float(np.quantile(np.concatenate(distances), level, method="higher"))


def _z_and_error(means: Floats, n: int) -> tuple[Floats, Floats]:
    """(b,), (b,) Fisher's z and its standard error, from its influence function.

    `means` (b, 15) of the products POWERS. A resample of one or two different points has no error.
    """
    raw = dict(zip(POWERS, means.T, strict=True))

    def central(i: int, j: int) -> Floats:
        terms = [
            comb(i, k) * comb(j, m) * (-raw[1, 0]) ** (i - k) * (-raw[0, 1]) ** (j - m) * raw[k, m]
            for k in range(i + 1)
            for m in range(j + 1)
        ]
        return np.sum(terms, axis=0)  # type: ignore[no-any-return]

    xx, yy, xy = central(2, 0), central(0, 2), central(1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.clip(xy / np.sqrt(xx * yy), -STRONGEST, STRONGEST)
        both, root = central(2, 2) / (xx * yy), np.sqrt(xx * yy)
        squares = central(4, 0) / xx**2 + central(0, 4) / yy**2 + 2 * both
        mixed = (central(3, 1) / xx + central(1, 3) / yy) / root
        spread = both + r**2 / 4 * squares - r * mixed
        error = np.sqrt(np.maximum(spread, 0.0) / (n - 2)) / (1 - r**2)
    return np.arctanh(r), error
