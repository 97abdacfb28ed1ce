"""What a worker says of itself, in a file of its own: at which runs it is, and that it lives.

It removes the file when it leaves in order. So one that was killed, and cannot say so, is known by
the file that it left behind.
"""

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Container
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from anynet_study.core.errors import first_line
from anynet_study.core.files import read_regular
from anynet_study.engine.study_folder import FRESH
from anynet_study.store import FailureKind

#: Between two signs of life of a worker, in seconds.
BEAT = 20.0
#: A worker that gave no sign of life for so long, in seconds, hangs perhaps.
SILENT = 1800.0


def alive_file(logs: Path, job_id: str) -> Path:
    """The file of a job's worker; `logs`: the study's folder of logs."""
    return logs / f"{job_id}_0_alive"


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
    #: What the loss of its GPU is a failure of, and why that was lost; "" where it was not.
    lost_kind: FailureKind = ""
    lost: str = ""
    #: Why it left before its work was done: an exception, or a signal; "" while it is at work.
    left: str = ""

    @classmethod
    def read(cls, path: Path) -> "Said | None":
        """What stands in a worker's file; nothing of one that was begun only, None without one."""
        try:
            return cls(**json.loads(read_regular(path).decode("utf-8").partition("\n")[0]))
        except OSError:
            return None
        except (ValueError, TypeError):
            return cls()


class WorkerState(AbstractContextManager["WorkerState"]):
    """The file of a worker at work: there in this block, and after it where work was left.

    `path` None: of a worker that nobody asks after. `errors`: its log of errors.
    """

    def __init__(self, path: Path | None = None, errors: Path | None = None) -> None:
        self._path, self._next_beat = path, 0.0
        before = errors.stat().st_size if errors and errors.exists() else 0
        self.said = Said(host=socket.gethostname(), before=before)

    def __enter__(self) -> "WorkerState":
        self.note()
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None:
            self.note(left=first_line(error), runs={})
        elif self._path and not self.said.left:
            self._path.unlink(missing_ok=True)

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

    def beat(self) -> None:
        """Give a sign of life, if the last one is some time ago."""
        if self._path and time.monotonic() >= self._next_beat:
            self._next_beat = time.monotonic() + BEAT
            with suppress(OSError):
                self._path.touch()

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
        self.note(lost_kind=kind, lost=lost)
        os.kill(os.getpid(), signal.SIGKILL)
        raise SystemExit(1)  # not reached


def changed(path: Path) -> float:
    """When a file was changed (seconds since 1970); 0 if it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def silence(logs: Path, job_id: str) -> float | None:
    """For how many seconds a job's worker gave no sign of life; None where none is expected."""
    path = alive_file(logs, job_id)
    said, at = Said.read(path), changed(path)
    return None if said is None or said.left or not at else max(0.0, time.time() - at)


def remove_states(logs: Path, finished: Container[str]) -> None:
    """Remove the files of workers that ended, but for those killed at runs that are unfinished.

    Only while no job is at the study. Files that are `FRESH` stay.
    """
    for path in logs.glob("*_alive"):
        said = Said.read(path)
        is_over = said and all(run_id in finished for run_id in said.runs)
        if is_over and changed(path) < time.time() - FRESH:
            path.unlink(missing_ok=True)
