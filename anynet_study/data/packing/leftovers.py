"""Folders of work in the data directory: who owns them, and which nobody does any more.

`.<name>~<host>~<process>~<random>`, the process by its number and start, since numbers repeat.
"""

import os
import secrets
import shutil
import socket
import time
from contextlib import suppress
from pathlib import Path

from anynet_study.data.packing.marks import FILE as PACKING_MARK
from anynet_study.data.source.unpacking import SUFFIX

#: A folder of another machine's is given up when nothing in it changed for so long.
FOREIGN_SECONDS = 24 * 3600.0
#: And what was left for a dataset that nobody adds again.
STALE_SECONDS = 7 * 24 * 3600.0


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
    marks = (*folder.glob(f"*{SUFFIX}"), *folder.glob(f"*/{PACKING_MARK}"))
    return any(path.is_file() for path in marks)


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
