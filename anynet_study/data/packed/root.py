"""The folder of packed datasets, which a new one enters whole or not at all."""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anynet_study.core.errors import UserError
from anynet_study.core.files import beside, put_folder, remove_left

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

    What a kill left of earlier ones is removed too. Where the disk is full or read-only, the
    OSError names the data directory.
    """
    root = dataset_folder(name).parent
    if root.exists() and not root.is_dir():
        raise UserError(f"{root}: the data directory is not a folder; name another in $ANYNET_DATA")
    folder = beside(root / name)
    try:
        folder.mkdir(parents=True)
        remove_left(root)
        yield folder
    except OSError as error:
        if folder.exists() and error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise OSError(error.errno, error.strerror or str(error), str(root)) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def publish(finished: Path, name: str, replace: bool = False) -> bool:
    """Make the `finished` folder of a workspace the dataset `name`; an old one is never missing.

    Returns False, changing nothing, if the dataset exists and `replace` is not set.
    """
    target = dataset_folder(name)
    if replace:
        put_folder(finished, target)  # the old one is removed with the workspace
        return True
    try:
        finished.rename(target)
    except OSError:
        if not target.exists():
            raise
        return False
    return True
