"""Unpacking zip and tar archives that may be hostile.

Only regular files with plain relative names come out, each name once, and no more of them or of
their bytes than `budget.Limits` allows, counted as they are written. See also `member_names`.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from anynet_study.data.source.budget import Budget
from anynet_study.data.source.entry import Entry
from anynet_study.data.source.member import Member
from anynet_study.data.source.member_names import MemberNames
from anynet_study.data.source.tar_entries import tar_entries
from anynet_study.data.source.window import Window
from anynet_study.data.source.zip_entries import zip_entries
from anynet_study.errors import UserError, first_line

#: Endings of the names of archives.
SUFFIXES = (".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tbz2", ".txz", ".tar", ".zip")
CHUNK = 1 << 20


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
            entries = zip_entries(name, archive)
        else:
            entries = tar_entries(name, file, magic)
        try:
            return _collect(entries, archive, name, target, budget, report)
        except Exception as error:  # the libraries raise nearly anything on hostile bytes
            if isinstance(error, UserError | MemoryError) or _is_of_the_system(error):
                raise
            reason = first_line(error)
            raise UserError(f"{name}: not a whole zip or tar archive ({reason})") from error


def _is_of_the_system(error: Exception) -> bool:
    """Whether a file could not be read or written: the errors of decoders have no number."""
    return isinstance(error, OSError) and error.errno is not None


def _collect(
    entries: Iterator[Entry],
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


def _contents(entry: Entry, archive: Member) -> IO[bytes]:
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


def _copy(entry: Entry, file: IO[bytes], budget: Budget, name: str) -> None:
    assert entry.content is not None
    while chunk := entry.content.read(CHUNK):
        budget.take_bytes(len(chunk), name, entry.name)
        file.write(chunk)
