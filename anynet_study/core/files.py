"""Publishing files and folders, so that a reader sees the old or the new one, never half of one."""

import ctypes
import errno
import hashlib
import os
import re
import resource
import secrets
import shutil
import socket
import stat
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any

from anynet_study.core.errors import UserError

#: What a kill may leave: hidden, with the host and the process that made it.
_LEFT = re.compile(r"\..+~(?P<host>.+)~(?P<pid>\d+)-[0-9a-f]{8}\.tmp", re.DOTALL)
#: A folder that was put aside while another takes its place, on file systems that cannot exchange.
_ASIDE = re.compile(r"\.(?P<name>.+)~aside", re.DOTALL)
#: What another host made, and nothing has changed for so long, is given up.
STALE_SECONDS = 7 * 24 * 3600.0
#: Of Linux: two names are exchanged in one step (`renameat2`).
_AT_CURRENT_FOLDER, _EXCHANGE = -100, 2
#: In bytes: what a table of strangers may take while it is read.
MOST_MEMORY = 3 << 28
#: A limit is the whole process's: two threads would give each other's back.
_ONE_LIMIT = threading.RLock()


def beside(path: Path) -> Path:
    """A new hidden name beside `path`, by which `remove_left` knows whose it is."""
    # Process ids repeat across the machines that share a file system.
    whose = f"{socket.gethostname()}~{os.getpid()}-{secrets.token_hex(4)}"
    return path.with_name(f".{path.name}~{whose}.tmp")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success fsync it and rename it over `path`.

    On any exception (a full disk, Ctrl-C) the temporary file is removed and `path` is untouched;
    an OSError names `path`. What kills have left in the folder is removed.
    """
    if not path.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_left(path.parent)
    temporary = beside(path)
    try:
        with naming(path, temporary):
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
            sync_folder(path.parent)
    finally:
        with suppress(OSError):  # a read-only folder refuses this too, whatever is there
            temporary.unlink()


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield a new folder beside `path`; on success it takes the place of `path`, see `put_folder`.

    On any exception it is removed and `path` is untouched; an OSError names `path`. What kills have
    left in the folder above is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_left(path.parent)
    temporary = beside(path)
    try:
        with naming(path, temporary):
            temporary.mkdir()
            yield temporary
            _sync_files(temporary)
            put_folder(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)  # since the exchange, the old one


@contextmanager
def updating_folder(path: Path, outdated: Collection[str]) -> Iterator[Path]:
    """Yield a new folder; on success `path` has what is in it and all that was there before.

    But for files whose names match patterns of `outdated`, which the block may still fill, and that
    were not made again. `path` is exchanged in one step (`replacing_folder`), so that after a kill
    it has all of the new files or none. Where that cannot be (the current folder is in it, the one
    above may not be written to), the files take their places one by one at the end. On any
    exception `path` is untouched.
    """
    real = path.resolve()
    if real.is_mount() or Path.cwd().is_relative_to(real) or not _may_write(real.parent):
        with _one_by_one(real, outdated) as made:
            yield made
        return
    with suppress(_NothingMadeError), replacing_folder(real) as made:
        yield made
        if not real.is_dir() and not any(made.iterdir()):
            raise _NothingMadeError
        for old in real.iterdir() if real.is_dir() else ():
            if _stays(old, made, outdated):
                _link(old, made / old.name)


class _NothingMadeError(Exception):
    """There is nothing to make a folder for."""


@contextmanager
def _one_by_one(path: Path, outdated: Collection[str]) -> Iterator[Path]:
    """Do what `updating_folder` does, but let each file take its place by itself."""
    path.mkdir(parents=True, exist_ok=True)
    remove_left(path)
    made = beside(path / "new")
    try:
        made.mkdir()
        yield made
        _sync_files(made)
        for old in path.iterdir():
            again = old.name.startswith(".") or (made / old.name).exists()
            if not again and not _stays(old, made, outdated):
                old.unlink()
        for new in made.iterdir():
            new.replace(path / new.name)
        sync_folder(path)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _stays(old: Path, made: Path, outdated: Collection[str]) -> bool:
    """Tell whether what was there stays: it was neither made again nor is it outdated."""
    gone = any(fnmatchcase(old.name, pattern) for pattern in outdated)
    return not gone and not os.path.lexists(made / old.name)


def _may_write(folder: Path) -> bool:
    """Tell whether something may be put into a folder, which is there or can be made."""
    there = next(it for it in (folder, *folder.parents) if it.exists())
    return os.access(there, os.W_OK)


def _link(old: Path, new: Path) -> None:
    """A second name of a file, or of all files of a folder; a copy where there are no links."""

    def link(source: str, target: str) -> str:
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError:
            shutil.copy2(source, target, follow_symlinks=False)
        return target

    if old.is_dir() and not old.is_symlink():
        shutil.copytree(old, new, symlinks=True, copy_function=link)
    else:
        link(str(old), str(new))


def put_folder(made: Path, path: Path) -> None:
    """Make the folder `made` the folder `path` in one step; an old one is then where `made` was.

    Where the file system cannot exchange two folders (NFS), the old one is put aside first; after a
    kill in between, the next `remove_left` puts it back. Both are in one file system.
    """
    if not path.exists():
        made.rename(path)
    elif not _exchanged(made, path):
        aside = path.with_name(f".{path.name}~aside")
        path.rename(aside)
        try:
            made.rename(path)
        except OSError:
            aside.rename(path)
            raise
        with suppress(OSError):  # another command has removed it
            aside.rename(made)
    sync_folder(path.parent)


def _exchanged(one: Path, other: Path) -> bool:
    """Tell whether two names were exchanged in one step; False, changing nothing, if that
    cannot be.
    """
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return False
    names = os.fsencode(one), os.fsencode(other)
    if not function(_AT_CURRENT_FOLDER, names[0], _AT_CURRENT_FOLDER, names[1], _EXCHANGE):
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), str(other))


def remove_left(folder: Path) -> None:
    """Remove what kills have left in `folder`, and put back a folder that was put aside.

    That is what processes of this host made that are no more, and what is old of other hosts.
    Never raises: a folder that cannot be read or written has nothing to remove.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        hidden = [Path(entry.path) for entry in entries if entry.name.startswith(".")]
        for path in hidden:
            if aside := _ASIDE.fullmatch(path.name):
                with suppress(OSError):  # another takes its place: the one put aside is the old one
                    path.rename(path.with_name(aside["name"]))
                    continue
                shutil.rmtree(path, ignore_errors=True)
            elif (left := _LEFT.fullmatch(path.name)) and _is_left(path, left):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    with suppress(OSError):
                        path.unlink()


