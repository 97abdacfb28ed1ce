"""Where packed datasets live, and how a new one gets there without ever being half there."""

import errno
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from anynet_study.errors import UserError

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
    """A fresh hidden folder in the data directory to prepare `name` in; removed at the end.

    What a killed process of this machine left behind for the same name is removed first. Where
    the disk is full or read-only, the OSError names the data directory.
    """
    dataset_folder(name)
    root = data_root()
    if root.exists() and not root.is_dir():
        raise UserError(f"{root}: the data directory is no folder; name another in $ANYNET_DATA")
    root.mkdir(parents=True, exist_ok=True)
    ours = f".{name}~{socket.gethostname()}~"
    for left in root.glob(f"{ours}*"):
        pid = left.name.removeprefix(ours).split("~")[0]
        if not (pid.isdigit() and psutil.pid_exists(int(pid))):
            shutil.rmtree(left, ignore_errors=True)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{ours}{os.getpid()}~", dir=root))
    except OSError as error:
        raise _naming(root, error) from error
    try:
        yield folder
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _naming(root, error) from error
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _naming(root: Path, error: OSError) -> OSError:
    return OSError(error.errno, error.strerror, str(root))


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
