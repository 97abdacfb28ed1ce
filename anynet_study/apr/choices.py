"""The target errors of chosen architectures, in many resamples at once.

Architectures come in the order in which they are chosen; `counts` (b, n) says how often each
resample holds each of them, `errors` (n,) how much they err on the target.
"""

import numpy as np

from anynet_study.apr.ranks import Floats, Multiplicities


def halves(n: int, size: int, seed: int, block: int) -> Multiplicities:
    """(size, n) of 0 and 1: which of n architectures each of a block's random halves holds."""
    order = np.random.default_rng([seed, block]).random((size, n)).argsort(axis=1)
    held: Multiplicities = (order < n // 2).astype(np.int32)
    return held


def chosen_by_rank(counts: Multiplicities, errors: Floats, k: int, keep: str) -> Floats:
    """(b,) mean error ("mean"), or least error ("best"), of the first k draws of each resample."""
    # Few rows matter: as many as the slowest resample needs to hold k draws.
    needed, width = k, 0
    while needed > 0 and width < counts.shape[1]:
        width = min(counts.shape[1], 2 * max(width, k))
        needed = k - int(counts[:, :width].sum(axis=1).min())
    counts, errors = counts[:, :width], errors[:width]
    before = np.cumsum(counts, axis=1) - counts
    taken = np.clip(k - before, 0, counts)
    if keep == "mean":
        mean: Floats = taken @ errors / k
        return mean
    least: Floats = np.where(taken > 0, errors, np.inf).min(axis=1)
    return least


def present_minimum(counts: Multiplicities, rising: Floats) -> Floats:
    """(b,) least error that each resample holds, of errors in rising order."""
    first: Floats = rising[np.argmax(counts > 0, axis=1)]
    return first


def best_of_random(counts: Multiplicities, rising: Floats, k: int) -> Floats:
    """(b,) expected least error of k draws chosen at random without replacement.

    Of N draws with L below an error, all k are above with probability C(N - L, k) / C(N, k).
    """
    total = int(counts[0].sum())
    skipped = np.arange(total)
    factors = np.maximum(total - skipped - k, 0) / (total - skipped)
    above = np.r_[1.0, np.cumprod(factors)]
    up_to = np.cumsum(counts, axis=1)
    probability = above[up_to - counts] - above[up_to]
    expected: Floats = probability @ rising
    return expected
