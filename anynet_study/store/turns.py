"""One at a time, where the file system can say so."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from anynet_study.progress import progress_if_long

SECONDS_BETWEEN_TRIES = 0.05


@contextmanager
def one_at_a_time(folder: Path, patience: float) -> Iterator[None]:
    """Wait until nobody else is inside for the same folder, at most `patience` seconds.

    A courtesy that spares doing the same work twice: where there are no locks (some NFS) nobody
    waits. The lock goes with the process that holds it, and leaves no file.
    """
    with ExitStack() as stack:
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            _wait(handle, patience)
        yield


def _wait(handle: int, patience: float) -> None:
    began = time.monotonic()
    with progress_if_long("waiting for another collect (s)", round(patience)) as report:
        while (waited := time.monotonic() - began) < patience:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(SECONDS_BETWEEN_TRIES)
                report(round(waited))
            else:
                return
