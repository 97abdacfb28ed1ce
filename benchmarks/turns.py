"""Ways of doing the same, in processes that take turns on the machine.

The speed of a machine that others share drifts by a fifth within seconds. Ways that are measured
one after the other meet different machines; ways that are stopped and continued many times each
meet the same, and their ratios repeat.
"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import psutil

#: Seconds for which a way runs before it is another's turn: far more than it takes to find its
#: processes and to fill the caches again.
TURN = 1.0

#: Starts the processes of a way.
Start = Callable[[], Sequence["subprocess.Popen[bytes]"]]


@dataclass
class Turns:
    """When the processes of a way ran, and what became of them."""

    running: list["subprocess.Popen[bytes]"]
    #: Unix times, from and to.
    slices: list[tuple[float, float]] = field(default_factory=list)
    #: Seconds of the processes and of all that they started and waited for.
    cpu: float = 0.0
    status: int = 0

    def until(self, moment: float = float("inf")) -> float:
        """Seconds for which it had run at a time (unix time), by default at its end."""
        return sum(max(0.0, min(end, moment) - begin) for begin, end in self.slices)

    def run(self, seconds: float | None) -> None:
        """Go on for so many seconds, None: to the end."""
        _signal(self.running, signal.SIGCONT)
        begun = time.time()
        until = None if seconds is None else time.monotonic() + seconds
        while self.running:
            left = None if until is None else 1e3 * max(0.0, until - time.monotonic())
            ended = _ended(self.running, left)
            if not ended:
                _signal(self.running, signal.SIGSTOP)
                break
            for process in ended:
                self._wait(process)
        self.slices.append((begun, time.time()))

    def _wait(self, process: "subprocess.Popen[bytes]") -> None:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.running.remove(process)
        self.cpu += used.ru_utime + used.ru_stime
        self.status = self.status or process.returncode


def take_turns(ways: Mapping[str, Start], seconds: float = TURN) -> dict[str, Turns]:
    """Run all ways to their end, `seconds` at a time; by name when each ran."""
    found: dict[str, Turns] = {}
    try:
        for name, start in ways.items():
            begun = time.time()
            found[name] = Turns(list(start()))
            _signal(found[name].running, signal.SIGSTOP)
            found[name].slices.append((begun, time.time()))
        while left := [turns for turns in found.values() if turns.running]:
            for turns in left:
                turns.run(seconds if len(left) > 1 else None)
    finally:
        for turns in found.values():  # none is left stopped for ever
            _signal(turns.running, signal.SIGKILL)
    return found


def _ended(
    running: Iterable["subprocess.Popen[bytes]"], milliseconds: float | None
) -> list["subprocess.Popen[bytes]"]:
    """Those that end within so many milliseconds, as soon as one does."""
    poll, by_file = select.poll(), {}
    for process in running:
        file = os.pidfd_open(process.pid)
        by_file[file] = process
        poll.register(file, select.POLLIN)
    try:
        return [by_file[file] for file, _ in poll.poll(milliseconds)]
    finally:
        for file in by_file:
            os.close(file)


def _signal(running: Iterable["subprocess.Popen[bytes]"], number: int) -> None:
    """Send a signal to processes and to all that they started, what these start meanwhile too."""
    reached: set[int] = set()
    while new := [it for it in _family(running) if it.pid not in reached]:
        for process in new:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)
            reached.add(process.pid)


def _family(running: Iterable["subprocess.Popen[bytes]"]) -> list[psutil.Process]:
    found = []
    for one in running:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(one.pid)
            found += [process, *process.children(recursive=True)]
    return found
