"""The bootstrap over architectures: resamples, jackknife, and BCa intervals of any statistic.

Resampling whole architectures keeps the pairs of columns together, so that differences, averages
and maxima of correlations can be taken resample by resample (a paired bootstrap).

The intervals are BCa intervals (bias-corrected and accelerated percentiles: Efron, "Better
bootstrap confidence intervals", 1987). Resamples repeat architectures, whose ties pull strong
correlations towards zero: percentiles are then too wide, which the bias correction mends. In the
difference of two correlations that pull cancels out, and of few architectures the correction itself
errs: there an interval is symmetric (`student`). How often intervals hold the truth is in
docs/meaning.md, from `benchmarks/coverage.py`.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from threading import Lock
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtrit
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from anynet_study.analysis.apr.error_tables import FEWEST
from anynet_study.analysis.apr.interval_formulas import difference_interval, small_sample_interval
from anynet_study.analysis.apr.kernels import Kernel, Scratch, make_kernel
from anynet_study.analysis.apr.options import Floats, Ints, Method, Multiplicities
from anynet_study.core.metrics import widened

Item = TypeVar("Item")
#: Values in which a thread looks for percentiles before it takes further ones.
PARTITIONED = 1_000_000
#: Resamples that share one random stream: fixed, so that the draws depend on the seed alone.
BLOCK = 256
#: Rows drawn at a time: of a million architectures, four resamples.
DRAWN = 2**22
#: Fewer architectures give too few different resamples for an interval of a correlation.
FEWEST_TO_RESAMPLE = 10
#: Fewer architectures say too little of the bias of a difference of correlations.
FEWEST_TO_CORRECT = 40
#: Most values of a jackknife. Beyond it leaves out groups of rows, not each row: the skewness that
#: BCa intervals want of it is the same, and the time does not grow with the square of the rows.
MOST_LEFT_OUT = 2_000


@dataclass(frozen=True)
class PairSet:
    """Pairs of columns of a table (n, k) with the rows that count for each."""

    #: (p, 2) column indices.
    columns: Ints
    #: (p, n) whether a row counts for the pair; False wherever one of its cells is missing.
    rows: NDArray[np.bool_]

    @property
    def counts(self) -> Ints:
        """(p,) rows that count."""
        counts: Ints = self.rows.sum(axis=1)
        return counts

    def effective(self, weights: Floats) -> Floats:
        """(p,) Kish's effective number of rows with weights (n,): 0 where there are none."""
        total, squares = self.rows @ weights, self.rows @ weights**2
        size: Floats = np.divide(total**2, squares, out=np.zeros(len(self)), where=squares > 0)
        return size

    def enough(self) -> "PairSet":
        """Return these pairs, without rows where there are too few for a correlation."""
        return PairSet(self.columns, self.rows & (self.counts >= FEWEST)[:, None])

    def slabs(self, pairs: int) -> Iterator["PairSet"]:
        """The pairs in order, at most so many at a time."""
        for start in range(0, len(self), pairs):
            part = slice(start, start + pairs)
            yield PairSet(self.columns[part], self.rows[part])

    def __len__(self) -> int:
        return len(self.columns)


def pairwise(values: Floats, columns: Sequence[tuple[int, int]]) -> PairSet:
    """Pairs that use the rows where both of their columns have a value."""
    return complete_in(values, columns, columns)


def complete_in(
    values: Floats, columns: Sequence[tuple[int, int]], needed: Sequence[Sequence[int]]
) -> PairSet:
    """Pairs that use the rows where all columns `needed` (a list for each pair) have a value."""
    present = ~np.isnan(values)
    rows = [present[:, list(together)].all(axis=1) for together in needed]
    shape = (len(columns), len(values))
    return PairSet(
        np.array(columns, dtype=np.int64).reshape(-1, 2), np.array(rows, dtype=bool).reshape(shape)
    )


