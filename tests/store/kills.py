"""Collects killed with SIGKILL at random points; prints what it found as JSON.

A script, so that it forks a process without threads: `kills.py FOLDER KILLS SEED`.
"""

import json
import os
import random
import select
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from store_factory import gather, record, write_journal

from anynet_study.store import ResultStore
from anynet_study.store.hdf5 import _Disk

RUNS = 30
#: Longest that a child that ends itself is left alone, in seconds.
PATIENCE = 10.0


class Countdown:
    """Calls that are counted, and end this process when there were enough."""

    def __init__(self) -> None:
        self.left = 1 << 60

    def counted(self, owner: Any, name: str) -> None:
        """Count the calls of a function."""
        call = getattr(owner, name)

        def tick(*arguments: Any) -> Any:
            self.left -= 1
            if self.left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments)

        setattr(owner, name, tick)


def killed(work: Callable[[], None], begun: int, after: float) -> None:
    """Do `work` in a child that is killed so long after it first wrote to the pipe `begun`."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    select.select([begun], [], [], 10)
    end = time.monotonic() + after
    while time.monotonic() < end:
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.0005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def collect_until_killed(folder: Path, countdown: Countdown, left: int, pipe: int) -> None:
    countdown.left = left
    os.write(pipe, b"x")
    while True:
        gather(folder, anew=left % 2 == 0)


def kill_collects(folder: Path, kills: int, moments: random.Random) -> dict[str, int]:
    """The store is always there, opens, and holds all runs of an earlier one."""
    write_journal(folder / "journals" / "0.arrow", [record(number) for number in range(RUNS)])
    countdown = Countdown()
    for owner, name in ((_Disk, "write"), (os, "fsync"), (Path, "replace"), (os, "pread")):
        countdown.counted(owner, name)
    gather(folder)
    calls = (1 << 60) - countdown.left
    counts = {"broken": 0, "fewer": 0, "replaced": 0, "runs": RUNS}
    reader, writer = os.pipe()
    for number in range(kills):
        if number % 8 == 0:
            more = [record(RUNS + number + i) for i in range(3)]
            write_journal(folder / "journals" / f"{number + 1}.arrow", more)
        before = (folder / "results.h5").stat().st_ino
        left = moments.randrange(1, calls + calls // 2)  # the first store, and half the second
        work = partial(collect_until_killed, folder, countdown, left, writer)
        killed(work, reader, PATIENCE if number % 2 else moments.uniform(0, 0.1))
        os.read(reader, 1)
        try:
            runs = len(ResultStore(folder / "results.h5").runs())
        except Exception:
            counts["broken"] += 1
            continue
        counts["fewer"] += runs < counts["runs"]
        counts["runs"] = max(runs, counts["runs"])
        counts["replaced"] += (folder / "results.h5").stat().st_ino != before
    return counts


def no_fsync(handle: int) -> None:
    """A kill, unlike a power cut, loses nothing that was written."""


if __name__ == "__main__":
    os.fsync = no_fsync
    place, count, seed = sys.argv[1:]
    print(json.dumps(kill_collects(Path(place), int(count), random.Random(int(seed)))))
