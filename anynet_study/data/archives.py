"""Unpacking zip and tar archives that may be hostile.

Only regular files with plain relative names come out, each name once, and no more
of them or of their bytes than `Limits` allows, counted as they are written.
"""

import bz2
import gzip
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

from anynet_study.data.member_names import MemberNames
from anynet_study.errors import UserError
from anynet_study.progress import progress

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
CHUNK = 1 << 20
#: What may follow the end of a tar: padding to a record, 10 KiB by default.
TAIL_BYTES = 16 << 20


@dataclass(frozen=True)
class Limits:
    """What an archive may contain at most. ImageNet has 1.4 million files, 160 GB."""

    members: int = 3_000_000
    #: Bytes of all files.
    total_bytes: int = 1 << 40
    #: Unpacked over archived bytes, once more than `free_bytes` are unpacked.
    ratio: float = 200.0
    free_bytes: int = 256 << 20


class _Member(NamedTuple):
    name: str
    #: None for a folder.
    content: IO[bytes] | None
    #: How far the archive has been read, in bytes.
    position: int


def spool(archive: Path, target: Path, limits: Limits = Limits()) -> dict[str, tuple[int, int]]:
    """Write the contents of all files in `archive` one after the other to the new file `target`.

    Returns offset and size of each by its name. One file, not one a member: nothing in an
    archive can choose where it is written, and creating a million files takes longer than
    decoding them. Read are zip, tar, and tar compressed by gzip, bzip2 or xz.

    UserError, naming the member, for links, devices, names that leave the archive, occur twice
    or differ in case only, and for more than `limits`; also if the archive is damaged.
    """
    with archive.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic == b"Rar!":
            raise UserError(f"{archive}: RAR archives are not read; give the extracted folder")
        members = _zip_members if magic == b"PK\3\4" else _tar_members
        try:
            return _write_members(members(archive, file), archive, target, limits)
        except DAMAGE as error:
            raise UserError(f"{archive}: not a whole zip or tar archive ({error})") from error


def _write_members(
    members: Iterator[_Member], archive: Path, target: Path, limits: Limits
) -> dict[str, tuple[int, int]]:
    size = archive.stat().st_size
    megabytes = max(1, round(size / 1e6))
    budget = min(limits.total_bytes, max(limits.free_bytes, int(limits.ratio * size)))
    names = MemberNames(archive)
    spans: dict[str, tuple[int, int]] = {}
    with (
        target.open("xb") as file,
        progress(f"unpacking {archive.name} (MB)", megabytes) as report,
    ):
        for count, member in enumerate(members, start=1):
            if count > limits.members:
                raise UserError(f"{archive}: more than {limits.members} members")
            name = names.check(member.name, member.content is None)
            if member.content is not None:
                start = file.tell()
                _copy(member, file, budget, archive)
                spans[name] = (start, file.tell() - start)
            report(min(round(member.position / 1e6), megabytes - 1))
        report(megabytes)
    return spans


def _copy(member: _Member, file: IO[bytes], budget: int, archive: Path) -> None:
    assert member.content is not None
    while chunk := member.content.read(CHUNK):
        if file.tell() + len(chunk) > budget:
            raise UserError(f"{archive}: {member.name!r} makes it too large when unpacked")
        file.write(chunk)


def _zip_members(archive: Path, file: IO[bytes]) -> Iterator[_Member]:
    with zipfile.ZipFile(file) as opened:
        for info in opened.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or info.flag_bits & 1:
                raise _refused(archive, info.filename, "a link, device or encrypted")
            if info.is_dir():
                yield _Member(info.filename, None, info.header_offset)
            else:
                with _open_zipped(opened, info, archive) as content:
                    yield _Member(info.filename, content, info.header_offset)


def _open_zipped(opened: zipfile.ZipFile, info: zipfile.ZipInfo, archive: Path) -> IO[bytes]:
    try:
        return opened.open(info)
    except (NotImplementedError, RuntimeError) as error:
        raise _refused(archive, info.filename, str(error)) from error


def _tar_members(archive: Path, file: IO[bytes]) -> Iterator[_Member]:
    magic = file.read(6)
    file.seek(0)
    # Not the library's own decompression of streams: it does not notice a truncated archive.
    stream = next(
        (make(file) for start, make in COMPRESSED.items() if magic.startswith(start)), file
    )
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=_TarInfo) as opened:
        while info := opened.next():
            opened.members.clear()  # type: ignore[attr-defined]  # or it keeps every one
            if info.isdir():
                yield _Member(info.name, None, file.tell())
            elif info.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not info.issparse():
                yield _Member(info.name, opened.extractfile(info), file.tell())
            else:
                raise _refused(archive, info.name, "a link, device or sparse file")
    stream.read(TAIL_BYTES)  # up to the checksum of the compressed stream


class _TarInfo(tarfile.TarInfo):
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
        if self.type not in plain and self.size > self.HEADER_BYTES:
            raise tarfile.ReadError(f"header of {self.size} bytes")
        return super()._proc_member(opened)  # type: ignore[misc,no-any-return]


def _refused(archive: Path, member: str, reason: str) -> UserError:
    return UserError(f"{archive}: member {member!r} refused: {reason}")
