"""What a worker says of itself, in a file of its own, and whether it was asked to leave.

The file says at which runs it is, and that it lives. A worker that leaves in order removes it, so
one that was killed, and cannot say so, is known by the file that it left behind. A sign of life is
a change of the file's time: how long ago the last one was is told by the clock of the file system
alone, for those of machines may differ.
"""

import json
import math
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Container, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from types import FrameType
from typing import Any, NoReturn

from anynet_study.core.errors import first_line
from anynet_study.core.files import read_regular
from anynet_study.engine.study_folder import FRESH
from anynet_study.store import FailureKind

#: Between two signs of life of a worker, in seconds.
BEAT = 20.0
#: A worker that gave no sign of life for so long, in seconds, is lost. Network file systems show
#: the changes of others up to a minute late.
SILENT = 180.0
#: A worker that took no step for so long, in seconds, hangs, and gives no sign of life any more.
HANGS = 1800.0
#: What asks a worker to leave: preemption and the end of a job (SIGTERM, SIGUSR1), Ctrl-C, and what
#: the script has Slurm send before a time limit (SIGUSR2, by default).
NOTED = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGUSR2)
#: What ends the names of workers' files.
ALIVE = "_0_alive"


def alive_file(logs: Path, job_id: str) -> Path:
    """The file of a job's worker; `logs`: the study's folder of logs."""
    return logs / f"{job_id}{ALIVE}"


def leave_file(logs: Path, job_id: str) -> Path:
    """Return what asks a worker to save and leave, wherever it is."""
    return logs / f"{job_id}_0_leave"


def this_system() -> str:
    """Return what tells this machine since it was started, and a container on it, from all others.

    "" where the system does not say.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def process_mark(pid: int) -> str:
    """Return what tells a process from all others: `this_system`, and its start after the boot.

    Process ids are used again, and times of day change with the clock. "" of one that has ended,
    and where the system does not say.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else f"{this_system()} {fields[19]}"


def is_of_here(mark: str) -> bool:
    """Tell whether a process with this mark is, or was, one that can be seen from here."""
    here = this_system()
    return bool(here) and mark.startswith(f"{here} ")


@dataclass
class Said:
    """What a worker says of itself."""

    host: str = ""
    #: The runs that it is at. Of each the time of the checkpoint with which it began, in seconds
    #: since 1970; 0: there was none.
    runs: dict[str, float] = field(default_factory=dict)
    #: Whether it ends with the process that started it.
    attached: bool = False
    #: Bytes of its log of errors that are of the workers before it: its job was queued again.
    before: int = 0
    #: What its end is a failure of, and why it was killed, as far as it or its launcher knew.
    lost_kind: FailureKind = ""
    lost: str = ""
    #: Why it left before its work was done: an exception, or a signal; "" while it is at work.
    left: str = ""

    @classmethod
    def read(cls, path: Path) -> "Said | None":
        """Read a worker's file; one that was only begun says nothing. None without one."""
        try:
            return cls(**json.loads(read_regular(path).decode("utf-8").partition("\n")[0]))
        except OSError:
            return None
        except (ValueError, TypeError):
            return cls()


