"""The bootstrap over architectures: one set of resamples for every pair of columns.

Resampling whole architectures keeps the pairs together, so that differences, averages and maxima
of correlations can be taken resample by resample (a paired bootstrap).
"""

from collections.abc import Callable

import numpy as np

from anynet_study.apr.intervals import Resampled
from anynet_study.apr.kernels import Kernel, Method, make_kernel
from anynet_study.apr.pairs import PairSet
from anynet_study.apr.ranks import Floats, Ints, Multiplicities
from anynet_study.apr.scratch import Scratch
from anynet_study.apr.threads import in_threads
from anynet_study.errors import UserError

#: Resamples that share one random stream: fixed, so that the draws depend on the seed alone.
BLOCK = 256

#: Most values of a jackknife. Beyond it leaves out groups of rows, not each row: the skewness that
#: BCa intervals want of it is the same, and the time does not grow with the square of the rows.
MOST_LEFT_OUT = 2_000


class Resampler:
    """Correlations of many pairs: in the sample, in resamples of it, and with each row left out.

    `values` is (n, k) with NaN for missing cells, which `pairs.rows` must leave out. Resamples
    are of all n rows; a pair then sees those of them that count for it, as if the pair's missing
    cells had been dropped from the materialised resample. Rows may have `weights` (n,), which they
    keep in resamples (`apr.weights`).
    """

    def __init__(
        self,
        values: Floats,
        pairs: PairSet,
        method: Method = "spearman",
        weights: Floats | None = None,
    ) -> None:
        self._count = len(values)
        self._pairs = len(pairs)
        self._kernels: list[tuple[Ints, Ints, Kernel]] = []
        scratch = Scratch()
        groups: dict[bytes, list[int]] = {}
        for index, pattern in enumerate(pairs.rows):
            groups.setdefault(pattern.tobytes(), []).append(index)
        for members in map(np.array, groups.values()):
            rows = np.flatnonzero(pairs.rows[members[0]])
            if len(rows):
                own = None if weights is None else weights[rows]
                kernel = make_kernel(method, values[rows], pairs.columns[members], own, scratch)
                self._kernels.append((rows, members, kernel))

    def resampled(self, resamples: int, seed: int) -> Resampled:
        """The estimates with all that their intervals need."""
        draws = self.bootstrap(resamples, seed)
        return Resampled(self.estimate(), draws, self.jackknife())

    def estimate(self) -> Floats:
        """(p,) correlations of the sample itself; NaN where a column is constant."""
        once: Multiplicities = np.ones((1, self._count), dtype=np.int32)
        return self._correlate(once).ravel()

    def bootstrap(self, resamples: int, seed: int) -> Floats:
        """(p, resamples) correlations of resamples: the same for a seed on every machine."""
        if seed < 0:
            raise UserError(f"seed: {seed} is negative; legal: 0, 1, 2, ...")
        return self._collect(resamples, lambda block, size: draw(self._count, size, seed, block))

    def jackknife(self) -> Floats:
        """(p, groups) correlations without the i-th architecture; beyond 2,000, the i-th group."""
        return self._collect(
            min(self._count, MOST_LEFT_OUT), lambda block, _: leave_one_out(self._count, block)
        )

    def _collect(self, total: int, multiplicities: Callable[[int, int], Multiplicities]) -> Floats:
        result = np.empty((self._pairs, total))

        def fill(block: int) -> None:
            start = block * BLOCK
            size = min(BLOCK, total - start)
            result[:, start : start + size] = self._correlate(multiplicities(block, size)).T

        in_threads(fill, range(-(-total // BLOCK)))
        return result

    def _correlate(self, multiplicities: Multiplicities) -> Floats:
        result = np.full((len(multiplicities), self._pairs), np.nan)
        for rows, members, kernel in self._kernels:
            whole = len(rows) == self._count
            part = multiplicities if whole else np.take(multiplicities, rows, axis=1)
            result[:, members] = kernel(part)
        return result


def draw(n: int, size: int, seed: int, block: int) -> Multiplicities:
    """Multiplicities (size, n): how often each of a block's resamples drew each of n rows."""
    generator = np.random.default_rng([seed, block])
    drawn = generator.integers(0, n, size=(size, n))
    drawn += n * np.arange(size)[:, None]
    counts: Ints = np.bincount(drawn.ravel(), minlength=size * n)
    return counts.reshape(size, n).astype(np.int32)


def leave_one_out(n: int, block: int) -> Multiplicities:
    """Multiplicities (b, n) of a block of the jackknife: all rows but one, or but one group.

    Groups are of every 2,000th row, whatever the order of the rows is about.
    """
    groups = min(n, MOST_LEFT_OUT)
    left_out = np.arange(block * BLOCK, min((block + 1) * BLOCK, groups))
    others: Multiplicities = (left_out[:, None] != np.arange(n) % max(groups, 1)).astype(np.int32)
    return others
