"""Where packed datasets live, and how a new one gets there without ever being half there."""

import errno
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from anynet_study.errors import UserError, WorkFailedError

#: A folder of another machine's is given up when nothing in it changed for so long.
FOREIGN_SECONDS = 24 * 3600.0
#: And what was left for a dataset that nobody adds again.
STALE_SECONDS = 7 * 24 * 3600.0
#: Files of a workspace that say that some of its work is done: of unpacking, of packing.
FINISHED = ("*.json", "*/*.npz")


class NoRoomError(UserError):
    """The disk is too full for what is to come; what is done is kept."""


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


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

    Work that was interrupted, if by a kill or a full disk, leaves its folder, and the next one
    for the same name gets it: marks in it say what can be used. A `UserError` ends the work.
    Where the disk is full or read-only, the OSError names the data directory.
    """
    dataset_folder(name)
    root = data_root()
    if root.exists() and not root.is_dir():
        raise UserError(f"{root}: the data directory is no folder; name another in $ANYNET_DATA")
    root.mkdir(parents=True, exist_ok=True)
    try:
        folder = claim(root, name)
    except OSError as error:
        raise _naming(root, error) from error
    ended = True
    try:
        yield folder
    except NoRoomError:
        ended = False
        raise
    except OSError as error:
        ended = False
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _naming(root, error) from error
        raise
    except (KeyboardInterrupt, WorkFailedError, MemoryError):
        ended = False
        raise
    finally:
        if ended or not has_marks(folder):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            release(folder)


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
        target.rename(finished.with_name("replaced"))  # removed with the workspace
    try:
        finished.rename(target)
    except OSError:
        if not target.exists():
            raise
        return False
    return True


def claim(root: Path, name: str) -> Path:
    """A folder in `root` for this process to prepare `name` in: the newest that was left, or new.

    Removes others that were left for `name`, and old ones for any name. A folder changes its
    owner by a rename, so only one process gets it.
    """
    mine = root / f".{name}~{socket.gethostname()}~{_process(os.getpid())}~{secrets.token_hex(4)}"
    left = [path for path in root.glob(".*~*~*~*") if _is_left(path)]
    left.sort(key=_changed, reverse=True)
    for path in left:
        if path.name.split("~")[0] == f".{name}":
            if not mine.exists() and has_marks(path):
                with suppress(OSError):
                    path.rename(mine)
            else:
                shutil.rmtree(path, ignore_errors=True)
        elif time.time() - _changed(path) > STALE_SECONDS:
            shutil.rmtree(path, ignore_errors=True)
    mine.mkdir(exist_ok=True)
    return mine


def release(folder: Path) -> None:
    """Leave the folder of this process to the next, which may be this one."""
    name, host, _, token = folder.name.split("~", 3)
    with suppress(OSError):
        folder.rename(folder.with_name(f"{name}~{host}~left~{token}"))


def has_marks(folder: Path) -> bool:
    """Whether some of the work in `folder` is done for good."""
    return any(path.is_file() for pattern in FINISHED for path in folder.glob(pattern))


def _is_left(folder: Path) -> bool:
    _, host, process, _ = folder.name.split("~", 3)
    if host != socket.gethostname():
        return time.time() - _changed(folder) > FOREIGN_SECONDS
    number = process.partition("-")[0]
    return not number.isdigit() or process != _process(int(number))


def _process(number: int) -> str:
    """A process by its number and its start, in ticks since the machine's; empty if it is gone."""
    try:
        status = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return ""
    start = status.rpartition(")")[2].split()[19]
    return f"{number}-{start}"


def _changed(folder: Path) -> float:
    """When something in `folder` was last written, in seconds since 1970."""
    files = (folder, *folder.glob("*"), *folder.glob("*/*"))
    with suppress(OSError):
        return max(path.stat().st_mtime for path in files)
    return time.time()  # it goes away while it is looked at: not left
