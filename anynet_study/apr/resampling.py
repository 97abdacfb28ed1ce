"""Bootstrap and jackknife of any statistic of counted architectures.

The resamples are those of `Resampler` for the same number of architectures and seed, so that such a
statistic can be combined with correlations, resample by resample.
"""

from collections.abc import Callable

import numpy as np

from anynet_study.apr.bootstrap import BLOCK, MOST_LEFT_OUT, draw, leave_one_out
from anynet_study.apr.intervals import Resampled
from anynet_study.apr.ranks import Floats, Multiplicities


def resample(
    function: Callable[[Multiplicities], Floats], n: int, resamples: int, seed: int
) -> Resampled:
    """One statistic of n architectures: `function` maps multiplicities (b, n) to values (b,)."""
    once: Multiplicities = np.ones((1, n), dtype=np.int32)
    starts = range(0, resamples, BLOCK)
    draws = [
        function(draw(n, min(BLOCK, resamples - start), seed, start // BLOCK)) for start in starts
    ]
    blocks = range(-(-min(n, MOST_LEFT_OUT) // BLOCK))
    left_out = [function(leave_one_out(n, block)) for block in blocks]
    return Resampled(function(once), np.concatenate(draws)[None], np.concatenate(left_out)[None])


def resampled_mean(values: Floats, resamples: int, seed: int) -> Resampled:
    """The mean of n values; NaN throughout where there are fewer than two."""
    if len(values) < 2:
        nothing = np.full((1, 1), np.nan)
        return Resampled(nothing[0], nothing, nothing)

    def mean(counts: Multiplicities) -> Floats:
        means: Floats = counts @ values / counts.sum(axis=1)
        return means

    return resample(mean, len(values), resamples, seed)
