"""Unpacking zip and tar archives that may be hostile.

Only regular files with plain relative names come out, each name once, and no more of them or of
their bytes than `Limits` allows, counted as they are written.
"""

import bz2
import gzip
import io
import lzma
import posixpath
import re
import stat
import tarfile
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, Self

import pyarrow as pa

from anynet_study.core.errors import UserError, first_line
from anynet_study.data.source import parquet
from anynet_study.data.source.member import Member, Window

#: Endings of the names of archives.
SUFFIXES = (
    *(".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tgz", ".tbz2", ".txz", ".tzst"),
    *(".tar", ".zip", ".npz", parquet.ENDING),
)
CHUNK = 1 << 20
#: Of files that anybody's arrays are in, and of MATLAB's since version 7.3.
OF_HDF5 = (
    "an HDF5 file (MATLAB 7.3 writes such, too), which is not read; write its arrays to a .npz: "
    "numpy.savez(FILE, train_images=h5py.File(THIS)[NAME][:], train_labels=...); or save it with "
    "-v7 in MATLAB"
)
#: First bytes of a compressed tar, and what reads it.
COMPRESSED: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
    b"\x28\xb5\x2f\xfd": lambda file: pa.CompressedInputStream(pa.PythonFile(file), "zstd"),
}
#: What may follow the end of a tar: padding to a record, 10 KiB by default.
TAIL_BYTES = 16 << 20
#: The flag of a zip's member whose name is in UTF-8.
UTF_8 = 0x800
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

#: Called with the bytes of an archive that were read so far.
Report = Callable[[int], None]


def is_archive(name: str) -> bool:
    """Tell whether a file is called like an archive that is read."""
    return archive_stem(name) != name


def archive_stem(name: str) -> str:
    """The name of an archive without what makes it one."""
    lower = name.lower()
    return next((name[: -len(end)] for end in SUFFIXES if lower.endswith(end)), name)


@dataclass
class Budget:
    """A budget of what archives, and those inside them, may contain; ImageNet has 1.4 million."""

    #: Bytes of the archives on the disk.
    archived: int
    members: int = 3_000_000
    #: Bytes of all files.
    total_bytes: int = 1 << 40
    #: Unpacked over archived bytes, once more than `free_bytes` are unpacked.
    ratio: float = 200.0
    free_bytes: int = 256 << 20

    def __post_init__(self) -> None:
        most = max(self.free_bytes, int(self.ratio * self.archived))
        self.total_bytes = min(self.total_bytes, most)

    def take_member(self, archive: str) -> None:
        """Count one more member; UserError if it is one too many."""
        self.members -= 1
        if self.members < 0:
            raise UserError(f"{archive}: too many members")

    def take_bytes(self, count: int, archive: str, member: str) -> None:
        """Count bytes that will be written; UserError if they are too many."""
        self.total_bytes -= count
        if self.total_bytes < 0:
            raise UserError(f"{archive}: {member!r} makes it too large when unpacked")


def unpack(
    archive: Member, name: str, target: Path, budget: Budget, report: Report = lambda read: None
) -> dict[str, Member]:
    """Return where the contents of all files in `archive` are, by their names.

    Of a plain tar they stay where they are. Otherwise they are written one after the other to the
    new file `target`: not one file per member, so that nothing in an archive can choose where it
    is written, and because creating a million files takes longer than decoding them. Formats: zip,
    tar, and tar compressed by gzip, bzip2, xz or Zstandard. `name` is what messages call the
    archive. A link of a tar to a file of the same tar is that file.

    Raises UserError, naming the member, for other links, devices, names that leave the archive or
    occur twice, and for more than `budget`; also if the archive is damaged.
    """
    with Window(archive).buffered() as file:
        magic = file.read(6)
        file.seek(0)
        if magic.startswith(b"Rar!"):
            raise UserError(f"{name}: RAR archives are not read; give the extracted folder")
        if magic.startswith(b"\x89HDF"):
            raise UserError(f"{name}: {OF_HDF5}")
        if magic.startswith(b"PK\3\4"):
            entries = _zip_entries(name, archive)
        elif magic.startswith(parquet.MAGIC):
            entries = _parquet_entries(file, budget.total_bytes)
        else:
            entries = _tar_entries(name, file, magic)
        try:
            return _collect(entries, archive, name, target, budget, report)
        except Exception as error:  # the libraries raise nearly anything on hostile bytes
            of_the_system = isinstance(error, OSError) and error.errno is not None
            if isinstance(error, UserError | MemoryError) or of_the_system:
                raise
            kind = "Parquet file" if magic.startswith(parquet.MAGIC) else "zip or tar archive"
            raise UserError(f"{name}: not a whole {kind} ({first_line(error)})") from error


