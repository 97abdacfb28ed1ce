"""How a job ended, by its log: what its worker wrote there, and what Slurm wrote of it."""

import os
import re
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from anynet_study.dispatch.ledger import SubmittedJob
from anynet_study.dispatch.planned_run import PlannedRun
from anynet_study.errors import first_line
from anynet_study.store import FailureKind
from anynet_study.study_folder import StudyFolder

#: How a worker's log ends while it is at a run: after the run's id.
BEGINS = "begins"
#: What a worker writes before it ends because its GPU was lost, and why that was; and what its end
#: is called then.
LOST = "the GPU was lost: "
GPU_LOST = f"killed: {LOST}"
#: What a worker writes first if it ends with the process that started it.
ATTACHED = "worker of process"
#: At most this many bytes are read, from the end of a log.
TAIL_BYTES = 1 << 20

#: Patterns of what Slurm writes when it ends a job, with the kind of failure that this is for the
#: runs that the worker was training ("" if it is none) and words for people. The first pattern that
#: is found counts, because Slurm also reports jobs as killed that were cancelled or out of time.
REASONS: tuple[tuple[str, FailureKind, str], ...] = (
    (r"oom.kill|Out Of Memory|OOM Killed", "oom", "killed for want of memory"),
    (r"DUE TO TIME LIMIT", "timeout", "ended at the job's time limit"),
    (r"DUE TO NODE.?FAIL", "node", "lost with its node"),
    (r"DUE TO PREEMPTION", "", "preempted"),
    (r"DUE TO JOB REQUEUE", "", "requeued"),
    (r"CANCELLED AT", "", "cancelled"),
    (r"task \d+: Bus error", "node", "killed: bus error (a file went away under it)"),
    (r"task \d+: Illegal instruction", "node", "killed: illegal instruction"),
    (r"task \d+: (Segmentation fault|Aborted|Floating point exception)", "code", "killed: {}"),
)
KILLED: tuple[FailureKind, str] = ("node", "killed, perhaps for want of memory")

#: How torch and its libraries say that a GPU, its driver or the machine is not well, in lower case.
UNWELL = (
    "no cuda gpus are available",
    "cuda-capable device",
    "cuda driver",
    "uncorrectable ecc",
    "unspecified launch failure",
    "nvml",
    "can't start new thread",
)

#: How a worker's log begins: in submitit's words, or in our own before submitit started workers.
_START = re.compile(
    r"^(?:worker began|submitit INFO) \(([\d-]+) ([\d:]+)[,\d]*\).*hostname=([^,)\s]+)"
)
_CANCELLED = re.compile(r"CANCELLED AT (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)")
_RUN_ENDED = frozenset({"completed", "diverged", "failed"})
#: A disk with less room than this, in bytes, is full: not even a journal could begin.
FULL = 64 << 10


@dataclass(frozen=True)
class Ending:
    """How the last worker of a job ended; a job that was requeued had several."""

    #: The runs that it was training; empty if it left in order, or had not begun any.
    runs: tuple[str, ...]
    #: The kind of failure of those runs; "" if they did not fail.
    kind: FailureKind
    #: Why, for people.
    words: str
    #: The node; "" where it never began.
    host: str
    #: When it wrote last (seconds since 1970).
    ended: float
    #: Whether it ended with the process that started it, by whatever way.
    attached: bool

    @property
    def unexplained(self) -> bool:
        """Whether nobody said why it was killed: for want of memory, it may be."""
        return (self.kind, self.words) == KILLED


@dataclass
class _Worker:
    """What a worker wrote since it began."""

    began: str = ""
    host: str = ""
    attached: bool = False
    left: str = ""
    #: Why its GPU was lost, if it was.
    lost: str = ""


