"""Values of varying number a row, end to end in one array."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anynet_study.store.writing import offsets_of

Whole = NDArray[np.int64]


def places_of(starts: Whole, lengths: Whole) -> Whole | slice:
    """Positions of the values of rows that begin at `starts`, row after row."""
    if not len(starts):
        return slice(0, 0)
    if (starts[1:] == starts[:-1] + lengths[:-1]).all():
        return slice(int(starts[0]), int(starts[-1] + lengths[-1]))
    offsets = offsets_of(lengths)
    places: Whole = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    return places


def interleaved(parts: Sequence[tuple[Whole, NDArray[Any]]], lengths: Whole) -> NDArray[Any]:
    """The values of all rows, of which each part has some: their numbers and their values."""
    offsets = offsets_of(lengths)
    values = np.empty(offsets[-1], parts[0][1].dtype)
    for rows, mine in parts:
        values[places_of(offsets[rows], lengths[rows])] = mine
    return values
