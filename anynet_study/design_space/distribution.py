"""Discrete distributions drawn by comparing integers: the same on every platform."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from anynet_study.design_space.networks import FloatArray, IntArray

WORD_BITS = 32
GUIDE_BITS = 12
#: 64-bit words that Philox makes of each value of its counter.
WORDS_PER_COUNTER = 4
#: Distributions of parameters that have a lowest and a highest value.
KINDS = ("log_uniform", "uniform")
#: How a log-uniform variable becomes a multiple of its step: see `log_uniform`.
QUANTIZATIONS = ("ceil", "nearest")
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
    #: The value that a word draws, by its leading bits, shape (2^GUIDE_BITS,); NaN where these do
    #: not settle it.
    guide: FloatArray

    def draw(self, words: npt.NDArray[np.int64]) -> FloatArray:
        """Return the value that each word (0 to 2^32 - 1) draws, in the shape of `words`."""
        # One look-up settles nearly all words; bisection the few whose cell holds a boundary.
        # Five times faster than bisection alone. float64, for the arithmetic that follows.
        drawn = self.guide.take(words >> (WORD_BITS - GUIDE_BITS), mode="clip")
        flat = drawn.reshape(-1)
        unsettled = np.flatnonzero(flat != flat)  # NaN
        missed = words.reshape(-1).take(unsettled).astype(np.uint32)
        flat[unsettled] = self.values.take(self.last_words.searchsorted(missed))
        return drawn

    def probability(self, value: int) -> Fraction:
        """Return the exact probability of a value; 0 of one that is never drawn."""
        ends = [0, *(int(last) + 1 for last in self.last_words)]
        masses = dict(zip(self.values.tolist(), pairwise(ends), strict=True))
        first, end = masses.get(value, (0, 0))
        return Fraction(end - first, 1 << WORD_BITS)


def words_of(seed: int, first: int, count: int, columns: int) -> npt.NDArray[np.int64]:
    """Return the 32-bit words of candidates `first` to `first + count` - 1, shape (columns, count).

    Candidate i takes words `columns` i and following of the one stream of the seed; `columns` is
    even. Philox goes to any place of its stream at once (Salmon et al. 2011).
    """
    begin = first * columns // 2
    stream = np.random.Philox(key=seed)
    stream.advance(begin // WORDS_PER_COUNTER)
    skipped = begin % WORDS_PER_COUNTER
    raw = stream.random_raw(skipped + count * columns // 2)[skipped:]
    # The low half of each 64-bit word comes first, whatever the machine's byte order.
    halves = np.ascontiguousarray(raw, dtype="<u8").view("<u4").reshape(count, columns)
    return halves.T.astype(np.int64, order="C")


def ranged(kind: str, low: int, high: int, step: int, quantization: str = "ceil") -> Distribution:
    """Return the distribution of the named kind over the multiples of `step` from low to high."""
    if kind == "log_uniform":
        return log_uniform(low, high, step, quantization)
    return uniform(range(low, high + 1, step))


def log_uniform(low: int, high: int, step: int, quantization: str = "ceil") -> Distribution:
    """Return a log-uniform variable that is made a multiple of `step` from low to high.

    `ceil`, as in pycls: a variable on (start, high], start = low - min(step, low / 2), goes up to
    the next multiple: P(low) ~ log(low / start), then P(x) ~ log(x / (x - step)).
    `nearest`: a variable on [low - step/2, high + step/2] goes to the nearest multiple:
    P(x) ~ log((x + step/2) / (x - step/2)). `low` and `high` must be multiples of `step`.
    """
    values = range(low, high + 1, step)
    with localcontext() as context:
        # Decimal's logarithm is correctly rounded, unlike that of a platform's libm.
        context.prec = 40
        half = Decimal(step) / 2
        if quantization == "ceil":
            start, ends = low - min(Decimal(step), Decimal(low) / 2), [*map(Decimal, values)]
        else:
            start, ends = low - half, [x + half for x in values]
        whole = (ends[-1] / start).ln()
        shares = [(end / start).ln() / whole for end in ends[:-1]]
        # Rounded down; what the last digits have put just below a whole number is one.
        bounds = [int(share * 2**WORD_BITS + Decimal("1e-20")) for share in shares]
    return _from_bounds(values, bounds)


def uniform(values: Sequence[int]) -> Distribution:
    """Return the distribution that gives each of the values the same probability."""
    ordered = sorted(values)
    bounds = [(k << WORD_BITS) // len(ordered) for k in range(1, len(ordered))]
    return _from_bounds(ordered, bounds)


def _from_bounds(values: Sequence[int], bounds: list[int]) -> Distribution:
    """Build from the first word that does not draw each value (but the last, which has none)."""
    ends = [*bounds, 1 << WORD_BITS]
    last_words = np.array([end - 1 for end in ends], dtype=np.uint32)
    drawn = np.array(values, dtype=np.int64)
    cells = np.arange((1 << GUIDE_BITS) + 1, dtype=np.int64) << (WORD_BITS - GUIDE_BITS)
    first = last_words.searchsorted(cells[:-1])
    last = last_words.searchsorted(cells[1:] - 1)
    return Distribution(drawn, last_words, np.where(first == last, drawn[first], np.nan))
