"""Appending to a large file past the page cache.

A packed dataset would fill the memory that the system has to spare with pages that nothing reads
for now, and push out those of the source. Getting a page costs, too: on a virtual machine whose
memory is not all backed, more than a tenth of what it takes to decode the pixels on it.
"""

import errno
import fcntl
import io
import mmap
import os
from pathlib import Path

import numpy as np

#: Where direct writes begin and end, in the file and in memory: in multiples of this, in bytes.
SECTOR = 4096
#: Most bytes of one write.
MEMORY = 8 << 20
#: Not every system knows it; those that do may refuse it, file system by file system.
O_DIRECT = getattr(os, "O_DIRECT", 0)


class DirectAppender:
    """Appends to a file whole sectors at a time.

    The last, which is seldom full, is written all the same, and again with what follows: what was
    appended is in the file, as far as it can be synced. What fills it up is cut off at the end.
    Where a file system has no direct writes, writes are ordinary.
    """

    def __init__(self, path: Path, end: int) -> None:
        """Append behind the first `end` bytes, which are all that the file has."""
        self._start = end - end % SECTOR
        self._filled = end % SECTOR
        self._memory = memoryview(mmap.mmap(-1, MEMORY))  # begins with a page
        with path.open("rb") as before:
            before.seek(self._start)
            self._memory[: self._filled] = before.read(self._filled)
        self._file = io.FileIO(path, "r+", opener=_open)

    def append(self, data: memoryview) -> None:
        """Append bytes; without a copy where the file and `data` both end and begin at a sector."""
        if not self._filled and _address(data) % SECTOR == 0:
            whole = len(data) - len(data) % SECTOR
            self._start = self._written(data[:whole], self._start)
            data = data[whole:]
        while len(data):
            taken = data[: MEMORY - self._filled]
            self._memory[self._filled : self._filled + len(taken)] = taken
            self._filled += len(taken)
            self._write()
            data = data[len(taken) :]

    def close(self) -> None:
        """Cut off what is behind the bytes that were appended."""
        with self._file:
            self._file.truncate(self._start + self._filled)

    def _write(self) -> None:
        tail = self._filled % SECTOR
        whole = self._filled - tail
        self._written(self._memory[: whole + SECTOR if tail else whole], self._start)
        self._memory[:tail] = self._memory[whole : self._filled]
        self._start, self._filled = self._start + whole, tail

    def _written(self, rest: memoryview, place: int) -> int:
        """Write all of it; where it ends."""
        while len(rest):  # a write may take less, as of a disk that is nearly full
            written = self._pwrite(rest, place)
            rest, place = rest[written:], place + written
        return place

    def _pwrite(self, data: memoryview, place: int) -> int:
        file = self._file.fileno()
        try:
            return os.pwrite(file, data, place)
        except OSError as error:
            flags = fcntl.fcntl(file, fcntl.F_GETFL)
            if error.errno != errno.EINVAL or not flags & O_DIRECT:
                raise
        fcntl.fcntl(file, fcntl.F_SETFL, flags & ~O_DIRECT)
        return os.pwrite(file, data, place)


def _address(data: memoryview) -> int:
    address: int = np.frombuffer(data, np.uint8).ctypes.data
    return address


def _open(path: str, flags: int) -> int:
    try:
        return os.open(path, flags | O_DIRECT)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return os.open(path, flags)
