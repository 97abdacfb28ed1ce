"""Where the bytes of one file are: in a file of its own, or inside an archive."""

from pathlib import Path
from typing import NamedTuple


class Member(NamedTuple):
    """A file of a source, or the stretch of an archive that holds one."""

    file: str
    offset: int = 0
    #: None: up to the end of `file`.
    size: int | None = None

    def length(self) -> int:
        """Bytes."""
        return Path(self.file).stat().st_size if self.size is None else self.size

    def read(self, most: int) -> bytes:
        """All bytes; ValueError if they are more than `most`."""
        length = self.length()
        if length > most:
            raise ValueError(f"{length} bytes, more than {most} are not read")
        with open(self.file, "rb") as file:
            file.seek(self.offset)
            return file.read(length)
