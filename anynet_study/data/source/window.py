"""A stretch of a file as a file of its own."""

import io
from typing import Any

from anynet_study.data.source.member import Member


class Window(io.RawIOBase):
    """Reads what a `Member` says, and nothing before or after it."""

    def __init__(self, member: Member) -> None:
        self._file = open(member.file, "rb")  # noqa: SIM115  # closed by `close`
        self._start, self._size = member.offset, member.length()
        self._position = 0

    def buffered(self) -> io.BufferedReader:
        """This file with a buffer."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """As of any file; UnsupportedOperation before its beginning."""
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
