"""Arrow columns straight from memory: `pyarrow.array` would import pandas, 0.3 s, to build them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def integers(values: npt.ArrayLike, kind: pa.DataType, zero_is_null: bool = False) -> pa.Array:
    """Return a column of whole numbers, of Arrow's integer type `kind`."""
    counts = np.ascontiguousarray(values, dtype=kind.to_pandas_dtype())
    valid = None
    if zero_is_null and not counts.all():
        valid = pa.py_buffer(np.packbits(counts != 0, bitorder="little"))
    return pa.Array.from_buffers(kind, len(counts), [valid, pa.py_buffer(counts)])


def numbers(values: npt.ArrayLike) -> pa.Array:
    """Return a column of float64."""
    floats = np.ascontiguousarray(values, dtype=np.float64)
    return pa.Array.from_buffers(pa.float64(), len(floats), [None, pa.py_buffer(floats)])


def strings(values: Sequence[str]) -> pa.Array:
    """Return a column of text."""
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def values_of(column: pa.ChunkedArray, missing: float = 0) -> npt.NDArray[Any]:
    """Return the numbers of a column, `missing` in place of nulls (`to_numpy` imports pandas)."""
    array = column.combine_chunks()
    validity, data = array.buffers()
    rows = slice(array.offset, array.offset + len(array))
    kind = array.type.to_pandas_dtype()
    if data is None:  # of a column without rows
        return np.zeros(0, dtype=kind)
    values = np.frombuffer(data, dtype=kind)[rows]
    if not array.null_count:
        return values
    valid = np.unpackbits(np.frombuffer(validity, dtype=np.uint8), bitorder="little")[rows]
    return np.where(valid, values, missing if missing else np.zeros(1, dtype=kind))