def _is_left(path: Path, name: re.Match[str]) -> bool:
    if name["host"] != socket.gethostname():
        with suppress(OSError):  # it goes away while it is looked at
            return path.lstat().st_mtime < time.time() - STALE_SECONDS
        return False
    try:
        os.kill(int(name["pid"]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # another user's, or no process's number
        pass
    return False


def _sync_files(folder: Path) -> None:
    """Have all files below a folder, and their names, on the disk."""
    for parent, _, files in os.walk(folder):
        for name in files:
            with Path(parent, name).open("rb") as file:
                os.fsync(file.fileno())
        sync_folder(Path(parent))


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, as far as its file system can: a rename is one."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def naming(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Let an OSError that names no file, as of a full disk, or the temporary one, name `path`.

    Of a file in a temporary folder: that file in `path`.
    """
    try:
        yield
    except OSError as error:
        named, within = error.filename, ""
        if named is not None and str(named) != str(temporary):
            if temporary is None or not str(named).startswith(f"{temporary}/"):
                raise
            within = str(named).removeprefix(str(temporary))
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno, reason, f"{path}{within}") from error


def open_regular(path: Path) -> BufferedReader:
    """A file that somebody else may have put there, open for reading: the one door for these.

    Raises OSError for what is no regular file: a pipe would be waited for, a device never ends.
    Where a read of it fails, the error names it.
    """
    file = _Named(path, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return BufferedReader(file)


class _Named(FileIO):
    """A file whose errors name it."""

    def readinto(self, buffer: Any) -> int:
        with naming(Path(str(self.name))):
            return super().readinto(buffer)

    def readall(self) -> bytes:
        with naming(Path(str(self.name))):
            return super().readall()


def read_regular(path: Path, most: int = 64 << 20) -> bytes:
    """The content of a file of up to `most` bytes; OSError as `open_regular`, and for a larger one,
    as sparse files are.
    """
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB", str(path))
        return file.read()


@contextmanager
def within_memory(what: object, most: int = MOST_MEMORY) -> Iterator[None]:
    """Let a library that reads what strangers wrote take no more than `most` bytes of memory.

    Libraries allocate what a file claims, or unpacks to, before anybody can look at it. The limit
    is the operating system's, of the whole process, and only while the block runs; one thread at a
    time is in such a block. Raises UserError that begins with `what`. Without effect where the
    system does not tell how much memory a process has (macOS).
    """
    with _ONE_LIMIT:
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        with suppress(OSError):
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            asked = pages * resource.getpagesize() + most
            if soft == resource.RLIM_INFINITY or asked < soft:
                resource.setrlimit(resource.RLIMIT_AS, (asked, hard))
        try:
            yield
        except MemoryError:  # pyarrow's is one as well
            raise UserError(f"{what}: takes more than {most / 2**30:.3g} GiB of memory") from None
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def sha256_of(path: Path) -> str:
    """SHA-256 of the content of a file, in hexadecimal digits."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_text(path: Path, text: str, mode: int | None = None) -> None:
    """Write `text` to `path` atomically; with `mode` as its permissions, whatever the umask."""
    with replacing(path) as temporary:
        if mode is not None:
            temporary.touch(mode=0o600)
            temporary.chmod(mode)
        temporary.write_text(text, encoding="utf-8")
