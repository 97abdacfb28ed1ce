"""Arrow columns straight from memory: `pyarrow.array` would import pandas, 0.3 s, to build them."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def integers(values: npt.ArrayLike, kind: pa.DataType) -> pa.Array:
    """Return a column of whole numbers, of Arrow's integer type `kind`."""
    numbers = np.ascontiguousarray(values, dtype=kind.to_pandas_dtype())
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)])


def strings(values: Sequence[str]) -> pa.Array:
    """Return a column of text."""
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)
