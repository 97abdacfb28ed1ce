"""Signals that ask a worker to leave: noted at once, acted upon between two steps."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: Preemption and the end of a job (SIGTERM, SIGUSR1), Ctrl-C, and what submitit has Slurm send
#: before a time limit (SIGUSR2, by default).
NOTED = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGUSR2)


class Interruption:
    """Whether this process was asked to leave, and by what.

    Nothing is saved inside a handler, which may come in the middle of anything.
    """

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self._before: dict[int, Any] = {}

    def requested(self) -> bool:
        """Whether to save and leave."""
        return self.signal is not None

    def request(self, number: int, _: FrameType | None = None) -> None:
        """Ask to leave: what a signal of this number does."""
        self.signal = signal.Signals(number)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Note signals in this block, which must be entered in the main thread.

        Those that this process was started to ignore, as Ctrl-C on its launcher's terminal, stay
        ignored.
        """
        heard = [each for each in NOTED if signal.getsignal(each) != signal.SIG_IGN]
        self._before = {number: signal.signal(number, self.request) for number in heard}
        try:
            yield
        finally:
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def pass_on(self) -> None:
        """Once all is saved: let submitit's handler have its signal, to queue the job again.

        SIGTERM and Ctrl-C have been answered by leaving.
        """
        if self.signal in (None, signal.SIGTERM, signal.SIGINT):
            return
        if callable(self._before[self.signal]):
            signal.raise_signal(self.signal)
