"""A worker as a process: its signals, its memory, and the launcher whose end ends it."""

import ctypes
import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import psutil

from anynet_study.engine.dispatch.worker_state import WorkerState

#: Preemption and the end of a job (SIGTERM, SIGUSR1), Ctrl-C, and what the script has Slurm send
#: before a time limit (SIGUSR2, by default).
NOTED = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGUSR2)
#: How often an attached worker looks whether its launcher is still there, in seconds.
HEARTBEAT = 0.5
#: How long it may take to save what it is at when the launcher is gone, in seconds.
PATIENCE = 10.0
#: Plans of cuDNN that a worker keeps: those of 16 networks of 60 layers, forward and two back.
CUDNN_PLANS = 3000
#: Queues of work of a GPU, the most that there are: it tries networks side by side, each on streams
#: of its own, and those that share one of the usual eight queues wait for each other.
CUDA_CONNECTIONS = 32
#: Parameters of glibc's `mallopt` (malloc.h).
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


class Interruption:
    """Whether this process was asked to leave, and by what.

    Nothing is saved inside a handler, which may come in the middle of anything.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        """After so many `seconds` it is as if SIGTERM came."""
        self.signal: signal.Signals | None = None
        self.state, self._until = WorkerState(), time.monotonic() + seconds

    def requested(self) -> bool:
        """Tell whether to save and leave. Workers ask between two steps, so they do not hang."""
        self.state.step()
        if self.signal is None and (self.state.to_leave or time.monotonic() >= self._until):
            self.request(signal.SIGTERM)
        return self.signal is not None

    def request(self, number: int, _: FrameType | None = None) -> None:
        """Ask to leave: what a signal of this number does."""
        self.signal = signal.Signals(number)

    @contextmanager
    def listening(self, state: WorkerState | None = None) -> Iterator[None]:
        """Note signals in this block, in which a worker says of itself what `state` says.

        It must be entered in the main thread. Signals that this process was started to ignore, as
        Ctrl-C on its launcher's terminal, stay ignored.
        """
        heard = [number for number in NOTED if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, self.request) for number in heard}
        self.state = state or self.state
        try:
            with self.state:
                yield
                if self.signal is not None:
                    self.state.note(left=f"asked to leave ({self.signal.name})", runs={})
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def prepare_process(data_root: str) -> None:
    """Make this process one that trains, with datasets in a folder; before torch is imported."""
    keep_freed_memory()
    os.environ["OMP_NUM_THREADS"] = "1"
    # Torch keeps ten thousand of cuDNN's plans, each of an architecture's own, in host memory.
    os.environ.setdefault("TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT", str(CUDNN_PLANS))
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", str(CUDA_CONNECTIONS))
    os.environ["ANYNET_DATA"] = data_root


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


def end_with(launcher: int, interruption: Interruption) -> None:
    """Leave as soon as the launcher is gone; by force if that takes long."""

    def watch() -> None:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(launcher)
            while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                time.sleep(HEARTBEAT)
        interruption.request(signal.SIGTERM)
        time.sleep(PATIENCE)
        os._exit(1)  # the journal is safe at any point

    threading.Thread(target=watch, daemon=True).start()