class Entry(NamedTuple):
    """A folder or a regular file, nothing else, as it is met in an archive."""

    name: str
    #: How far the archive has been read, in bytes.
    position: int
    #: Bytes; None for a folder.
    size: int | None = None
    #: Where the bytes are in the archive, if they are there as they are.
    offset: int | None = None
    #: Otherwise what they are read from.
    content: IO[bytes] | None = None
    #: Of a link: the path in the archive that it leads to.
    leads_to: str | None = None


def _collect(
    entries: Iterator[Entry],
    archive: Member,
    name: str,
    target: Path,
    budget: Budget,
    report: Report,
) -> dict[str, Member]:
    names = _Names(name)
    members: dict[str, Member] = {}
    links: dict[str, str] = {}
    with ExitStack() as files:
        written: IO[bytes] | None = None
        for entry in entries:
            budget.take_member(name)
            path, twin = names.check(entry.name, entry.size is None)
            if entry.leads_to is not None:
                links[path] = entry.leads_to
            elif entry.offset is not None:
                members[path] = Member(archive.file, archive.offset + entry.offset, entry.size)
            elif entry.content is not None:
                written = written or files.enter_context(target.open("xb"))
                start = written.tell()
                while chunk := entry.content.read(CHUNK):
                    budget.take_bytes(len(chunk), name, entry.name)
                    written.write(chunk)
                written.flush()
                members[path] = Member(str(target), start, written.tell() - start)
            if twin in members and path in members and _equal(members[twin], members[path]):
                del members[path]
            report(entry.position)
    return members | _linked(name, links, members)


def _linked(
    archive: str, links: Mapping[str, str], members: Mapping[str, Member]
) -> dict[str, Member]:
    """The files that links lead to, also by way of each other; UserError where there is none.

    A link to a file of its own folder is a second name of it, not a second file.
    """
    found: dict[str, Member] = {}
    for path in links:
        place, passed = path, set[str]()
        while place in links and place not in passed:
            passed.add(place)
            place = links[place]
        if place not in members:
            raise _refused(archive, path, "a link that leads to no file of it; extract it yourself")
        if posixpath.dirname(path) != posixpath.dirname(place):
            found[path] = members[place]
    return found


def _equal(one: Member, other: Member) -> bool:
    if one.length() != other.length():
        return False
    with Window(one).buffered() as known, Window(other).buffered() as file:
        while chunk := known.read(CHUNK):
            if file.read(len(chunk)) != chunk:
                return False
    return True


def _refused(archive: str, member: str, reason: str) -> UserError:
    return UserError(f"{archive}: member {member!r} refused: {reason}")


