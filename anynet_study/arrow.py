"""Numbers and texts as Arrow, straight from memory.

`pyarrow.array`, `pyarrow.scalar` and all that call them import pandas, which takes longer than to
read a store and to select rows of it.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def numbers(values: NDArray[Any]) -> pa.Array:
    """Numbers, or truth values, as an Arrow array of their type; NaN is null."""
    values = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    if values.dtype == np.bool_:
        return numbers(values.view(np.uint8)).cast(pa.bool_())
    known = None
    if values.dtype.kind == "f" and np.isnan(values).any():
        known = pa.py_buffer(np.packbits(~np.isnan(values), bitorder="little"))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [known, pa.py_buffer(values)])


def texts(values: Iterable[str | bytes]) -> pa.StringArray:
    """Texts as an Arrow array. Raises pyarrow.ArrowInvalid for bytes that are no UTF-8."""
    encoded = [text.encode() if isinstance(text, str) else text for text in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_binary(), len(encoded), buffers).cast(pa.string())
