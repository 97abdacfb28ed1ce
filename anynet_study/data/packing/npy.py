"""Writing an .npy file a block of rows at a time."""

import io
import os
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import DTypeLike, NDArray

from anynet_study.data.packing.direct import SECTOR, DirectAppender

#: Bytes of the length of a header's text, which stands before it.
LENGTH = 2


class NpyAppender:
    """Grows one .npy file: memory does not depend on its length, nor need that be known.

    The header is written first for no rows and again at the end: numpy pads it so that its
    length does not depend on the number of rows.
    """

    def __init__(
        self,
        path: Path,
        row_shape: tuple[int, ...],
        dtype: DTypeLike,
        rows: int = 0,
        direct: bool = False,
    ) -> None:
        """`rows`: keep so many of the file that an earlier appender left; by default begin anew.

        `direct`: past the page cache (see `direct`), for rows that are appended many at a time;
        they begin at a sector.
        ValueError where it left fewer.
        """
        self._dtype = np.dtype(dtype)
        self._fills_sector = direct
        self._row_shape = row_shape
        self._rows = rows
        # Unbuffered: what was appended is in the file, and its number can be synced.
        self._file = path.open("r+b" if rows else "wb", buffering=0)
        self._write_header()
        end = self._file.tell() + rows * self._dtype.itemsize * int(np.prod(row_shape))
        if self._file.seek(0, os.SEEK_END) < end:
            self._file.close()
            raise ValueError(f"{path}: less than {rows} rows")
        self._file.truncate(end)
        self._file.seek(end)
        self._direct = DirectAppender(path, end) if direct else None

    def append(self, rows: NDArray[Any]) -> None:
        """Append `rows` of shape (n, *row_shape)."""
        if rows.shape[1:] != self._row_shape or rows.dtype != self._dtype:
            raise ValueError(f"rows of shape {rows.shape} and type {rows.dtype}")
        data = np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data
        if self._direct is None:
            self._write(data)
        else:
            self._direct.append(data)
        self._rows += len(rows)

    def sync(self) -> None:
        """Wait until what was appended so far would outlive the machine. Any thread may."""
        os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._file:
            if self._direct is not None:
                self._direct.close()
            if kind is None:
                self._file.seek(0)
                self._write_header()
                self.sync()

    def _write_header(self) -> None:
        header = {
            "descr": npy_format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self._rows, *self._row_shape),
        }
        written = io.BytesIO()
        npy_format.write_array_header_1_0(written, header)
        whole = written.getvalue()
        self._file.write(_filling_a_sector(whole) if self._fills_sector else whole)

    def _write(self, rest: memoryview) -> None:
        """All of it: a single write may take less, as of a disk that is nearly full."""
        while len(rest):
            rest = rest[self._file.write(rest) :]


def _filling_a_sector(header: bytes) -> bytes:
    """The same header with more spaces before the end of its line."""
    magic, text = header[: npy_format.MAGIC_LEN], header[npy_format.MAGIC_LEN + LENGTH : -1]
    room = SECTOR - len(magic) - LENGTH
    return magic + room.to_bytes(LENGTH, "little") + text.ljust(room - 1) + b"\n"
