"""Least-squares lines of many resamples at once, and the intervals of a line.

The textbook's intervals take scatter as even and normal. The robust ones hold where scatter is
uneven and points are few: for slope, intercept and line Student's t with the standard error HC3
(MacKinnon and White, "Some heteroskedasticity-consistent covariance matrix estimators", 1985),
which stands for leaving out each point; for the correlation Fisher's z with the jackknife's
standard error, and how many of them to go either way by a studentised bootstrap over points.
"""

from math import comb

import numpy as np
from scipy import stats

from anynet_study.apr.bootstrap import Resampled, draws, widened
from anynet_study.apr.options import Floats, Multiplicities

#: Fewer points have too many resamples of hardly any different ones; Student's t serves them.
FEWEST_RESAMPLED = 10
#: The largest correlation that has a finite z.
STRONGEST = 1 - 1e-15
#: Products of two columns whose means a studentised correlation needs.
POWERS = [(i, j) for i in range(5) for j in range(5 - i)]


#: Slope, intercept and Pearson's correlation, and the ends of their intervals; (3,) each.
Estimates = tuple[Floats, Floats, Floats]


def least_squares(x: Floats, y: Floats, multiplicities: Multiplicities) -> Floats:
    """(3, b) slope, intercept and correlation of b resamples of the points (n,), (n,).

    `multiplicities` (b, n) says how often each resample holds each point. NaN where x is constant;
    the correlation also where y is.
    """
    products, units = _standardised(x, y)
    shares = multiplicities / multiplicities.sum(axis=1, keepdims=True)
    return _lines(shares @ products, units)


def line(x: Floats, y: Floats) -> Floats:
    """(3,) slope, intercept and correlation of the points (n,), (n,) themselves."""
    return least_squares(x, y, np.ones((1, len(x)), dtype=np.int32)).ravel()


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
    drawn = [least_squares(x, y, block) for block in draws(len(x), resamples, seed)]
    return Resampled(line(x, y), np.concatenate(drawn, axis=1), without_each(x, y))


def expanded(level: float, n: int) -> float:
    """The level at which the bootstrap's intervals of a line through n points hold `level`.

    Resamples vary too little, by the factor of the two fitted parameters, and a normal quantile
    takes the scatter as known (expanded percentiles: Hesterberg, "What Teachers Should Know About
    the Bootstrap", 2015). 0.973 for 0.95 and 20 points.
    """
    return widened(level, n, n - 2)


def student_intervals(x: Floats, y: Floats, level: float) -> Estimates:
    """Student's t intervals of slope and intercept, Fisher's of the correlation."""
    n = len(x)
    estimate = line(x, y)
    squares = ((x - x.mean()) ** 2).sum()
    slope_reach = student(n, level) * residual_error(x, y) / np.sqrt(squares)
    away = np.array([slope_reach, student_reaches(x, y, np.array([0.0]), level)[0]])
    # A perfect correlation has no width: its transformation is infinite.
    inner = np.clip(estimate[2], -1 + 1e-15, 1 - 1e-15)
    width = stats.norm.ppf((1 + level) / 2) / np.sqrt(n - 3) if abs(estimate[2]) < 1 else 0.0
    ends = np.tanh(np.arctanh(inner) + width * np.array([-1, 1]))
    low = np.append(estimate[:2] - away, min(ends[0], estimate[2]))
    high = np.append(estimate[:2] + away, max(ends[1], estimate[2]))
    return estimate, low, high


def student_reaches(x: Floats, y: Floats, at: Floats, level: float) -> Floats:
    """(k,) half the width of the line's pointwise Student's t region at each place `at`."""
    squares = ((x - x.mean()) ** 2).sum()
    error = residual_error(x, y) * np.sqrt(1 / len(x) + (at - x.mean()) ** 2 / squares)
    reach: Floats = student(len(x), level) * error
    return reach


def residual_error(x: Floats, y: Floats) -> float:
    """Standard deviation of the residuals, of n - 2 degrees of freedom."""
    slope, intercept, _ = line(x, y)
    return float(np.sqrt(((y - intercept - slope * x) ** 2).sum() / (len(x) - 2)))


def student(n: int, level: float) -> float:
    """The quantile of Student's t for a line through n points."""
    return float(stats.t.ppf((1 + level) / 2, n - 2))


def robust_intervals(x: Floats, y: Floats, resamples: int, seed: int, level: float) -> Estimates:
    """Slope, intercept and correlation of points (n,), (n,) with their intervals."""
    estimate = line(x, y)
    away, left = x - x.mean(), residuals(x, y)
    slope_error = np.sqrt(((away * left) ** 2).sum()) / (away**2).sum()
    reach = np.array(
        [student(len(x), level) * slope_error, *robust_reaches(x, y, np.zeros(1), level)]
    )
    low, high = _correlation_ends(x, y, float(estimate[2]), resamples, seed, level)
    return estimate, np.append(estimate[:2] - reach, low), np.append(estimate[:2] + reach, high)


def robust_reaches(x: Floats, y: Floats, at: Floats, level: float) -> Floats:
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
    for counts in draws(n, resamples, seed):
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
