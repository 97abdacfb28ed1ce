"""Correlations of many resamples at once: one kernel for each coefficient.

A bootstrap resample of n architectures is a vector of n multiplicities. A kernel takes
multiplicities (b, n) of b resamples and returns the correlations (b, p) of p pairs of columns, NaN
where a column is constant in the resample. All ones give the sample's own correlations, and all
ones but a single zero a jackknife value.

Midranks need no sorting of resamples: a column is sorted once, and in any resample the midrank of a
tie group follows from the multiplicities cumulated in that order. With L copies below the group and
U copies up to its end, it is (L + U + 1) / 2. Where architectures have weights, the same holds of
multiplicities times weights.
"""

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from anynet_study.analysis.apr.options import Floats, Ints, Method, Multiplicities, check_choice
from anynet_study.core.errors import DoesNotApplyError

Kernel = Callable[[Multiplicities], Floats]
#: (n,) tie group of each architecture.
Groups = NDArray[np.int32]
#: Bytes of working memory for one step of a kernel: about what a core's cache holds.
WORKING_BYTES = 3 * 2**20
#: Bytes of ranks at once. Larger: threads wait for each other less often.
RANKING_BYTES = 6 * 2**20
#: Most architectures of which Kendall's tau counts every pair in every resample.
MOST_PAIRED = 1_000


class Scratch(threading.local):
    """Arrays by name, of each thread its own, that are overwritten when asked for again."""

    def __init__(self) -> None:
        self._bytes: dict[str, NDArray[np.uint8]] = {}

    def array(self, name: str, shape: Sequence[int], dtype: DTypeLike) -> NDArray[Any]:
        """An array with unknown content, valid until the next one of that name."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if name not in self._bytes or self._bytes[name].size < size:
            self._bytes[name] = np.empty(size, dtype=np.uint8)
        return self._bytes[name][:size].view(dtype).reshape(shape)


@dataclass(frozen=True)
class SortedColumn:
    """One column's order and tie groups."""

    #: (n,) architectures by rising value.
    order: Ints
    #: (groups + 1,) positions in `order` where the tie groups begin, and n.
    bounds: Ints
    #: (n,) tie group of each architecture.
    group: Ints


