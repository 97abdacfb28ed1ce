"""Columns and tables in HDF5: how text, numbers and ragged arrays are written and read."""

from typing import Any

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.store.attributes import fixed_texts, set_text
from anynet_study.store.layout import FIRST_WITH_ENGINE, FIRST_WITH_TEST_ERROR

TEXT = h5py.string_dtype("utf-8")
#: A reader of one run inflates a chunk of every column: small ones, at a few percent more to store.
CHUNK_BYTES = 1 << 15
#: Texts that take more bytes than this with padding are written with their own lengths.
MOST_PADDED = 1 << 26


def write_text(group: h5py.Group, name: str, values: list[str]) -> None:
    """Write UTF-8 strings; HDF5 cannot hold NUL, which becomes a backslash 0.

    Of fixed length, which alone HDF5 can check when they are read, unless that would waste memory.
    """
    width = max([1, *(len(value.encode()) for value in values)])
    if width * len(values) > MOST_PADDED:
        storable = [value.replace("\0", "\\0") for value in values]
        group.create_dataset(name, data=np.array(storable, dtype=object), dtype=TEXT)
    else:
        write_numbers(group, name, fixed_texts(values))


def create_numbers(
    group: h5py.Group, name: str, shape: tuple[int, ...], dtype: Any
) -> h5py.Dataset:
    """An array to be filled: compressed, checksummed, in chunks of whole rows near CHUNK_BYTES."""
    return h5py.Dataset(_create(group, name, shape, np.dtype(dtype)))


def write_numbers(group: h5py.Group, name: str, values: NDArray[Any]) -> None:
    """Write a whole array."""
    dataset = _create(group, name, values.shape, values.dtype)
    if values.size:
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(values))


def _create(
    group: h5py.Group, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> h5py.h5d.DatasetID:
    """As `h5py.Group.create_dataset`, in a third of the time: stores have many small arrays."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_obj_track_times(False)
    if 0 not in shape:
        row = int(np.prod(shape[1:])) * dtype.itemsize
        rows = min(shape[0], max(1, CHUNK_BYTES // row))
        properties.set_chunk((rows, *shape[1:]))
        properties.set_shuffle()
        properties.set_deflate(1)
        properties.set_fletcher32()
    kind, space = h5py.h5t.py_create(dtype, logical=True), h5py.h5s.create_simple(shape)
    return h5py.h5d.create(group.id, name.encode(), kind, space, properties)


def write_table(group: h5py.Group, table: pa.Table) -> None:
    """Write an Arrow table as a group of columns: texts, numbers, true and false.

    A missing text becomes "", a missing number or truth NaN, of a column of float64 then: exact up
    to 2**53, beyond which pyarrow.ArrowInvalid is raised. Raises UserError for other types.
    """
    set_text(group, "columns", table.column_names)
    for name in table.column_names:
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            write_text(group, name, column.fill_null("").to_pylist())
        else:
            write_numbers(group, name, _numbers(name, column))


def _numbers(name: str, column: pa.ChunkedArray) -> NDArray[Any]:
    kind = column.type
    if pa.types.is_boolean(kind):
        kind = pa.uint8()
    elif pa.types.is_null(kind):
        kind = pa.float64()
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise UserError(f"column {name}: {kind} cannot be stored; legal: text, numbers, booleans")
    if column.null_count and not pa.types.is_floating(kind):
        kind = pa.float64()
        column = column.cast(pa.int64())
    return np.asarray(column.cast(kind).to_numpy())


def read_column(group: h5py.Group, name: str, rows: slice = slice(None)) -> NDArray[Any]:
    """A column (or these rows of it) as numbers, or as objects of type str."""
    dataset = group[name]
    if h5py.check_string_dtype(dataset.dtype) is None:
        return np.asarray(dataset[rows])
    return np.asarray(dataset.asstr()[rows], dtype=object)


def read_coded(file: h5py.File, name: str) -> tuple[NDArray[Any], NDArray[np.object_]]:
    """A coded column of /runs: integers, and the texts they stand for."""
    if name == "engine" and int(file.attrs["schema_version"]) < FIRST_WITH_ENGINE:
        return np.zeros(len(file["runs/run_id"]), np.int32), np.array([""], object)
    return file["runs"][name][()], read_column(file["labels"], name)


def absent_curve(file: h5py.File, name: str) -> bool:
    """Whether the store is of before there was this curve, which then reads as NaN."""
    return name == "test_error" and int(file.attrs["schema_version"]) < FIRST_WITH_TEST_ERROR


def read_curve(file: h5py.File, name: str) -> NDArray[np.float32]:
    """A whole array of /curves."""
    if absent_curve(file, name):
        return np.full(file["curves/test_loss"].shape, np.nan, np.float32)
    return np.asarray(file["curves"][name][()])


def read_span(file: h5py.File, path: str, start: int, stop: int) -> NDArray[Any]:
    """Elements of a 1-D array; texts as bytes. A few of them in half the time of h5py's slices."""
    dataset = h5py.h5d.open(file.id, path.encode())
    place = dataset.get_space()
    if not 0 <= start <= stop <= place.shape[0]:
        raise IndexError(f"{path}: no elements {start} to {stop}")
    found = np.empty(stop - start, dataset.dtype)
    if stop > start:
        place.select_hyperslab((start,), found.shape)
        dataset.read(h5py.h5s.create_simple(found.shape), place, found)
    return found
