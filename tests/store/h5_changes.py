"""Changes that somebody makes by hand to the HDF5 file of a store."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from anynet_study.store.hdf5 import write_checksums

Change = Callable[[h5py.File], None]


def edited(path: Path, whole: bytes, *changes: Change) -> Path:
    """A store of these bytes at `path`, changed, and its checksums made to fit again."""
    path.write_bytes(whole)
    with h5py.File(path, "r+") as file:
        for change in changes:
            change(file)
        write_checksums(file)
    return path


def put(path: str, values: Any, dtype: Any = None) -> Change:
    """The array at `path` replaced; `values` may be a function of the file."""

    def change(file: h5py.File) -> None:
        new = np.asarray(values(file) if callable(values) else values, dtype)
        attributes = dict(file[path].attrs)
        del file[path]
        file[path] = new
        file[path].attrs.update(attributes)

    return change


def at(path: str, place: Any, value: Any) -> Change:
    return lambda file: file[path].__setitem__(place, value)


def cast(path: str, dtype: Any) -> Change:
    return put(path, lambda file: file[path][()].astype(dtype))


def cut(path: str) -> Change:
    return put(path, lambda file: file[path][:-1])


def gone(path: str) -> Change:
    return lambda file: file.__delitem__(path)
