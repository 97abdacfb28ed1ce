"""Many intervals that hold together, and which of several statistics can be the largest.

An interval at 95% misses once in twenty; of seven, one may well miss. Whatever is concluded of
several at once rests on intervals that are wide enough to hold all together.
"""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from anynet_study.analysis.apr.bootstrap import Resampled
from anynet_study.analysis.apr.options import Floats

#: Correlations beyond it have no place on Fisher's scale.
MOST = 1 - 1e-9


def bonferroni(level: float, asked: int) -> float:
    """The level of so many intervals that hold together at `level`, whatever links them."""
    return 1 - (1 - level) / max(asked, 1)


def simultaneous(statistics: Resampled, level: float) -> tuple[Floats, Floats]:
    """(p,) lower and upper ends of intervals of p statistics that hold together at `level`.

    Those at `level` by themselves, stretched as far as the largest deviation of any of them in a
    resample, in standard errors, exceeds that of one (max-t: Romano and Wolf, "Exact and
    approximate stepdown methods for multiple hypothesis testing", 2005); correlations on Fisher's
    scale. They are hardly wider than single ones where all move as one. By Bonferroni's correction
    where a formula takes the place of resamples. Undefined statistics do not count.
    """
    known = np.isfinite(statistics.estimate)
    if statistics.few is not None and statistics.few[known].any():
        return statistics.interval(bonferroni(level, int(known.sum())))
    low, high = statistics.interval(level)
    if known.sum() < 2:
        return low, high
    farthest = largest_deviation(_on_scale(statistics, known), level)
    farther = max(farthest / float(ndtri((1 + level) / 2)), 1.0)
    forth, back = (np.arctanh, np.tanh) if statistics.correlation else (np.array, np.array)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = forth(statistics.estimate)
        ends = [back(centre + farther * (forth(end) - centre)) for end in (low, high)]
    return ends[0], ends[1]


def largest_deviation(draws: Floats, level: float) -> float:
    """The standard errors within which all p statistics lie in a share `level` of draws (p, b)."""
    errors = draws.std(axis=1, keepdims=True)
    away = np.abs(draws - draws.mean(axis=1, keepdims=True))
    standardised = np.divide(away, errors, out=np.zeros_like(away), where=errors > 0)
    return float(np.quantile(standardised.max(axis=0), level))


def _on_scale(statistics: Resampled, known: NDArray[np.bool_]) -> Floats:
    """Draws of the known statistics; undefined ones stand at the estimate, correlations as z."""
    draws, estimate = statistics.draws[known], statistics.estimate[known, None]
    draws = np.where(np.isfinite(draws), draws, estimate)
    return np.arctanh(np.clip(draws, -MOST, MOST)) if statistics.correlation else draws


def can_be_largest(statistics: Resampled, level: float) -> NDArray[np.bool_]:
    """(k,) which of k statistics can be the largest: a confidence set at `level`.

    One is left out where another is larger beyond what differences of pairs deviate by in the
    resamples, all pairs together (max-t), as much farther as Student's t reaches than the normal
    distribution: standard errors of n resampled architectures are a little small. So all that are
    truly the largest are in the set with probability `level` at least, whether it is one or several
    that are equal. Undefined ones are not.

    Source: Hsu, "Multiple Comparisons", 1996, chapters 4 and 5 (comparisons with the best that
    follow from those of all pairs); here of paired differences, of correlations on Fisher's scale.
    """
    held = np.isfinite(statistics.estimate)
    pairs = np.array([*combinations(np.flatnonzero(held), 2)], dtype=np.int64).reshape(-1, 2)
    if not len(pairs):
        return held
    one, other = pairs.T
    if statistics.few is not None and statistics.few[held].any():
        differences = statistics[one] - statistics[other]
        low, high = differences.interval(bonferroni(level, len(pairs)))
    else:
        every = np.ones(len(held), dtype=bool)
        draws = _on_scale(statistics, every)
        apart = draws[one] - draws[other]
        farthest = largest_deviation(apart, level)
        n = statistics.jackknife.shape[1]
        farthest = np.sqrt(n / (n - 1)) * stdtrit(n - 1, ndtr(farthest))
        reach = farthest * apart.std(axis=1)
        estimate = statistics.estimate
        z = np.arctanh(estimate) if statistics.correlation else estimate
        low, high = z[one] - z[other] - reach, z[one] - z[other] + reach
    held[other[low > 0]] = False
    held[one[high < 0]] = False
    return held
