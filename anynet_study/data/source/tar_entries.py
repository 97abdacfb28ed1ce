"""Members of tar archives that may be hostile, compressed or not."""

import bz2
import gzip
import lzma
import tarfile
from collections.abc import Callable, Iterator
from typing import IO, Any, Literal

from anynet_study.data.source.entry import Entry, refused
from anynet_study.data.source.tar_headers import StrictTarInfo

#: First bytes of a compressed archive, and what reads it.
COMPRESSED: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
#: What may follow the end of a tar: padding to a record, 10 KiB by default.
TAIL_BYTES = 16 << 20


def tar_entries(name: str, file: IO[bytes], magic: bytes) -> Iterator[Entry]:
    """Members in their order; UserError for links, devices and sparse files.

    `magic`: the first bytes of `file`. What is not compressed has the offset of its bytes.
    """
    make = next((make for start, make in COMPRESSED.items() if magic.startswith(start)), None)
    # Not the library's own decompression of streams: it does not notice a truncated archive.
    stream: IO[bytes] = file if make is None else make(file)
    mode: Literal["r:", "r|"] = "r:" if make is None else "r|"
    with tarfile.open(fileobj=stream, mode=mode, tarinfo=StrictTarInfo) as opened:
        while info := opened.next():
            opened.members.clear()  # type: ignore[attr-defined]  # or it keeps every one
            if info.isdir():
                yield Entry(info.name, file.tell())
            elif info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.issparse():
                raise refused(name, info.name, "a link, device or sparse file")
            elif make is None:
                yield Entry(info.name, file.tell(), info.size, offset=info.offset_data)
            else:
                content = opened.extractfile(info)
                yield Entry(info.name, file.tell(), info.size, content=content)
    if make is not None:
        stream.read(TAIL_BYTES)  # up to the checksum of the compressed stream
