"""Headers of tar archives that may be hostile."""

import tarfile
from typing import Self


class StrictTarInfo(tarfile.TarInfo):
    """Refuses what the library takes for the end of the archive, and headers of absurd size."""

    #: Extended headers are read into memory whole.
    HEADER_BYTES = 1 << 20

    @classmethod
    def fromtarfile(cls, opened: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(opened)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # the proper end
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"{error} at byte {opened.offset}") from error

    def _proc_member(self, opened: tarfile.TarFile) -> tarfile.TarInfo:
        plain = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.CONTTYPE)
        if self.size < 0 or (self.type not in plain and self.size > self.HEADER_BYTES):
            raise tarfile.ReadError(f"header of {self.size} bytes")
        return super()._proc_member(opened)  # type: ignore[misc,no-any-return]
