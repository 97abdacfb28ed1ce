"""Columns of the results file for Arrow: a missing number is null, coded text a dictionary."""

from collections.abc import Sequence
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.store.attributes import get_texts
from anynet_study.store.columns import read_coded, read_column, read_span
from anynet_study.store.layout import CODED

#: So few labels are read one by one.
FEW = 16

Rows = NDArray[np.int64]


def run_column(file: h5py.File, name: str, rows: Rows | None = None) -> pa.Array:
    """One value a run, of /runs or its "spec"; `rows`: of these runs, ascending."""
    if name == "spec":
        return _specs(file, rows)
    if name == "engine":
        codes, texts = read_coded(file, name)
        codes = codes if rows is None else codes[rows]
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(texts))
    values = _some(file, f"runs/{name}", rows)
    if name in CODED:
        return _coded(file, f"labels/{name}", values)
    if name == "run_id":
        return pa.array(values.astype(str).astype(object), pa.string())
    return pa.array(values.astype(bool) if name == "planned" else values, from_pandas=True)


def table_columns(group: h5py.Group) -> list[str]:
    """The columns of a table, in order."""
    return get_texts(group, "columns")


def read_table(group: h5py.Group, columns: Sequence[str] | None = None) -> pa.Table:
    """A table, or these columns of it. Whole numbers of which some are missing are int64."""
    names = table_columns(group) if columns is None else columns
    return pa.table({name: _table_column(read_column(group, name)) for name in names})


def _table_column(values: NDArray[Any]) -> pa.Array:
    if values.dtype.kind == "O":
        return pa.array(values, pa.string())
    missing = np.isnan(values)
    if not missing.any():
        return pa.array(values)
    known = np.where(missing, 0, values)
    kind = pa.int64() if (known % 1 == 0).all() else None  # `columns.write_table` made it float
    return pa.array(known if kind is None else known.astype(np.int64), kind, mask=missing)


def _coded(file: h5py.File, labels: str, codes: NDArray[Any]) -> pa.DictionaryArray:
    """The texts that integers stand for. Of a few runs' only those that occur are read."""
    if len(codes) > FEW:
        texts = file[labels].asstr()[()]
    else:
        used = sorted(set(codes.tolist()))
        codes = np.searchsorted(used, codes)
        texts = [read_span(file, labels, code, code + 1)[0].decode() for code in used]
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(texts, pa.string()))


def _some(file: h5py.File, path: str, rows: Rows | None) -> NDArray[Any]:
    """The values of these rows: what lies between the first and the last of them is read."""
    if rows is None:
        return np.asarray(file[path][()])
    first, stop = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
    values = read_span(file, path, first, stop)
    return values if len(rows) == stop - first else values[rows - first]


def _specs(file: h5py.File, rows: Rows | None) -> pa.Array:
    """Texts end to end and their offsets are Arrow's own layout."""
    offsets = file["specs/offsets"][()]
    span = slice(0, len(offsets) - 1)
    if rows is not None:
        span = slice(int(rows[0]), int(rows[-1]) + 1) if len(rows) else slice(0, 0)
    offsets = offsets[span.start : span.stop + 1]
    text = file["specs/text"][offsets[0] : offsets[-1]]
    buffers = [None, pa.py_buffer(offsets - offsets[0]), pa.py_buffer(text)]
    texts = pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
    texts.validate(full=True)
    return texts if rows is None else texts.take(pa.array(rows - span.start))