class WorkerState(AbstractContextManager["WorkerState"]):
    """A worker at work. Its file is there in this block, and after it where work was left.

    `path` None: of a worker that nobody asks after. `errors`: its log of errors. After so many
    `seconds` it is as if SIGTERM came.
    """

    def __init__(
        self, path: Path | None = None, errors: Path | None = None, seconds: float = math.inf
    ) -> None:
        self._path, self._ended = path, threading.Event()
        before = errors.stat().st_size if errors and errors.exists() else 0
        self._stepped = time.monotonic()
        self._until = self._stepped + seconds
        #: By what it was asked to leave.
        self.signal: signal.Signals | None = None
        self.said = Said(host=socket.gethostname(), before=before)

    @property
    def job_id(self) -> str:
        """The id of its job; "" if nobody asks after it."""
        return self._path.name.removesuffix(ALIVE) if self._path else ""

    def __enter__(self) -> "WorkerState":
        self.note()
        if self._path:
            threading.Thread(target=self._beats, args=(self._path,), daemon=True).start()
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._ended.set()
        if error is not None:
            self.note(left=first_line(error), runs={})
        elif self._path and not self.said.left:
            self._path.unlink(missing_ok=True)
        if self._path:
            leave_file(self._path.parent, self.job_id).unlink(missing_ok=True)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Be at work in this block, and note signals. It must be entered in the main thread.

        Nothing is saved inside a handler, which may come in the middle of anything. Signals that
        this process was started to ignore, as Ctrl-C on its launcher's terminal, stay ignored.
        """
        heard = [number for number in NOTED if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, self.request) for number in heard}
        try:
            with self:
                yield
                if self.signal is not None:
                    self.note(left=f"asked to leave ({self.signal.name})", runs={})
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def request(self, number: int, _: FrameType | None = None) -> None:
        """Ask to leave: what a signal of this number does."""
        self.signal = signal.Signals(number)

    def requested(self) -> bool:
        """Tell whether to save and leave. Workers ask between two steps, so they do not hang."""
        self._stepped = time.monotonic()
        if self.signal is None and self._stepped >= self._until:
            self.request(signal.SIGTERM)
        return self.signal is not None

    def note(self, **changes: Any) -> None:
        """Change what the worker says: at once, but not durably. One that is killed is no crash."""
        for name, value in changes.items():
            setattr(self.said, name, value)
        line = json.dumps(asdict(self.said)).encode() + b"\n"
        if self._path:
            with suppress(OSError):  # a full disk is for the journal to find out
                file = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o666)
                try:  # what is longer than before is whole even if the rest is not cut off
                    os.ftruncate(file, os.pwrite(file, line, 0))
                finally:
                    os.close(file)

    def _beats(self, path: Path) -> None:
        """Give signs of life while the worker takes steps, however long each of them is."""
        while not self._ended.wait(BEAT):
            if self.signal is None and leave_file(path.parent, self.job_id).exists():
                self.request(signal.SIGTERM)
            if time.monotonic() - self._stepped < HANGS:
                with suppress(OSError):
                    os.utime(path)  # by the clock of the file system

    def begins(self, run_id: str, checkpoint: Path) -> None:
        """Say that it is at a run, which goes on from `checkpoint` if that is there."""
        self.note(runs={**self.said.runs, run_id: changed(checkpoint)})

    def ends(self, run_id: str) -> None:
        """Say that it is at a run no more."""
        if self.said.runs.pop(run_id, None) is not None:
            self.note()

    def end_without_gpu(self, kind: FailureKind, error: Exception) -> NoReturn:
        """End this process as if it was killed, for without its GPU nothing in it works any more.

        All runs that it trains are suspects: the one that met the error only waited for the GPU
        first.
        """
        print(error, file=sys.stderr, flush=True)
        lost = first_line(error)[:200]
        print(f"the GPU was lost: {lost}", flush=True)
        self.note(lost_kind=kind, lost=f"killed: the GPU was lost: {lost}")
        os.kill(os.getpid(), signal.SIGKILL)
        raise SystemExit(1)  # not reached


def changed(path: Path) -> float:
    """Return when a file was changed (seconds since 1970); 0 if it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def time_at(folder: Path) -> float:
    """The time by the clock of a folder's file system; by ours where it may not be written."""
    try:
        with TemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_mtime
    except OSError:
        return time.time()


def silence(logs: Path, job_id: str, now: float) -> float | None:
    """For how many seconds a job's worker gave no sign of life; None where none is expected.

    `now`: `time_at` the folder of logs.
    """
    path = alive_file(logs, job_id)
    said, at = Said.read(path), changed(path)
    return None if said is None or said.left or not at else max(0.0, now - at)


def seems_to_live(logs: Path, job_id: str, now: float) -> bool:
    """Tell whether a job's worker gave a sign of life not long ago; `now` as for `silence`."""
    quiet = silence(logs, job_id, now)
    return quiet is not None and quiet < SILENT


def remove_states(logs: Path, finished: Container[str]) -> None:
    """Remove the files of workers that ended, but for those killed at runs that are unfinished.

    Only while no job is at the study. Files that are `FRESH` stay.
    """
    for path in logs.glob(f"*{ALIVE}"):
        said = Said.read(path)
        is_over = said and all(run_id in finished for run_id in said.runs)
        if is_over and changed(path) < time.time() - FRESH:
            path.unlink(missing_ok=True)
