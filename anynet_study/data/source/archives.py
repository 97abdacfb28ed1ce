"""Unpacking zip and tar archives that may be hostile.

Only regular files with plain relative names come out, each name once, and no more of them or of
their bytes than `budget.Limits` allows, counted as they are written. See also `member_names`.
"""

import bz2
import gzip
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from anynet_study.data.source.budget import Budget
from anynet_study.data.source.member import Member
from anynet_study.data.source.member_names import MemberNames
from anynet_study.data.source.tar_headers import StrictTarInfo
from anynet_study.data.source.window import Window
from anynet_study.errors import UserError

DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
)
#: First bytes of a compressed archive, and what reads it.
COMPRESSED: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
#: Endings of the names of archives.
SUFFIXES = (".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tbz2", ".txz", ".tar", ".zip")
CHUNK = 1 << 20
#: What may follow the end of a tar: padding to a record, 10 KiB by default.
TAIL_BYTES = 16 << 20


class _Entry(NamedTuple):
    name: str
    #: How far the archive has been read, in bytes.
    position: int
    #: Bytes; None for a folder.
    size: int | None = None
    #: Where the bytes are in the archive, if they are there as they are.
    offset: int | None = None
    #: Else what they are read from.
    content: IO[bytes] | None = None


def is_archive(name: str) -> bool:
    """Whether a file is called like an archive that is read."""
    return archive_stem(name) != name


def archive_stem(name: str) -> str:
    """The name of an archive without what makes it one."""
    lower = name.lower()
    return next((name[: -len(end)] for end in SUFFIXES if lower.endswith(end)), name)


def unpack(
    archive: Member,
    name: str,
    target: Path,
    budget: Budget,
    report: Callable[[int], None] = lambda read: None,
) -> dict[str, Member]:
    """Where the contents of all files in `archive` are, by their names.

    Of a plain tar they stay where they are. Else they are written one after the other to the new
    file `target`: not one file a member, so nothing in an archive can choose where it is written,
    and because creating a million files takes longer than decoding them. Read are zip, tar, and
    tar compressed by gzip, bzip2 or xz. `name` is what messages call the archive.

    UserError, naming the member, for links, devices, names that leave the archive, occur twice
    or differ in case only, and for more than `budget`; also if the archive is damaged.
    """
    with Window(archive).buffered() as file:
        magic = file.read(6)
        file.seek(0)
        if magic.startswith(b"Rar!"):
            raise UserError(f"{name}: RAR archives are not read; give the extracted folder")
        if magic.startswith(b"PK\3\4"):
            entries = _zip_entries(name, file)
        else:
            entries = _tar_entries(name, file, magic)
        try:
            return _collect(entries, archive, name, target, budget, report)
        except DAMAGE as error:
            raise UserError(f"{name}: not a whole zip or tar archive ({error})") from error


def _collect(
    entries: Iterator[_Entry],
    archive: Member,
    name: str,
    target: Path,
    budget: Budget,
    report: Callable[[int], None],
) -> dict[str, Member]:
    names = MemberNames(name)
    members: dict[str, Member] = {}
    with ExitStack() as files:
        written: IO[bytes] | None = None
        for entry in entries:
            budget.take_member(name)
            checked = names.check(entry.name, entry.size is None)
            path = checked.path
            if checked.twin is not None:
                if written is not None:
                    written.flush()
                if not _equal(members[checked.twin], _contents(entry, archive)):
                    raise names.refuse_twin(checked)
            elif entry.offset is not None:
                members[path] = Member(archive.file, archive.offset + entry.offset, entry.size)
            elif entry.content is not None:
                written = written or files.enter_context(target.open("xb"))
                start = written.tell()
                _copy(entry, written, budget, name)
                members[path] = Member(str(target), start, written.tell() - start)
            report(entry.position)
    return members


def _contents(entry: _Entry, archive: Member) -> IO[bytes]:
    if entry.content is not None:
        return entry.content
    assert entry.offset is not None
    return Window(Member(archive.file, archive.offset + entry.offset, entry.size)).buffered()


def _equal(member: Member, other: IO[bytes]) -> bool:
    with Window(member).buffered() as one, other:
        while chunk := one.read(CHUNK):
            if other.read(len(chunk)) != chunk:
                return False
        return not other.read(1)


def _copy(entry: _Entry, file: IO[bytes], budget: Budget, name: str) -> None:
    assert entry.content is not None
    while chunk := entry.content.read(CHUNK):
        budget.take_bytes(len(chunk), name, entry.name)
        file.write(chunk)


def _zip_entries(name: str, file: IO[bytes]) -> Iterator[_Entry]:
    with zipfile.ZipFile(file) as opened:
        for info in opened.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or info.flag_bits & 1:
                raise _refused(name, info.filename, "a link, device or encrypted")
            if info.is_dir():
                yield _Entry(info.filename, info.header_offset)
            else:
                with _open_zipped(opened, info, name) as content:
                    place = info.header_offset
                    yield _Entry(info.filename, place, info.file_size, content=content)


def _open_zipped(opened: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> IO[bytes]:
    try:
        return opened.open(info)
    except (NotImplementedError, RuntimeError) as error:
        raise _refused(name, info.filename, str(error)) from error


def _tar_entries(name: str, file: IO[bytes], magic: bytes) -> Iterator[_Entry]:
    make = next((make for start, make in COMPRESSED.items() if magic.startswith(start)), None)
    # Not the library's own decompression of streams: it does not notice a truncated archive.
    stream: IO[bytes] = file if make is None else make(file)
    mode: Literal["r:", "r|"] = "r:" if make is None else "r|"
    with tarfile.open(fileobj=stream, mode=mode, tarinfo=StrictTarInfo) as opened:
        while info := opened.next():
            opened.members.clear()  # type: ignore[attr-defined]  # or it keeps every one
            if info.isdir():
                yield _Entry(info.name, file.tell())
            elif info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.issparse():
                raise _refused(name, info.name, "a link, device or sparse file")
            elif make is None:
                yield _Entry(info.name, file.tell(), info.size, offset=info.offset_data)
            else:
                content = opened.extractfile(info)
                yield _Entry(info.name, file.tell(), info.size, content=content)
    if make is not None:
        stream.read(TAIL_BYTES)  # up to the checksum of the compressed stream


def _refused(archive: str, member: str, reason: str) -> UserError:
    return UserError(f"{archive}: member {member!r} refused: {reason}")