@dataclass(frozen=True)
class Resampled:
    """Statistics of a sample with their bootstrap and jackknife values; NaN where undefined."""

    #: (p,)
    estimate: Floats
    #: (p, resamples)
    draws: Floats
    #: (p, n), or fewer where groups of rows were left out
    jackknife: Floats
    #: Whether each is a correlation, and not what is computed from several.
    correlation: bool = False
    #: What each is of correlations: their mean; or a difference of two, or of two means.
    of_correlations: Literal["", "mean", "difference"] = ""
    #: Of correlations: (p,) where resamples are no guide to an interval, and its ends at a level.
    few: NDArray[np.bool_] | None = None
    formula: Callable[[float], tuple[Floats, Floats]] | None = None

    def __getitem__(self, which: slice | Ints) -> "Resampled":
        estimate, draws, jackknife = (values[which] for values in self._parts())
        part = Resampled(estimate, draws, jackknife, self.correlation, self.of_correlations)
        if self.few is None:
            return part
        return replace(part, few=self.few[which], formula=partial(_part_of, self, which))

    def __sub__(self, other: "Resampled") -> "Resampled":
        """Differences, resample by resample."""
        difference = self.combined(np.subtract, other)
        means = self.of_correlations == other.of_correlations == "mean"
        if means or (self.correlation and other.correlation):
            difference = replace(difference, of_correlations="difference")
        if self.few is None or other.few is None:
            return difference
        return replace(
            difference, few=self.few | other.few, formula=partial(_ends_of_difference, self, other)
        )

    def combined(self, function: Callable[..., Floats], *others: "Resampled") -> "Resampled":
        """A function, value by value, of this and other statistics of the same resamples."""
        parts = zip(self._parts(), *(other._parts() for other in others), strict=True)
        estimate, draws, jackknife = (function(*values) for values in parts)
        return Resampled(estimate, draws, jackknife)

    def average(self) -> "Resampled":
        """The mean of the p statistics, resample by resample, as one statistic."""
        estimate, draws, jackknife = (part.mean(axis=0, keepdims=True) for part in self._parts())
        told = "mean" if self.correlation else self.of_correlations
        mean = Resampled(estimate, draws, jackknife, of_correlations=told)
        if self.few is None:
            return mean
        return replace(
            mean, few=np.array([self.few.any()]), formula=partial(_ends_of_average, self)
        )

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """(p,) lower and upper ends: `bca`; by formula where few architectures say too little.

        Differences of correlations of fewer than `FEWEST_TO_CORRECT` have `student`. Too few are
        fewer than `FEWEST_TO_RESAMPLE`, and perfect correlations: there a correlation has
        the interval of `small_sample_interval`, a difference that of `difference_interval`, and an
        average the mean of the ends, which is what it needs at most.
        """
        few = self.jackknife.shape[1] < FEWEST_TO_CORRECT
        interval = student if few and self.of_correlations == "difference" else bca
        low, high = interval(*self._parts(), level)
        if self.few is None or self.formula is None or not self.few.any():
            return low, high
        by_formula, known = self.formula(level), self.few & np.isfinite(low)
        return np.where(known, by_formula[0], low), np.where(known, by_formula[1], high)

    def columns(self, level: float, name: str = "estimate") -> dict[str, Floats]:
        """The statistics and their intervals as columns of a table, named estimate, low and high.

        Under another `name`: name, name_low and name_high.
        """
        low, high = self.interval(level)
        prefix = "" if name == "estimate" else f"{name}_"
        return {name: self.estimate, f"{prefix}low": low, f"{prefix}high": high}

    def _parts(self) -> tuple[Floats, Floats, Floats]:
        return self.estimate, self.draws, self.jackknife


def stacked(parts: Sequence[Resampled]) -> Resampled:
    """Several statistics of the same resamples as one."""
    return parts[0].combined(lambda *values: np.concatenate(values), *parts[1:])


def _part_of(whole: Resampled, which: slice | Ints, level: float) -> tuple[Floats, Floats]:
    low, high = whole.interval(level)
    return low[which], high[which]


def _ends_of_difference(a: Resampled, b: Resampled, level: float) -> tuple[Floats, Floats]:
    return difference_interval(a.estimate, a.interval(level), b.estimate, b.interval(level))


def _ends_of_average(parts: Resampled, level: float) -> tuple[Floats, Floats]:
    low, high = parts.interval(level)
    return low.mean(keepdims=True), high.mean(keepdims=True)


def bca(estimate: Floats, draws: Floats, jackknife: Floats, level: float) -> tuple[Floats, Floats]:
    """BCa intervals (p,), (p,) of p statistics from draws (p, resamples) and jackknife (p, n).

    Undefined resamples (a column is constant in them) are left out; where they are more than
    half, and where the estimate is undefined, both ends are NaN. So they are where the jackknife
    is undefined: a column that one architecture alone keeps from being constant varies in no
    resample but by it, and the interval would have hardly any width. An interval always holds its
    estimate.
    """
    usable, defined = _usable(estimate, draws, jackknife)
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


