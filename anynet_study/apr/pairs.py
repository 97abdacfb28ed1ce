"""Pairs of columns, each with the architectures that count for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anynet_study.apr.ranks import Floats, Ints

#: Fewest architectures of which a correlation is given.
FEWEST = 4


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

    def enough(self) -> "PairSet":
        """The same pairs, with no rows at all where there are too few for a correlation."""
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
    rows = [present[:, list(each)].all(axis=1) for each in needed]
    shape = (len(columns), len(values))
    return PairSet(
        np.array(columns, dtype=np.int64).reshape(-1, 2), np.array(rows, dtype=bool).reshape(shape)
    )
