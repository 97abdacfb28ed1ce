"""Arrow columns straight from memory: `pyarrow.array` would import pandas, 0.3 s, to build them."""

from collections.abc import Sequence

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
