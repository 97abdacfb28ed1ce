"""Intervals by formula, without resamples: of correlations (Fisher), and of shares (binomial).

On Fisher's z = artanh(r) the standard error hardly depends on r: 1 / sqrt(n - 3) for Pearson's r;
for Spearman's rho sqrt((1 + rho**2 / 2) / (n - 3)) (Bonett and Wright, "Sample size requirements
for estimating Pearson, Kendall and Spearman correlations", 2000); for Kendall's tau
sqrt(0.437 / (n - 4)) (Fieller, Hartley and Pearson 1957; for tau below 0.8). All hold for normal
errors, or errors that are normal after a monotone change of scale, without many ties; the bootstrap
intervals of `correlations` assume neither.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from anynet_study.analysis.apr.options import Floats, Ints, Method
from anynet_study.core.errors import DoesNotApplyError, UserError
from anynet_study.core.metrics import check_level

#: Architectures that the standard error's denominator leaves out.
LOST = {"pearson": 3, "spearman": 3, "kendall": 4}


def student_interval(values: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Means (...) of values (..., n), and the ends of Student's intervals, NaN for one value."""
    known = np.asarray(values, float)
    mean, n = known.mean(axis=-1), known.shape[-1]
    if n < 2:
        return mean, mean * np.nan, mean * np.nan
    reach = stdtrit(n - 1, (1 + level) / 2) * known.std(axis=-1, ddof=1) / np.sqrt(n)
    return mean, mean - reach, mean + reach


def fisher_interval(
    estimate: ArrayLike, n: ArrayLike, level: float = 0.95, method: Method = "spearman"
) -> tuple[Floats, Floats]:
    """Lower and upper ends of intervals of correlations of n architectures.

    `estimate` and `n` broadcast; NaN where the estimate is, or n is 4 (Pearson, Spearman: 3) or
    less. A perfect correlation's interval has no width.
    """
    check_level(level)
    r, count = np.broadcast_arrays(np.asarray(estimate, float), np.asarray(n, float))
    freedom = np.where(count > LOST[method], count - LOST[method], np.nan)
    half = ndtri((1 + level) / 2) * _scale(r, method) / np.sqrt(freedom)
    with np.errstate(divide="ignore"):
        z = np.arctanh(r)
    return np.tanh(z - half), np.tanh(z + half)


def small_sample_interval(
    estimate: Floats, n: Floats, level: float, method: Method
) -> tuple[Floats, Floats]:
    """Fisher's intervals (p,) where a bootstrap cannot be trusted: few architectures, or r = 1.

    A correlation of ranks moves in steps, so that a perfect one stands for what lies less than half
    a step (12 / (n (n**2 - 1)); Kendall: 4 / (n (n - 1))) from it: the interval is that of the
    correlation half a step below, up to 1. Of four architectures, which are in the same order by
    chance in 1 of 24 cases, it so includes 0. -1 to 1 where n leaves no standard error.
    """
    size = np.maximum(n, 3)  # weighted architectures can be worth less
    step = 4 / (size * (size - 1)) if method == "kendall" else 12 / (size * (size**2 - 1))
    inside = np.clip(estimate, step / 2 - 1, 1 - step / 2)
    low, high = fisher_interval(inside, n, level, method)
    low, high = np.nan_to_num(low, nan=-1.0), np.nan_to_num(high, nan=1.0)
    return (
        np.where(estimate < inside, -1.0, np.minimum(low, estimate)),
        np.where(estimate > inside, 1.0, np.maximum(high, estimate)),
    )


def difference_interval(
    first: Floats, first_ends: tuple[Floats, Floats], second: Floats, ends: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Ends of intervals of first - second (p,) from the intervals of either.

    The variances of the ends are recovered and added as if the two were independent, which makes
    the interval too wide, if anything, where they go together. Source: Zou, "Toward using
    confidence intervals to compare correlations", 2007, section 2.
    """
    (low_1, high_1), (low_2, high_2) = first_ends, ends
    difference = first - second
    return (
        difference - np.hypot(first - low_1, high_2 - second),
        difference + np.hypot(high_1 - first, second - low_2),
    )


def architectures_needed(
    estimate: ArrayLike, width: float, level: float = 0.95, method: Method = "spearman"
) -> Ints:
    """Fewest architectures with which Fisher's interval of a correlation is at most so wide.

    `estimate` is the correlation to expect, in -1 to 1; `width` is from end to end, above 0 and
    below 2. At least 4.
    """
    check_level(level)
    r = np.asarray(estimate, dtype=np.float64)
    if not 0 < width < 2:
        raise UserError(f"width: {width} is not between 0 and 2, such as 0.1")
    if not (np.abs(r) <= 1).all():
        raise DoesNotApplyError("estimate: a correlation is between -1 and 1")
    # tanh(z + h) - tanh(z - h) = width, solved for exp(2 h).
    squeezed = np.clip(r, -1 + 1e-12, 1 - 1e-12)
    linear = width * (1 + squeezed**2) / (1 - squeezed**2)
    grown = (linear + np.sqrt(linear**2 + 4 - width**2)) / (2 - width)
    errors = ndtri((1 + level) / 2) * _scale(r, method) / (np.log(grown) / 2)
    needed: Ints = np.maximum(np.ceil(errors**2 - 1e-9) + LOST[method], 4).astype(np.int64)
    return needed


def _scale(r: Floats, method: Method) -> Floats:
    """The standard error on the z scale times the root of the architectures that count."""
    if method == "spearman":
        return np.sqrt(1 + r**2 / 2)
    return np.full(r.shape, np.sqrt(0.437) if method == "kendall" else 1.0)


def wilson_interval(share: Any, n: Any, level: float = 0.95) -> tuple[Floats, Floats]:
    """Wilson's score intervals of shares (0 to 1) of n; arrays broadcast, 0 to 1 where n is 0.

    Close to exact on average and shorter than `binomial_interval`, which never holds less than its
    level: for shares of a sample, and for differences. `design_space.search` has the same for
    counts, as that room does without scipy.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
    """
    check_level(level)
    shares, counts = np.broadcast_arrays(np.asarray(share, float), np.asarray(n, float))
    if ((shares < 0) | (shares > 1) | (counts < 0)).any():
        raise DoesNotApplyError("share: outside 0 to 1, or of a negative count")
    z, size = ndtri((1 + level) / 2), np.maximum(counts, 1)
    centre = shares + z**2 / (2 * size)
    reach = z * np.sqrt(shares * (1 - shares) / size + z**2 / (4 * size**2))
    # Rounding must not leave the share, or 0 to 1.
    low = np.clip((centre - reach) / (1 + z**2 / size), 0, shares)
    high = np.clip((centre + reach) / (1 + z**2 / size), shares, 1)
    return np.where(counts > 0, low, 0.0), np.where(counts > 0, high, 1.0)
