"""The place of the bytes of one file: in a file of its own, or inside an archive."""

import io
import os
from pathlib import Path
from typing import Any, NamedTuple

from anynet_study.core.files import open_regular


class Member(NamedTuple):
    """A file of a source: a file of its own, or the stretch of an archive that holds it."""

    file: str
    offset: int = 0
    #: None: up to the end of `file`.
    size: int | None = None

    def length(self) -> int:
        """Bytes."""
        return os.stat(self.file).st_size if self.size is None else self.size

    def read(self, most: int) -> bytes:
        """All bytes; ValueError if they are more than `most`, OSError if they cannot be read."""
        length = self.length()
        if length > most:
            raise ValueError(f"{length} bytes, more than {most} are not read")
        with open_regular(Path(self.file)) as file:
            file.seek(self.offset)
            return file.read(length)


class Window(io.RawIOBase):
    """A `Member` as an open file: nothing before or after its bytes can be read."""

    def __init__(self, member: Member) -> None:
        self._file = open_regular(Path(member.file))  # closed by `close`
        self._start, self._size = member.offset, member.length()
        self._position = 0

    def buffered(self) -> io.BufferedReader:
        """Wrap this file in a buffer."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a place in the file; UnsupportedOperation before its beginning."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise io.UnsupportedOperation("before the beginning of the file")
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` as far as the window reaches."""
        view = memoryview(buffer)[: max(0, self._size - self._position)]
        if not view:  # the place may be further than a file can reach
            return 0
        self._file.seek(self._start + self._position)
        count = self._file.readinto(view)
        self._position += count
        return count

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
