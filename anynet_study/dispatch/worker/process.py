"""A worker's process: how it treats memory, and when it ends."""

import ctypes
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psutil

from anynet_study.dispatch.worker.signals import Interruption

#: How often an attached worker looks whether its launcher is still there, in seconds.
HEARTBEAT = 0.5
#: How long it may take to save what it is at when the launcher is gone, in seconds.
PATIENCE = 10.0
#: Where glibc looks for its settings.
TUNABLES = "GLIBC_TUNABLES"
#: Parameters of glibc's `mallopt` (malloc.h).
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


def keep_freed_memory() -> None:
    """Tell glibc not to hand each step's buffers back to the system: evaluation is a third faster.

    Speed only; other C libraries do without.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(M_MMAP_THRESHOLD, 1 << 25)  # the most that glibc takes
    mallopt(M_TRIM_THRESHOLD, 1 << 30)


def asking_for_huge_pages(environment: Mapping[str, str]) -> dict[str, str]:
    """What, added to an environment, has processes ask for huge pages: speed only.

    glibc reads this when a process begins; without glibc it means nothing.
    """
    settings = [environment.get(TUNABLES), "glibc.malloc.hugetlb=1"]
    return {TUNABLES: ":".join(filter(None, settings))}


@contextmanager
def huge_pages() -> Iterator[None]:
    """Processes started inside, by whatever way, ask for huge pages."""
    before = os.environ.get(TUNABLES)
    os.environ.update(asking_for_huge_pages(os.environ))
    try:
        yield
    finally:
        if before is None:
            del os.environ[TUNABLES]
        else:
            os.environ[TUNABLES] = before


def end_with(launcher: int, interruption: Interruption) -> None:
    """Leave as soon as the launcher is gone; by force if that takes long."""
    process = _process(launcher)

    def watch() -> None:
        while process is not None and _alive(process):
            time.sleep(HEARTBEAT)
        interruption.request(signal.SIGTERM)
        time.sleep(PATIENCE)
        os._exit(1)  # the journal is safe at any point

    threading.Thread(target=watch, daemon=True).start()


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
