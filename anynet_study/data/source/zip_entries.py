"""Members of zip archives that may be hostile."""

import io
import stat
import zipfile
from collections.abc import Iterator
from typing import IO

from anynet_study.data.source.entry import Entry, refused
from anynet_study.data.source.member import Member
from anynet_study.data.source.window import Window

#: Most of a zip's list of members, which is read whole. ImageNet's has 300 MB.
DIRECTORY_BYTES = 512 << 20


class _Bounded(io.BufferedReader):
    """Refuses to read at once what a zip merely claims that its list of members takes."""

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > DIRECTORY_BYTES:
            raise zipfile.BadZipFile(f"list of members of {size} bytes")
        return super().read(size)


def zip_entries(name: str, archive: Member) -> Iterator[Entry]:
    """Members in their order; UserError for links, devices and what is encrypted."""
    with _Bounded(Window(archive)) as file, zipfile.ZipFile(file) as opened:
        for info in opened.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or info.flag_bits & 1:
                raise refused(name, info.filename, "a link, device or encrypted")
            if info.is_dir():
                yield Entry(info.filename, info.header_offset)
            else:
                with _open_zipped(opened, info, name) as content:
                    place = info.header_offset
                    yield Entry(info.filename, place, info.file_size, content=content)


def _open_zipped(opened: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> IO[bytes]:
    try:
        return opened.open(info)
    except (NotImplementedError, RuntimeError) as error:
        raise refused(name, info.filename, str(error)) from error
