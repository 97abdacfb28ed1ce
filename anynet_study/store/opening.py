"""Opening a results store for reading: what is not one is refused in one line."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import h5py

from anynet_study.errors import UserError
from anynet_study.store.hdf5 import DAMAGE, get_text
from anynet_study.store.layout import FORMAT, SCHEMA_VERSION

T = TypeVar("T", dict[str, Any], list[Any])


class NewerStoreError(UserError):
    """A store that a newer version of this package wrote."""


@contextmanager
def open_store(path: Path) -> Iterator[h5py.File]:
    """Open a store without locks (NFS may have none; a published store never changes).

    Raises UserError if it is missing, foreign, newer than this package (NewerStoreError), or
    damaged, also where damage shows only while reading inside the block.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such results store")
    with path.open("rb"):
        pass  # a file that may not be read is an OSError that names it, unlike HDF5's
    with naming_damage(path), opened(path) as file:
        _check(path, file)
        yield file


def opened(path: Path) -> h5py.File:
    """The file, unchecked. Raises OSError."""
    try:
        return h5py.File(path, "r", locking=False)
    except OSError as error:
        if "locking" not in str(error):
            raise
        return h5py.File(path, "r")  # as it is open elsewhere in this process


@contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    """Let what reading a damaged file comes to be a UserError that names it."""
    try:
        yield
    except UserError:
        raise
    except DAMAGE as error:
        if not h5py.is_hdf5(path):
            raise UserError(f"{path}: not a results store (not an HDF5 file)") from None
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(
            f"{path}: the store is damaged ({reason}); move it away and collect it again"
        ) from error


def stored_json(text: object, kind: type[T], where: str) -> T:
    """The JSON of a stored text, empty where there is none; UserError where it is not a `kind`."""
    try:
        found = json.loads(text) if isinstance(text, str) and text else kind()
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, kind):
        raise UserError(f"{where}: not a JSON {'list' if kind is list else 'object'}")
    return found


def _check(path: Path, file: h5py.File) -> None:
    if get_text(file, "format", "") != FORMAT:
        raise UserError(f"{path}: an HDF5 file, but not a results store of anynet-study")
    version = int(file.attrs["schema_version"])
    if version > SCHEMA_VERSION:
        raise NewerStoreError(
            f"{path}: written by a newer anynet-study (schema {version}, this one reads "
            f"up to {SCHEMA_VERSION}): install the newer one"
        )
