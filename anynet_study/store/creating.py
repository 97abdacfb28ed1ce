"""Writing an HDF5 file on a disk that may fill up."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py

from anynet_study.store.sealing import seal


class _Disk(io.FileIO):
    """A file that keeps its first failed write in `failure` instead of raising it.

    HDF5 cannot close a file that it fails to write to: it would report the same failure for every
    object still open, and once more when the process ends. So it is told that all went well.
    """

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        rest = memoryview(data)
        try:
            while len(rest) and self.failure is None:
                rest = rest[super().write(rest) :]
        except OSError as error:
            self.failure = error
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        try:
            return super().truncate(size) if self.failure is None else self.tell()
        except OSError as error:
            self.failure = error
            return self.tell()


@contextmanager
def creating(path: Path, published: Path) -> Iterator[h5py.File]:
    """Yield a new HDF5 file at `path`, without locks.

    Raises an OSError that names `published` if it could not be written whole.
    """
    try:
        disk = _Disk(path, "w+")
    except OSError as error:
        raise _naming(published, error) from error
    with disk:
        try:
            # Formats since HDF5 1.10 have checksums in all their structures.
            with h5py.File(disk, "w", libver=("v110", "latest")) as file:
                yield file
                seal(file)
        finally:
            if disk.failure is not None:
                raise _naming(published, disk.failure) from disk.failure


def _naming(path: Path, error: OSError) -> OSError:
    return OSError(error.errno, error.strerror, str(path))
