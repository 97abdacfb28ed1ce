"""Midranks of resamples without sorting them again.

A bootstrap resample of n architectures is a vector of n multiplicities. A column is sorted once;
in any resample the midrank of a tie group follows from the multiplicities cumulated in that order:
with L copies below the group and U copies up to its end, it is (L + U + 1) / 2. Where architectures
have weights, the same holds of multiplicities times weights.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anynet_study.apr.scratch import Scratch

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: How often each resample (row) holds each architecture (column): int32, or float64 with weights.
Multiplicities = NDArray[Any]


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