def sort_column(values: Floats) -> SortedColumn:
    """Sort a column of n finite values."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]][: len(values)])
    bounds = np.r_[starts, len(values)]
    group = np.empty(len(values), dtype=np.int64)
    group[order] = np.repeat(np.arange(len(starts)), np.diff(bounds))
    return SortedColumn(order, bounds, group)


class RankedColumns:
    """k columns of n finite values, sorted once, whose midranks in any resample are then sums.

    The resamples are the last, fastest axis of every step: all that is picked, added and cumulated
    are whole rows of them.
    """

    def __init__(self, columns: Iterable[Floats]) -> None:
        ranked = [sort_column(values) for values in columns]
        k = len(ranked)
        #: (n, k) architectures by rising value of each column.
        self._order = np.stack([column.order for column in ranked], axis=1)
        #: (n, k) for each architecture, the rows of the cumulated counts (n + 1, k), flattened,
        #: below its tie group and up to its end.
        below = [column.bounds[column.group] * k + i for i, column in enumerate(ranked)]
        up_to = [column.bounds[column.group + 1] * k + i for i, column in enumerate(ranked)]
        self._below, self._up_to = np.stack(below, axis=1), np.stack(up_to, axis=1)

    def centred_midranks(self, multiplicities: Multiplicities, scratch: Scratch) -> NDArray[Any]:
        """Twice the midranks, less their mean: of integers whole, so that sums of them are exact.

        For multiplicities (b, n) returns (n, k, b): 2 * rank - (N + 1) for the N draws of each
        resample. An architecture that a resample does not hold gets a value too; its multiplicity 0
        takes it out of every weighted sum. The result lies in `scratch` until the next call.
        """
        resamples, n = multiplicities.shape
        counts = np.ascontiguousarray(multiplicities.T, dtype=_smallest_type(multiplicities))
        cumulated = self._cumulated(counts, scratch)
        rows = cumulated.reshape(-1, resamples)
        shape = (*self._order.shape, resamples)
        ranks = scratch.array("ranks", shape, counts.dtype)
        np.take(rows, self._below, axis=0, out=ranks, mode="clip")
        upper = scratch.array("upper", shape, counts.dtype)
        ranks += np.take(rows, self._up_to, axis=0, out=upper, mode="clip")
        # All, summed in this very order: with weights a constant column is then exactly 0.
        ranks -= cumulated[n]
        return ranks

    def _cumulated(self, counts: NDArray[Any], scratch: Scratch) -> NDArray[Any]:
        """(n + 1 or more, k, b) counts (n, b) cumulated in each column's order, from 0 on.

        In two levels, blocks of sqrt(n) rows and then the blocks: few and large steps.
        """
        (n, k), resamples = self._order.shape, counts.shape[1]
        size = max(1, math.isqrt(n))
        blocks = -(-n // size)
        cumulated = scratch.array("cumulated", (1 + blocks * size, k, resamples), counts.dtype)
        cumulated[0] = 0
        cumulated[n + 1 :] = 0
        np.take(counts, self._order, axis=0, out=cumulated[1 : n + 1], mode="clip")
        inside = cumulated[1:].reshape(blocks, size, k, resamples)
        for row in range(1, size):
            inside[:, row] += inside[:, row - 1]
        for block in range(1, blocks):
            inside[block] += inside[block - 1, -1]
        return cumulated


def _smallest_type(multiplicities: Multiplicities) -> type[Any]:
    """The smallest type that holds twice the draws of a resample: less to move is faster."""
    if multiplicities.dtype.kind == "f":
        return np.float64
    most = int(multiplicities.sum(axis=1).max(initial=0))
    return np.int16 if 2 * most < 2**15 else np.int32


def make_kernel(
    method: Method,
    values: Floats,
    pairs: Ints,
    weights: Floats | None = None,
    scratch: Scratch | None = None,
) -> Kernel:
    """The kernel for `pairs` (p, 2) of columns of `values` (n, k), all finite.

    `weights` (n,), above 0 and with a mean near 1, count an architecture as so many copies.
    Kernels may share their `scratch`.
    """
    check_choice("method", method, Method)
    scratch = Scratch() if scratch is None else scratch
    if weights is not None:
        return _weighted(make_kernel(method, values, pairs, None, scratch), method, weights)
    if method == "spearman":
        return spearman_kernel(values, pairs, scratch)
    if method == "pearson":
        return pearson_kernel(values, pairs)
    return kendall_kernel(values, pairs)


def _weighted(kernel: Kernel, method: Method, weights: Floats) -> Kernel:
    if method == "kendall":
        raise DoesNotApplyError(
            "method: kendall takes no weights; legal with them: spearman, pearson"
        )

    def correlate(multiplicities: Multiplicities) -> Floats:
        # Sums are no longer exact. Rounding makes equal correlations equal (of equal columns).
        return np.round(kernel(multiplicities * weights), 12)

    return correlate


def spearman_kernel(values: Floats, pairs: Ints, scratch: Scratch) -> Kernel:
    """Spearman's rho with ties by midrank: Pearson's correlation of the midranks.

    Without weights the sums are of whole numbers below 2**53 (for n up to 200,000), hence exact: a
    correlation does not depend on how the resamples are chunked.
    """
    used, position = np.unique(pairs, return_inverse=True)
    left, right = position.reshape(pairs.shape).T
    columns = RankedColumns(values[:, used].T)
    wanted = _Wanted.of(left, right, len(used))
    cells = max(1, len(used)) * max(1, len(values))
    ranked_at_once = max(1, RANKING_BYTES // (6 * cells))
    multiplied_at_once = max(1, WORKING_BYTES // (16 * cells))

    def correlate(multiplicities: Multiplicities) -> Floats:
        result = np.empty((len(multiplicities), len(pairs)))
        for start in range(0, len(result), ranked_at_once):
            counts = multiplicities[start : start + ranked_at_once]
            ranks = columns.centred_midranks(counts, scratch)
            for first in range(0, len(counts), multiplied_at_once):
                part = slice(first, first + multiplied_at_once)
                sums = _sums_of_products(ranks[:, :, part], counts[part], wanted, scratch)
                result[start : start + len(counts)][part] = _ratio(*sums)
        return result

    return correlate


@dataclass(frozen=True)
class _Wanted:
    """Places, in a matrix of products, of the sums that pairs (p, 2) of k columns need."""

    left: Ints
    right: Ints
    #: Columns that are multiplied by each other; None if all are by all.
    rows: Ints | None
    columns: Ints | None
    #: (p,) places of the pairs' products in the flattened matrix.
    places: Ints

    @classmethod
    def of(cls, left: Ints, right: Ints, k: int) -> "_Wanted":
        rows, row = np.unique(left, return_inverse=True)
        columns, column = np.unique(right, return_inverse=True)
        if 2 * len(rows) * len(columns) > k**2:
            return cls(left, right, None, None, left * k + right)
        # Few of all products are needed, such as those of many columns with one.
        return cls(left, right, rows, columns, row * len(columns) + column)


def _sums_of_products(
    ranks: NDArray[Any], counts: Multiplicities, wanted: _Wanted, scratch: Scratch
) -> tuple[Floats, Floats, Floats]:
    """(b, p) sums over architectures (n, k, b) of products of pairs, and of squares of each."""
    values = scratch.array("values", ranks.shape[::-1], np.float64)
    values[...] = ranks.transpose(2, 1, 0)
    weighted = scratch.array("weighted", values.shape, np.float64)
    np.multiply(values, counts[:, None, :], out=weighted)
    if wanted.rows is None:
        products = weighted @ values.transpose(0, 2, 1)
        squares = np.ascontiguousarray(np.diagonal(products, axis1=1, axis2=2))
    else:
        products = weighted[:, wanted.rows] @ values[:, wanted.columns].transpose(0, 2, 1)
        squares = np.einsum("bkn,bkn->bk", weighted, values)
    # Picked from rows: an index of several axes takes as long as the products.
    flat = products.reshape(len(products), -1)
    return (
        np.take(flat, wanted.places, axis=1),
        np.take(squares, wanted.left, axis=1),
        np.take(squares, wanted.right, axis=1),
    )


def pearson_kernel(values: Floats, pairs: Ints) -> Kernel:
    """Pearson's r. Columns are standardised first, against cancellation."""
    spread = values.std(axis=0)
    scaled = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    left, right = pairs.T
    products = scaled[:, left] * scaled[:, right]

    def correlate(multiplicities: Multiplicities) -> Floats:
        weights = multiplicities.astype(np.float64)
        total = weights.sum(axis=1, keepdims=True)
        weights /= np.where(total > 0, total, 1.0)
        means = weights @ scaled
        squares = weights @ scaled**2
        variances = squares - means**2
        # What is left of a constant column after cancellation is rounding, not variance.
        variances[variances <= 1e-13 * squares] = 0.0
        covariances = weights @ products - means[:, left] * means[:, right]
        return np.clip(_ratio(covariances, variances[:, left], variances[:, right]), -1.0, 1.0)

    return correlate


