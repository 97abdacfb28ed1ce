"""Where packed datasets live, and how a new one gets there without ever being half there."""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anynet_study.data.packing.leftovers import claim, has_marks, release
from anynet_study.errors import UserError, WorkFailedError


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