def student(
    estimate: Floats, draws: Floats, jackknife: Floats, level: float
) -> tuple[Floats, Floats]:
    """Intervals (p,), (p,) about p estimates: standard errors of the bootstrap by Student's t.

    That of n resampled rows is by (n - 1) / n too small in its square. Undefined where `bca` is.
    """
    (usable, _), n = _usable(estimate, draws, jackknife), jackknife.shape[1]
    reach = np.full(len(estimate), np.nan)
    error = np.nanstd(draws[usable], axis=1) * np.sqrt(n / (n - 1))
    reach[usable] = stdtrit(n - 1, (1 + level) / 2) * error
    return estimate - reach, estimate + reach


def _usable(estimate: Floats, draws: Floats, jackknife: Floats) -> tuple[NDArray[np.bool_], Ints]:
    """(p,) which statistics have an interval, as most resamples and the whole jackknife are
    defined; and (p,) how many resamples are.
    """
    defined: Ints = np.isfinite(draws).sum(axis=1)
    usable: NDArray[np.bool_] = np.isfinite(estimate) & (defined > draws.shape[1] / 2)
    return usable & np.isfinite(jackknife).all(axis=1), defined


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


def draw(n: int, size: int, seed: int, block: int) -> Multiplicities:
    """Multiplicities (size, n): how often each of a block's resamples drew each of n rows."""
    return np.concatenate([*_drawn(n, size, seed, block)])