def kendall_kernel(values: Floats, pairs: Ints) -> Kernel:
    """Kendall's tau-b: a quadratic form of the multiplicities, over the pairs that are not tied."""
    columns = {column: sort_column(values[:, column]) for column in np.unique(pairs)}
    groups = {index: column.group.astype(np.int32) for index, column in columns.items()}
    concordance = _concordance([(groups[x], groups[y]) for x, y in pairs])

    def correlate(multiplicities: Multiplicities) -> Floats:
        untied = {index: _untied_pairs(multiplicities, c) for index, c in columns.items()}
        left, right = (np.stack([untied[c] for c in side], axis=1) for side in pairs.T)
        return _ratio(concordance(multiplicities), left, right)

    return correlate


def _concordance(groups: Sequence[tuple[Groups, Groups]]) -> Kernel:
    """Concordant less discordant ordered pairs (b, p) of the draws, from p pairs of tie groups.

    Of more than `MOST_PAIRED` architectures to first order in what a resample has more of each than
    the sample, and the mean of the second: of n**2 operations for each resample n are left, and the
    spread of the resamples is off by a share of about 1 / n.
    """
    n = len(groups[0][0])

    def order(v: Groups, rows: slice) -> NDArray[np.int8]:
        found: NDArray[np.int8]
        found = (v[rows, None] > v).view(np.int8) - (v[rows, None] < v).view(np.int8)
        return found

    def signs(x: Groups, y: Groups, rows: slice) -> NDArray[np.int8]:
        """(rows, n) 1 where two architectures are in the same order on both, -1 in reverse."""
        return order(x, rows) * order(y, rows)

    def exact(multiplicities: Multiplicities) -> Floats:
        counts = multiplicities.astype(np.float32)
        sums = [counts @ signs(x, y, slice(None)).astype(np.float32) for x, y in groups]
        return np.stack([np.einsum("bi,bi->b", it, counts, dtype=float) for it in sums], axis=1)

    if n <= MOST_PAIRED:
        return exact
    at_once = max(1, WORKING_BYTES // (8 * n))
    starts = range(0, n, at_once)
    own = np.empty((n, len(groups)))
    for number, (x, y) in enumerate(groups):
        for start in starts:
            rows = slice(start, start + at_once)
            own[rows, number] = signs(x, y, rows).sum(axis=1, dtype=np.int32)
    mean = own.sum(axis=0) / (n * (n - 1))

    def first_order(multiplicities: Multiplicities) -> Floats:
        more = multiplicities - 1.0
        both = more.sum(axis=1) ** 2 - np.einsum("bi,bi->b", more, more)
        found: Floats = own.sum(axis=0) + 2 * (more @ own) + mean * both[:, None]
        return found

    return first_order


def _untied_pairs(multiplicities: Multiplicities, column: SortedColumn) -> Floats:
    """(b,) ordered pairs of draws whose values differ."""
    by_value = np.take(multiplicities, column.order, axis=1)
    sizes: Floats = np.add.reduceat(by_value, column.bounds[:-1], axis=1).astype(np.float64)
    untied: Floats = sizes.sum(axis=1) ** 2 - (sizes**2).sum(axis=1)
    return untied


def _ratio(covariance: Floats, left: Floats, right: Floats) -> Floats:
    scale = np.sqrt(left * right)
    constant = scale <= 0
    if constant.any():
        scale[constant] = np.nan
    ratio: Floats = covariance / scale
    return ratio
