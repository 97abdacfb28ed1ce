"""Numbers and texts to Arrow and back, straight from memory.

`pyarrow.array`, `pyarrow.scalar`, `to_numpy` and all that call them import pandas, which takes
longer than to read a store and to select rows of it.
"""

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
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


def whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays([pa.nulls(0, column.type), *chunks])


def with_nan(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A column of numbers with NaN in place of null.

    Raises pyarrow.ArrowInvalid for whole numbers or truth values.
    """
    nan = pa.py_buffer(np.array([np.nan]))
    missing = pa.Array.from_buffers(pa.float64(), 1, [None, nan]).cast(column.type)
    return column.fill_null(missing[0])


def to_numpy(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """The numbers, or truth values, of a column, to be read only; a null is NaN.

    Raises pyarrow.ArrowInvalid for a null among whole numbers or truth values.
    """
    values = whole(column)
    if values.null_count:
        values = with_nan(values)
    if pa.types.is_boolean(values.type):
        return to_numpy(values.cast(pa.uint8())).view(np.bool_)
    return np.asarray(np.from_dlpack(values))


def among(
    column: pa.Array | pa.ChunkedArray, wanted: Collection[str] | pa.Array | pa.ChunkedArray
) -> NDArray[np.bool_]:
    """Tell whether each text of a column is one of some."""
    given = isinstance(wanted, pa.Array | pa.ChunkedArray)
    values = whole(wanted) if given else texts(wanted)
    return to_numpy(pc.is_in(column.cast(pa.string()), value_set=values))