def ending(logs: Path, job: SubmittedJob) -> Ending | None:
    """How a job that is not alive ended; None if it never wrote anything.

    `logs`: the study's folder of logs.
    """
    out, err = job.log(logs, "out"), job.log(logs, "err")
    try:
        ended = out.stat().st_mtime
    except OSError:
        return None
    worker, at = _read_worker(_tail(out).splitlines())
    said = _since(_tail(err), worker.began)
    kind, words = _reason(said)
    if worker.lost:
        kind, words = kind_of_lost(worker.lost), GPU_LOST + worker.lost
    if worker.left or not at:
        in_order = "left in order" if (kind, words) == KILLED else words
        kind, words = "", worker.left or in_order
    return Ending(tuple(at), kind, words, worker.host, ended, worker.attached)


def _read_worker(lines: Sequence[str]) -> tuple[_Worker, list[str]]:
    """The last worker that wrote here, and the runs at which it was when it ended."""
    worker, at = _Worker(), dict[str, None]()
    for line in lines:
        if match := _START.match(line):
            worker, at = _Worker(f"{match[1]}T{match[2]}", match[3]), {}
        elif line.endswith("triggered an exception"):  # of journals: those of runs are recorded
            worker.left, at = "it met an exception", {}
        elif line.startswith(ATTACHED):
            worker.attached = True
        elif line.startswith(LOST):
            worker.lost = line.removeprefix(LOST)
        elif words := line.split():
            _follow(words, at)
    return worker, list(at)


def _follow(words: Sequence[str], at: dict[str, None]) -> None:
    """Note what a line of a worker's log says of a run."""
    if words[-1] == BEGINS:
        at[words[0]] = None
    elif words[1:3] == ["saved", "on"]:
        at.clear()
    elif len(words) > 3 and words[3] in _RUN_ENDED:
        at.pop(words[0], None)


def _reason(said: str) -> tuple[FailureKind, str]:
    for pattern, kind, words in REASONS:
        if match := re.search(pattern, said, re.IGNORECASE):
            return kind, words.format(*(group.lower() for group in match.groups()))
    return KILLED


def _since(said: str, began: str) -> str:
    """What was written since a worker began, where that can be told: before, others were ended."""
    lines = said.splitlines()
    before = [
        number
        for number, line in enumerate(lines)
        if (match := _CANCELLED.search(line)) and match[1] < began
    ]
    return "\n".join(lines[before[-1] + 1 :] if before else lines)


def _tail(path: Path) -> str:
    """The end of a text file; "" if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def why_workers_ended(study: StudyFolder, since: float) -> str:
    """Why workers ended, in a line; `since` (unix time) tells this launch's logs."""
    if disk_is_full(study):
        return f"the disk that holds {study.folder} is full"
    changed = [(path.stat().st_mtime, path) for path in study.logs.rglob("*_log.err")]
    logs = [path for when, path in sorted(changed, reverse=True) if when >= since]  # latest first
    said = (line for path in logs for line in reversed(_tail(path).split("\n")) if line.strip())
    reason = next(said, "the workers were ended").strip()
    return f"{reason.removeprefix('anynet_study.errors.UserError: ')} (logs: {study.logs})"


def say_begins(run: PlannedRun) -> None:
    """Let the worker's log tell that it is at `run`."""
    print(run.run_id, run.dataset, run.architecture, BEGINS, flush=True)


def kind_of_lost(reason: str) -> FailureKind:
    """The kind of failure that the loss of a GPU is of the runs that were on it."""
    return "node" if any(words in reason.lower() for words in UNWELL) else "code"


def end_without_gpu(error: Exception) -> NoReturn:
    """End this worker as if it was killed: nothing works any more in its process.

    All runs that it trains are suspects: the one that was told of the error is the one that
    waited for the GPU first.
    """
    print(error, file=sys.stderr, flush=True)
    print(LOST + first_line(error)[:200], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit(1)  # not reached


def disk_is_full(study: StudyFolder) -> bool:
    """Whether the disk that holds a study has no room left."""
    return shutil.disk_usage(study.folder).free < FULL