class _Names:
    """Checks the names of an archive's members one after the other."""

    def __init__(self, archive: str) -> None:
        self._archive = archive
        #: Whether the path of every file and folder so far is a folder's.
        self._folders: dict[str, bool] = {}
        #: The first file of each name in folders that differ in case only.
        self._first: dict[tuple[str, str], str] = {}

    def check(self, name: str, is_folder: bool) -> tuple[str, str | None]:
        """A member's path in its plainest form, and the file before it that it may equal.

        Raises UserError for absolute paths, `..`, drives, backslashes, control characters, and a
        file that was there before or is also a folder. One dataset (HAM10000) is served with all
        its files in folders of either case: such a file has a twin, the first, and is left out if
        it holds the same bytes.
        """
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts or name[1:2] == ":":
            raise _refused(self._archive, name, "its path leads outside")
        if "\\" in name:
            raise _refused(self._archive, name, "a backslash in its name; extract it yourself")
        if CONTROL.search(name):
            raise _refused(self._archive, name, "control characters in its name")
        if not parts and not is_folder:
            raise _refused(self._archive, name, "it has no name")
        for depth in range(1, len(parts) + 1):
            self._note(name, "/".join(parts[:depth]), is_folder or depth < len(parts))
        path = "/".join(parts)
        if is_folder:
            return path, None
        folder = "/".join(parts[:-1])
        first = self._first.setdefault((_folded(folder), parts[-1]), path)
        return path, None if first.rpartition("/")[0] == folder else first

    def _note(self, name: str, path: str, is_folder: bool) -> None:
        if path in self._folders and not (is_folder and self._folders[path]):
            raise _refused(self._archive, name, "the same name occurs before")
        self._folders[path] = is_folder


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _zip_entries(name: str, archive: Member) -> Iterator[Entry]:
    """Members in their order; UserError for links, devices and what is encrypted."""
    with Window(archive).buffered() as file, zipfile.ZipFile(file) as opened:
        for info in opened.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or info.flag_bits & 1:
                told = "a link, device or encrypted; extract it yourself"
                raise _refused(name, info.filename, told)
            called = _zip_name(info)
            if called.endswith("/"):
                yield Entry(called, info.header_offset)
                continue
            try:
                content = opened.open(info)
            except (NotImplementedError, RuntimeError) as error:
                raise _refused(name, info.filename, str(error)) from error
            with content:
                yield Entry(called, info.header_offset, info.file_size, content=content)


def _parquet_entries(file: IO[bytes], most: int) -> Iterator[Entry]:
    """The images in the cells of a table, in the order of its rows."""
    for called, content in parquet.images_in(file, most):
        yield Entry(called, file.tell(), len(content), content=io.BytesIO(content))


def _zip_name(info: zipfile.ZipInfo) -> str:
    """A member's name, also as archivers write it that break the rules.

    Some mark no names as UTF-8 that are, and some part folders by backslashes alone.
    """
    name = info.filename
    if not info.flag_bits & UTF_8:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name if "/" in name else name.replace("\\", "/")


class _StrictTarInfo(tarfile.TarInfo):
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


def _tar_entries(name: str, file: IO[bytes], magic: bytes) -> Iterator[Entry]:
    """Members in their order; links with where they lead; UserError for devices and sparse files.

    `magic`: the first bytes of `file`. What is not compressed has the offset of its bytes.
    """
    make = next((make for start, make in COMPRESSED.items() if magic.startswith(start)), None)
    # Not the library's own decompression of streams: it does not notice a truncated archive.
    stream: IO[bytes] = file if make is None else make(file)
    mode: Literal["r:", "r|"] = "r:" if make is None else "r|"
    with tarfile.open(fileobj=stream, mode=mode, tarinfo=_StrictTarInfo) as opened:
        while info := opened.next():
            opened.members.clear()  # type: ignore[attr-defined]  # or it keeps every one
            if info.isdir():
                yield Entry(info.name, file.tell())
            elif info.islnk() or info.issym():
                base = posixpath.dirname(info.name) if info.issym() else ""
                leads_to = posixpath.normpath(posixpath.join(base, info.linkname))
                yield Entry(info.name, file.tell(), 0, leads_to=leads_to)
            elif info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.issparse():
                raise _refused(name, info.name, "a device or sparse file")
            elif make is None:
                yield Entry(info.name, file.tell(), info.size, offset=info.offset_data)
            else:
                content = opened.extractfile(info)
                yield Entry(info.name, file.tell(), info.size, content=content)
    if make is not None:
        stream.read(TAIL_BYTES)  # up to the checksum of the compressed stream
