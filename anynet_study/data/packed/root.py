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

import psutil

from anynet_study.errors import UserError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
#: A workspace of another machine in which nothing changed for so long is given up.
STALE_SECONDS = 7 * 24 * 3600.0


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

    What a kill left of earlier ones is removed too. Where the disk is full or read-only, the
    OSError names the data directory.
    """
    dataset_folder(name)
    root, host = data_root(), socket.gethostname()
    if root.exists() and not root.is_dir():
        raise UserError(f"{root}: the data directory is not a folder; name another in $ANYNET_DATA")
    folder = root / f".{name}~{host}~{os.getpid()}-{secrets.token_hex(4)}"
    try:
        folder.mkdir(parents=True)
        _remove_left(root, host)
        yield folder
    except OSError as error:
        if folder.exists() and error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise OSError(error.errno, error.strerror or str(error), str(root)) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_left(root: Path, host: str) -> None:
    """Remove the workspaces of processes that ended, and those of other machines that are old."""
    for folder in root.glob(".*~*"):
        with suppress(OSError):  # it goes away while it is looked at
            ended = folder.stat().st_mtime < time.time() - STALE_SECONDS
            if f"~{host}~" in folder.name:
                ended = not psutil.pid_exists(int(re.split("[~-]", folder.name)[-2]))
            if ended:
                shutil.rmtree(folder, ignore_errors=True)


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
