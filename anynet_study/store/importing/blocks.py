"""Tables of results in files, read a block of rows at a time, whatever their format."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

#: Rows that are in memory at a time where a file can be read in parts.
BLOCK_ROWS = 1 << 16
#: What a missing cell may say, in lower case.
MISSING = ("", "na", "n/a", "nan", "null", "none")


@dataclass(frozen=True)
class Block:
    """Consecutive rows of a table."""

    #: Number of the first row, as a message counts it: the header of a CSV file is row 1.
    first_row: int
    #: By name, all of one length; text (trimmed, null where missing) or numbers.
    columns: dict[str, pa.Array]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))


@dataclass(frozen=True)
class TableFile:
    """A table in a file: its columns are known, its rows are read when asked for, once."""

    columns: list[str]
    blocks: Iterator[Block]


class NotANumberError(ValueError):
    """A cell that should be a number is none; `place` is its row in the block."""

    def __init__(self, place: int, cell: object) -> None:
        super().__init__(f"{cell!r} is not a number")
        self.place = place


def clean(values: pa.Array) -> pa.Array:
    """A column as text or as numbers: text trimmed, and null where it says that it is missing."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if is_number_type(values.type) or pa.types.is_null(values.type):
        return values
    text = pc.utf8_trim_whitespace(pc.cast(values, pa.string()))
    gone = pc.is_in(pc.utf8_lower(text), value_set=pa.array(MISSING))
    return pc.if_else(gone, pa.scalar(None, pa.string()), text)


def is_number_type(kind: pa.DataType) -> bool:
    """Whether cells of this type are numbers without being asked to be."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(test(kind) for test in tests)


def as_numbers(values: pa.Array) -> NDArray[np.float64]:
    """The column as float64, NaN where it is null. Raises NotANumberError, also for infinities."""
    try:
        numbers = np.asarray(pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        place = next(i for i, cell in enumerate(values) if not is_number(cell))
        raise NotANumberError(place, values[place].as_py()) from None
    numbers = np.array(numbers, np.float64)
    if np.isinf(numbers).any():
        place = int(np.flatnonzero(np.isinf(numbers))[0])
        raise NotANumberError(place, values[place].as_py())
    return numbers


def is_number(cell: pa.Scalar) -> bool:
    """Whether one cell is missing or reads as a number."""
    try:
        pc.cast(cell, pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
