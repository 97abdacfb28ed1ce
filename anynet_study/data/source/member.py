"""Where the bytes of one file are: in a file of its own, or inside an archive."""

import os
from typing import NamedTuple


class Member(NamedTuple):
    """A file of a source, or the stretch of an archive that holds one."""

    file: str
    offset: int = 0
    #: None: up to the end of `file`.
    size: int | None = None

    def length(self) -> int:
        """Bytes."""
        return os.stat(self.file).st_size if self.size is None else self.size

    def read(self, most: int) -> bytes:
        """All bytes; ValueError if they are more than `most`."""
        length = self.length()
        if length > most:
            raise ValueError(f"{length} bytes, more than {most} are not read")
        with open(self.file, "rb", buffering=0) as file:
            file.seek(self.offset)
            return file.read(length)
