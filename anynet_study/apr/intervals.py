"""Confidence intervals of correlations, and of differences and averages of correlations.

The intervals are bootstrap BCa intervals (bias-corrected and accelerated percentiles: Efron,
"Better bootstrap confidence intervals", 1987). How often nominal 95% intervals of Spearman's rho
held the population's value in `benchmarks/coverage.py`, in percent, BCa | plain percentile:

    population                     n = 16        n = 40        n = 500
    normal, r = 0                95.7 | 94.5   95.9 | 95.2   94.2 | 94.6
    normal, r = 0.5              95.1 | 95.8   95.3 | 95.4   94.4 | 94.8
    normal, r = 0.9              96.4 | 98.1   95.5 | 96.5   94.4 | 94.4
    normal, r = 0.97             97.8 | 97.8   95.2 | 94.8   94.8 | 95.8
    coarse (many ties)           94.5 | 94.8   94.8 | 95.0   94.6 | 94.4
    fanning (heavy tails)        91.2 | 92.3   92.3 | 92.8   96.0 | 95.4
    difference, unlike proxies   95.0 | 95.5   95.8 | 96.0   97.2 | 96.6
    difference, like proxies     96.1 | 98.0   96.3 | 97.3   94.6 | 94.6

Resamples repeat architectures, whose ties pull strong correlations towards zero: percentiles are
then too wide, which the bias correction mends, so BCa is used throughout. Below 40 architectures
with errors that fan out, expect about 92%.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from anynet_study.apr.ranks import Floats, Ints
from anynet_study.apr.threads import in_threads
from anynet_study.errors import UserError

#: Values in which a thread looks for percentiles before it takes further ones.
PARTITIONED = 1_000_000


@dataclass(frozen=True)
class Resampled:
    """Statistics of a sample with their bootstrap and jackknife values; NaN where undefined."""

    #: (p,)
    estimate: Floats
    #: (p, resamples)
    draws: Floats
    #: (p, n), or fewer where groups of rows were left out
    jackknife: Floats

    def __getitem__(self, which: slice | Ints) -> "Resampled":
        return Resampled(*(each[which] for each in self._parts()))

    def __sub__(self, other: "Resampled") -> "Resampled":
        """Differences, resample by resample."""
        pairs = zip(self._parts(), other._parts(), strict=True)
        return Resampled(*(mine - theirs for mine, theirs in pairs))

    def combined(self, function: Callable[..., Floats], *others: "Resampled") -> "Resampled":
        """A function, value by value, of this and other statistics of the same resamples."""
        parts = zip(self._parts(), *(other._parts() for other in others), strict=True)
        return Resampled(*(function(*values) for values in parts))

    def average(self) -> "Resampled":
        """The mean of the p statistics, resample by resample, as one statistic."""
        return Resampled(*(each.mean(axis=0, keepdims=True) for each in self._parts()))

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """(p,) lower and upper ends; see `bca`."""
        return bca(self.estimate, self.draws, self.jackknife, level)

    def _parts(self) -> tuple[Floats, Floats, Floats]:
        return self.estimate, self.draws, self.jackknife


def check_level(level: float, resamples: int | None = None) -> None:
    """Raise UserError unless an interval of this level can be had from the resamples, if any."""
    if not 0 < level < 1:
        raise UserError(f"level: {level} is not between 0 and 1, such as 0.95")
    fewest = int(np.ceil(2 / (1 - level)))
    if resamples is not None and resamples < fewest:
        raise UserError(
            f"resamples: {resamples} is too few for intervals of level {level}; "
            f"at least {fewest}, 10000 is usual"
        )


def bca(estimate: Floats, draws: Floats, jackknife: Floats, level: float) -> tuple[Floats, Floats]:
    """BCa intervals (p,), (p,) of p statistics from draws (p, resamples) and jackknife (p, n).

    Undefined resamples (a column is constant in them) are left out; where they are more than
    half, and where the estimate is undefined, both ends are NaN. So they are where the jackknife
    is undefined: a column that one architecture alone keeps from being constant varies in no
    resample but by it, and the interval would have hardly any width. An interval always holds its
    estimate. With a perfect correlation every resample is perfect and the interval has no width.
    """
    defined = np.isfinite(draws).sum(axis=1)
    usable = np.isfinite(estimate) & (defined > draws.shape[1] / 2)
    usable &= np.isfinite(jackknife).all(axis=1)
    below = (draws < estimate[:, None]).sum(axis=1)
    equal = (draws == estimate[:, None]).sum(axis=1)
    total = np.maximum(defined, 1)
    bias = ndtri(np.clip((below + equal / 2) / total, 0.5 / total, 1 - 0.5 / total))
    acceleration = _acceleration(jackknife)
    shares = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        shifted = bias + ndtri(tail)
        # Past the pole of the acceleration the percentile is the outermost one.
        stretch = np.maximum(1 - acceleration * shifted, 1e-6)
        shares.append(ndtr(bias + shifted / stretch))
    ends = _percentiles(draws, defined, np.stack(shares, axis=1))
    low, high = np.minimum(ends[:, 0], estimate), np.maximum(ends[:, 1], estimate)
    return np.where(usable, low, np.nan), np.where(usable, high, np.nan)


def _acceleration(jackknife: Floats) -> Floats:
    """(p,) a sixth of the skewness of the jackknife's influence values."""
    defined = np.isfinite(jackknife)
    count = np.maximum(defined.sum(axis=1, keepdims=True), 1)
    filled = np.where(defined, jackknife, 0.0)
    influence = np.where(defined, filled.sum(axis=1, keepdims=True) / count - filled, 0.0)
    scale = (influence**2).sum(axis=1) ** 1.5
    cubes = (influence**3).sum(axis=1)
    skewness: Floats = np.divide(cubes, 6 * scale, out=np.zeros_like(scale), where=scale > 0)
    return skewness


def _percentiles(draws: Floats, defined: Ints, shares: Floats) -> Floats:
    """(p, 2) linear interpolation at `shares` (p, 2) of the defined values of draws (p, b).

    Only what stands at those places is sorted out, which takes a third of the time of sorting.
    """
    last = np.maximum(defined - 1, 0)[:, None]
    position = shares * last
    lower = np.floor(position).astype(np.int64)
    places = np.stack([lower, np.minimum(lower + 1, last)])
    result = np.empty_like(shares)

    def fill(rows: range) -> None:
        for row in rows:
            ordered = np.partition(draws[row], np.unique(places[:, row]))  # NaNs come last
            at_lower, at_upper = ordered[places[:, row]]
            result[row] = at_lower + (at_upper - at_lower) * (position[row] - lower[row])

    at_once = max(1, PARTITIONED // max(1, draws.shape[1]))
    starts = range(0, len(draws), at_once)
    in_threads(fill, [range(start, min(start + at_once, len(draws))) for start in starts])
    return result
