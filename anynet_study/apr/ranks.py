"""Midranks of resamples without sorting them again.

A bootstrap resample of n architectures is a vector of n multiplicities. A column is sorted once;
in any resample the midrank of a tie group follows from the multiplicities cumulated in that order:
with L copies below the group and U copies up to its end, it is (L + U + 1) / 2. Where architectures
have weights, the same holds of multiplicities times weights.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

    @property
    def tied(self) -> bool:
        """Whether any two values are equal."""
        return len(self.bounds) <= len(self.order)


def sort_column(values: Floats) -> SortedColumn:
    """Sort a column of n finite values."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]][: len(values)])
    bounds = np.r_[starts, len(values)]
    group = np.empty(len(values), dtype=np.int64)
    group[order] = np.repeat(np.arange(len(starts)), np.diff(bounds))
    return SortedColumn(order, bounds, group)


def centred_midranks(columns: list[SortedColumn], multiplicities: Multiplicities) -> Floats:
    """Twice the midranks, less their mean: of integers whole, so that sums of them are exact.

    For k columns and multiplicities (b, n) returns (b, k, n): 2 * rank - (N + 1) for the N draws
    of each resample. An architecture that a resample does not hold gets a value too; its
    multiplicity 0 takes it out of every weighted sum.
    """
    resamples, n = multiplicities.shape
    cumulated = np.zeros((resamples, n + 1), dtype=multiplicities.dtype)
    ranks = np.empty((resamples, len(columns), n))
    for index, column in enumerate(columns):
        by_value = _pick(multiplicities, column.order)
        np.cumsum(by_value, axis=1, out=cumulated[:, 1:])
        edges = _pick(cumulated, column.bounds) if column.tied else cumulated
        # All, summed in this very order: with weights a constant column is then exactly 0.
        ranks[:, index] = _pick(edges[:, :-1] + edges[:, 1:] - cumulated[:, -1:], column.group)
    return ranks


def _pick(rows: Multiplicities, columns: Ints) -> Multiplicities:
    """Columns of a matrix; "clip" saves the check of indices that are known to be good."""
    return np.take(rows, columns, axis=1, mode="clip")
