"""Arrow columns of one row, from their buffers.

pyarrow's own conversion imports pandas to see whether it has been given some of it: in a worker
that has just trained its first run, as long a wait as several steps of training.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, DTypeLike, NDArray

_NUMBERS: dict[pa.DataType, DTypeLike] = {pa.int32(): np.int32, pa.float64(): np.float64}


def column_of_one(value: str | float, kind: pa.DataType) -> pa.Array:
    """A column of one row, which is a text, an int32 or a float64, as `kind` says."""
    if isinstance(value, str):
        text = value.encode()
        content = [None, _buffer([0, len(text)], np.int32), pa.py_buffer(text)]
        return pa.Array.from_buffers(kind, 1, content)
    return pa.Array.from_buffers(kind, 1, [None, _buffer([value], _NUMBERS[kind])])


def list_of_one(values: NDArray[np.float32] | NDArray[np.uint16]) -> pa.ListArray:
    """A column of one row, which is a list."""
    kind = pa.from_numpy_dtype(values.dtype)
    content = pa.Array.from_buffers(kind, len(values), [None, _buffer(values, values.dtype)])
    offsets = pa.Array.from_buffers(pa.int32(), 2, [None, _buffer([0, len(values)], np.int32)])
    return pa.ListArray.from_arrays(offsets, content)


def _buffer(values: ArrayLike, dtype: DTypeLike) -> pa.Buffer:
    return pa.py_buffer(np.ascontiguousarray(values, dtype))