def _drawn(n: int, size: int, seed: int, block: int) -> Iterator[Multiplicities]:
    """The resamples of a block, so many at a time that memory is bounded whatever n is."""
    generator = np.random.default_rng([seed, block])
    at_once = max(1, DRAWN // max(n, 1))
    for start in range(0, size, at_once):
        part = min(at_once, size - start)
        drawn = generator.integers(0, n, size=(part, n))
        drawn += n * np.arange(part)[:, None]
        counts: Ints = np.bincount(drawn.ravel(), minlength=part * n)
        yield counts.reshape(part, n).astype(np.int32)


def draws(
    n: int, resamples: int, seed: int, size: int = BLOCK, stream: int = 0
) -> Iterator[Multiplicities]:
    """The resamples of n rows in blocks (size, n), the last one shorter.

    The same for a seed (and `size`) on every machine; those of other streams are independent.
    """
    for block in range(-(-resamples // size)):
        left = resamples - block * size
        yield draw(n, min(size, left), seed, (stream << 32) + block)


def leave_one_out(n: int, block: int) -> Iterator[Multiplicities]:
    """Multiplicities (b, n) of a block of the jackknife: all rows but one, or but one group.

    Groups are of every 2,000th row, whatever the order of the rows is about.
    """
    groups = min(n, MOST_LEFT_OUT)
    group, at_once = np.arange(n) % max(groups, 1), max(1, DRAWN // max(n, 1))
    last = min((block + 1) * BLOCK, groups)
    for start in range(block * BLOCK, last, at_once):
        left_out = np.arange(start, min(start + at_once, last))
        yield (left_out[:, None] != group).astype(np.int32)


def resample(
    function: Callable[[Multiplicities], Floats],
    n: int,
    resamples: int,
    seed: int,
    on_share: Callable[[float], None] = lambda share: None,
) -> Resampled:
    """Statistics of n architectures, with all that their intervals need.

    `function` maps multiplicities (b, n) to values (b, p), or (b,) of one statistic. All that is
    resampled with the same n and seed can be combined, resample by resample. `on_share` is called
    with the share of the work that is done.
    """
    left_outs, done, one_by_one = min(n, MOST_LEFT_OUT), 0, Lock()

    def tell(count: int) -> None:
        nonlocal done
        with one_by_one:
            done += count
            on_share(done / (resamples + left_outs))

    def collect(total: int, parts: Callable[[int], Iterator[Multiplicities]]) -> Floats:
        result = np.empty((len(estimate), total))

        def fill(block: int) -> None:
            start = block * BLOCK
            for counts in parts(block):
                result[:, start : start + len(counts)] = function(counts).T
                start += len(counts)
                tell(len(counts))

        in_threads(fill, range(-(-total // BLOCK)))
        return result

    once: Multiplicities = np.ones((1, n), dtype=np.int32)
    estimate = function(once).ravel()
    drawn = collect(
        resamples, lambda block: _drawn(n, min(BLOCK, resamples - block * BLOCK), seed, block)
    )
    left_out = collect(left_outs, lambda block: leave_one_out(n, block))
    return Resampled(estimate, drawn, left_out)


def resample_correlations(
    values: Floats,
    pairs: PairSet,
    method: Method,
    resamples: int,
    seed: int,
    weights: Floats | None = None,
    on_share: Callable[[float], None] = lambda share: None,
) -> Resampled:
    """Correlations (p,) of pairs of columns; NaN where a column is constant.

    `values` is (n, k) with NaN for missing cells, which `pairs.rows` must leave out. Resamples
    are of all n rows; a pair then sees those of them that count for it, as if the pair's missing
    cells had been dropped from the materialised resample. Rows may have `weights` (n,), which they
    keep in resamples (`apr.population`). `on_share`: as of `resample`.
    """
    correlate = correlator(values, pairs, method, weights)
    found = resample(correlate, len(values), resamples, seed, on_share)
    sizes = pairs.counts.astype(float) if weights is None else pairs.effective(weights)
    few = (sizes < FEWEST_TO_RESAMPLE) | (np.abs(found.estimate) > 1 - 1e-12)

    def formula(level: float) -> tuple[Floats, Floats]:
        return small_sample_interval(found.estimate, sizes, level, method)

    return replace(found, correlation=True, few=few, formula=formula)


def estimates(
    values: Floats, pairs: PairSet, method: Method, weights: Floats | None = None
) -> Floats:
    """(p,) correlations of pairs of columns, as in `resample_correlations`, without resamples."""
    once: Multiplicities = np.ones((1, len(values)), dtype=np.int32)
    found: Floats = correlator(values, pairs, method, weights)(once)[0]
    return found


def correlator(
    values: Floats, pairs: PairSet, method: Method, weights: Floats | None
) -> Callable[[Multiplicities], Floats]:
    """A function from multiplicities (b, n) of rows to correlations (b, p) of pairs."""
    kernels: list[tuple[Ints, Ints, Kernel]] = []
    scratch = Scratch()
    groups: dict[bytes, list[int]] = {}
    for index, pattern in enumerate(pairs.rows):
        groups.setdefault(pattern.tobytes(), []).append(index)
    for members in map(np.array, groups.values()):
        rows = np.flatnonzero(pairs.rows[members[0]])
        if len(rows):
            own = None if weights is None else weights[rows]
            kernel = make_kernel(method, values[rows], pairs.columns[members], own, scratch)
            kernels.append((rows, members, kernel))

    def correlate(multiplicities: Multiplicities) -> Floats:
        result = np.full((len(multiplicities), len(pairs)), np.nan)
        for rows, members, kernel in kernels:
            whole = len(rows) == len(values)
            part = multiplicities if whole else np.take(multiplicities, rows, axis=1)
            result[:, members] = kernel(part)
        return result

    return correlate


def resampled_mean(values: Floats, resamples: int, seed: int) -> Resampled:
    """The mean of n values; NaN throughout where there are fewer than two."""
    if len(values) < 2:
        nothing = np.full((1, 1), np.nan)
        return Resampled(nothing[0], nothing, nothing)

    return resample(
        lambda counts: counts @ values / counts.sum(axis=1), len(values), resamples, seed
    )


def percentiles(
    draws: Floats, estimate: ArrayLike, level: float, size: float = np.inf
) -> tuple[Floats, Floats]:
    """Ends of percentile intervals over the first axis of `draws`; they hold the estimate.

    `widened` for a sample of an (effective) `size`.
    """
    tail = (1 - (widened(level, size) if np.isfinite(size) else level)) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
    return np.minimum(low, estimate), np.maximum(high, estimate)


def in_threads(function: Callable[[Item], None], items: Iterable[Item]) -> None:
    """Call a function for each item, as many at a time as there are cores; raise what it raises.

    numpy's loops and BLAS leave the interpreter free.
    """
    todo = list(items)
    # BLAS threads under our own would fight for the same cores: up to 8 times slower.
    with _libraries().limit(limits=1, user_api="blas"):
        cores = len(os.sched_getaffinity(0))
        if min(len(todo), cores) < 2:  # threads take longer to start than much of the work here
            for item in todo:
                function(item)
            return
        with ThreadPoolExecutor(cores) as pool:
            list(pool.map(function, todo))


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()
