"""Where packed datasets live, and how a new one gets there without ever being half there."""

import errno
import fcntl
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from anynet_study.errors import UserError, WorkFailedError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
#: A workspace in which nothing changed for so long is given up.
STALE_SECONDS = 7 * 24 * 3600.0
#: Files of a workspace that say that some of its work is done: of unpacking, of packing.
FINISHED = ("*.json", "*/*.npz")
#: The file of a workspace that its owner has locked.
LOCK = ".lock"


class NoRoomError(UserError):
    """The disk is too full for what is to come; what is done is kept."""


def data_root() -> Path:
    """The data directory: `$ANYNET_DATA`, or `data` in the current folder."""
    return Path(os.environ.get("ANYNET_DATA") or "data")


def dataset_folder(name: str) -> Path:
    """The folder of the packed dataset `name`; UserError if it cannot be a dataset's name."""
    if not NAME.fullmatch(name):
        raise UserError(
            f"dataset name {name!r}: legal are up to 64 letters, digits, '.', '_' and '-', "
            "the first a letter or a digit"
        )
    return data_root() / name


@contextmanager
def workspace(name: str) -> Iterator[Path]:
    """A hidden folder in the data directory to prepare `name` in; removed at the end.

    One process of a machine has it at a time; others wait. Work that was interrupted, by a kill or
    by a full disk, leaves the folder to the next process on that machine, if some of the work was
    finished. A `UserError` ends the work. Where the disk is full or read-only, the OSError names
    the data directory.
    """
    dataset_folder(name)
    root = data_root()
    if root.exists() and not root.is_dir():
        raise UserError(f"{root}: the data directory is no folder; name another in $ANYNET_DATA")
    root.mkdir(parents=True, exist_ok=True)
    _remove_stale(root)
    folder = root / f".{name}~{socket.gethostname()}"
    try:
        lock = _locked(folder)
    except OSError as error:
        raise _naming(root, error) from error
    ended = True
    try:
        yield folder
    except OSError as error:
        ended = False
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _naming(root, error) from error
        raise
    except (NoRoomError, KeyboardInterrupt, WorkFailedError, MemoryError):
        ended = False
        raise
    finally:
        if ended or not any(path for pattern in FINISHED for path in folder.glob(pattern)):
            shutil.rmtree(folder, ignore_errors=True)
        fcntl.flock(lock, fcntl.LOCK_UN)  # also where a fork of this process has a copy of it
        os.close(lock)


def _locked(folder: Path) -> int:
    """Lock a workspace, which is made if it is not there; returns the open lock."""
    told = False
    while True:
        folder.mkdir(exist_ok=True)
        try:
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:  # its owner has just removed it
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not told:
                print(f"waiting for a process that has {folder}", file=sys.stderr)
            told = True
            fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.stat(folder / LOCK)):
                return lock
        os.close(lock)


def _remove_stale(root: Path) -> None:
    """Remove the workspaces, of any machine, that nobody goes on with."""
    for folder in root.glob(".*~*"):
        files = (folder, *folder.glob("*"), *folder.glob("*/*"))
        with suppress(OSError):  # it goes away while it is looked at
            if time.time() - max(path.stat().st_mtime for path in files) > STALE_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def _naming(root: Path, error: OSError) -> OSError:
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        reason += "; make room and run the same command again, which goes on where it was"
    return OSError(error.errno, reason, str(root))


def publish(finished: Path, name: str, replace: bool = False) -> bool:
    """Rename the `finished` folder of a workspace to the dataset `name`.

    Returns False, changing nothing, if the dataset exists and `replace` is not set.
    """
    target = dataset_folder(name)
    if replace and target.exists():
        old = finished.with_name("replaced")  # removed with the workspace
        shutil.rmtree(old, ignore_errors=True)
        target.rename(old)
    try:
        finished.rename(target)
    except OSError:
        if not target.exists():
            raise
        return False
    return True
