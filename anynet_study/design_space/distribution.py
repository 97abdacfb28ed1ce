"""Discrete distributions drawn by comparing integers: the same on every platform."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np
import numpy.typing as npt

from anynet_study.design_space.networks import IntArray

WORD_BITS = 32
Words = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Distribution:
    """Values with probabilities that are whole multiples of 2^-32.

    A uniform 32-bit word x draws the first value whose `last_words` entry is not below x: no
    floating-point number takes part, so no platform can round differently.
    """

    #: The values in increasing order, shape (m,).
    values: IntArray
    #: The largest word that draws each value, shape (m,), increasing; the last is 2^32 - 1.
    last_words: Words
    #: Where to look first, by a word's leading bits: the value that the smallest such word draws.
    guide: IntArray
    #: How far to shift a word right to get its leading bits.
    guide_shift: int

    @property
    def probabilities(self) -> npt.NDArray[np.float64]:
        """The probability of each value, shape (m,); sums to one."""
        ends = self.last_words.astype(np.float64) + 1
        return np.diff(ends / 2.0**WORD_BITS, prepend=0.0)

    def draw(self, words: Words) -> IntArray:
        """Return the value that each word draws, in the shape of `words`."""
        # The guide's cells are no wider than the narrowest value's words, so that a cell holds
        # at most one boundary and one comparison settles it: 10 times faster than bisection.
        index = self.guide[words >> self.guide_shift]
        index += words > self.last_words[index]
        drawn: IntArray = self.values[index]
        return drawn


def random_words(stream: np.random.Philox, rows: int, columns: int) -> Words:
    """Return the next words of the stream, row by row; rows x columns must be even."""
    raw = stream.random_raw(rows * columns // 2)
    # The low half of each 64-bit word comes first, whatever the machine's byte order.
    halves = np.ascontiguousarray(raw, dtype="<u8").view("<u4").astype(np.uint32, copy=False)
    return halves.reshape(rows, columns)


def log_uniform(low: int, high: int, step: int) -> Distribution:
    """Return the multiples of `step` from low to high, P(x) ~ log((x + step/2) / (x - step/2)).

    This is a log-uniform variable on [low - step/2, high + step/2] rounded to a multiple of
    `step`. `low` and `high` must be multiples of `step`.
    """
    values = range(low, high + 1, step)
    with localcontext() as context:
        # Decimal's logarithm is correctly rounded, unlike that of a platform's libm.
        context.prec = 40
        half = Decimal(step) / 2
        start = (Decimal(low) - half).ln()
        width = (Decimal(high) + half).ln() - start
        ends = [((x + half).ln() - start) / width for x in map(Decimal, values[:-1])]
        bounds = [int(end * 2**WORD_BITS) for end in ends]
    return _from_bounds(values, bounds)


def uniform(values: Sequence[int]) -> Distribution:
    """Return the distribution that gives each of the values the same probability."""
    ordered = sorted(values)
    bounds = [(k << WORD_BITS) // len(ordered) for k in range(1, len(ordered))]
    return _from_bounds(ordered, bounds)


def _from_bounds(values: Sequence[int], bounds: list[int]) -> Distribution:
    """Build from the first word that does not draw each value (but the last, which has none)."""
    ends = [*bounds, 1 << WORD_BITS]
    narrowest = min(end - start for start, end in zip([0, *bounds], ends, strict=True))
    shift = min(narrowest.bit_length() - 1, WORD_BITS - 1)
    last_words = np.array([end - 1 for end in ends], dtype=np.uint32)
    cell_starts = np.arange(1 << (WORD_BITS - shift), dtype=np.uint32) << shift
    guide = np.searchsorted(last_words, cell_starts).astype(np.int64)
    return Distribution(np.array(values, dtype=np.int64), last_words, guide, shift)
