"""The jobs of a study: which were submitted, for which runs, and which of them live.

What was submitted is in a folder in which each launcher writes a file of its own. A line is a job,
or an array about to be submitted with the runs of its tasks, or what came of that, and what its
workers are to know (`Call`). Those that nobody submitted write files of their own: a line each time
that they take runs.
"""

import hashlib
import json
import os
import secrets
import socket
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psutil
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anynet_study.core.errors import UserError
from anynet_study.core.files import naming, open_regular
from anynet_study.data import data_root
from anynet_study.engine.dispatch.recorded import Retries, Retry
from anynet_study.engine.dispatch.slurm.commands import WAITING, QueuedJob, queued_jobs
from anynet_study.engine.dispatch.worker_state import (
    SILENT,
    is_of_here,
    process_mark,
    seems_to_live,
    silence,
    time_at,
)
from anynet_study.engine.planning import PlannedRun
from anynet_study.engine.study_folder import StudyFolder


@dataclass(frozen=True, slots=True)
class SubmittedJob:
    """A job as it was submitted."""

    #: Slurm's job id, or of a worker of `host` what ends with its process id.
    job_id: str
    #: slurm, or none: it came by itself, and `run_ids` are those that it has taken so far. local:
    #: earlier versions gave workers of a machine their runs.
    cluster: str = ""
    host: str = ""
    #: When the local process started, or the job was queued (seconds since 1970).
    started: float = 0.0
    #: The ids of its runs, separated by spaces: as text of their own a million take 70 MB more.
    run_ids: str = ""
    #: `process_mark` of a worker that came by itself. Without one, as before there were such marks,
    #: it is known by its signs of life alone.
    mark: str = ""
    #: Where its logs are, below the study's own or with a whole path (`logs_name`).
    logs: str = ""

    def log(self, logs: Path, kind: Literal["out", "err"]) -> Path:
        """Return what its worker wrote, as submitit names it; `logs`: the study's folder of logs.

        submitit knows a local worker by its process id. Logs beside Slurm's are of a time when
        local workers were not started by submitit.
        """
        name = self.job_id.rpartition("-")[2] if self.logs else self.job_id
        return logs / self.logs / f"{name}_0_log.{kind}"

    @property
    def runs(self) -> tuple[str, ...]:
        """The ids of its runs."""
        return tuple(self.run_ids.split())

    @property
    def is_of_here(self) -> bool:
        """Tell whether its process, of a local job, can be seen from here."""
        return self.host == socket.gethostname() and is_of_here(self.mark)

    @property
    def pid(self) -> int:
        """The id of its process, of a job that is none of Slurm's."""
        return int(self.job_id.rpartition("-")[2])

    @property
    def process(self) -> psutil.Process | None:
        """The process of a local job, if it runs on this machine."""
        with suppress(psutil.NoSuchProcess):
            if self.is_of_here and process_mark(self.pid) == self.mark:
                return psutil.Process(self.pid)
        return None


@dataclass(frozen=True, slots=True)
class LiveJob:
    """A job that is queued or running, as Slurm or this machine has it now."""

    job: SubmittedJob
    state: Literal["running", "pending"]
    #: When it began to run, this time (seconds since 1970); None while it waits.
    started: float | None
    #: The node it runs on; "" while it waits.
    host: str = ""
    #: Why it waits, in Slurm's words.
    reason: str = ""


class Call(BaseModel):
    """What a launch leaves for its workers."""

    model_config = ConfigDict(extra="ignore")
    #: The data directory of the launch.
    data_root: str = ""
    #: The ids of the runs that were missing then, for workers that come by themselves.
    runs: list[str] = []
    #: The failed runs that are to be tried again.
    retries: Retries = {}

    @classmethod
    def of(cls, retries: Retries, runs: Iterable[PlannedRun] = ()) -> "Call":
        """Return what workers are to know, with the data of this process."""
        ids = [run.run_id for run in runs]
        return cls(data_root=str(data_root().absolute()), runs=ids, retries=retries)


class Submission(BaseModel):
    """A line of a launcher's file: a job, an array about to be submitted, or what came of that."""

    model_config = ConfigDict(strict=True, extra="ignore")
    #: What its jobs carry in Slurm; "" of a job whose id was known at once.
    token: str = ""
    cluster: str = "slurm"
    host: str = ""
    #: When it was submitted, or the local process started (seconds since 1970).
    at: float = 0.0
    #: The ids of a single job's runs, separated by spaces; None of an array.
    runs: str | None = None
    #: The same of each task of an array; None of other lines.
    tasks: tuple[str, ...] | None = None
    #: The id of a job, Slurm's id of an array; "" while it is not known, or if it was refused.
    job: str = Field("", pattern=r"^((.*-)?[0-9]{1,12})?$")
    #: The ids of runs that a worker has just taken, separated by spaces.
    taken: str = ""
    call: Call = Call()
    array: bool = False
    mark: str = ""
    logs: str = ""

    @property
    def all_runs(self) -> tuple[str, ...]:
        """The ids of the runs of each of its jobs, separated by spaces."""
        return self.tasks or (() if self.runs is None else (self.runs,))

    def jobs(self) -> Iterator[SubmittedJob]:
        """Yield the jobs of this submission, whose ids are known."""
        for number, run_ids in enumerate(self.all_runs):
            yield self.submitted(f"{self.job}_{number}" if self.array else self.job, run_ids)

    def submitted(self, job_id: str, run_ids: str) -> SubmittedJob:
        """Return one job of this submission."""
        where = self.cluster, self.host, self.at
        return SubmittedJob(job_id, *where, run_ids, mark=self.mark, logs=self.logs)


def arrival(pid: int) -> SubmittedJob:
    """The entry of a worker that came by itself: a process of this machine.

    In containers, host names and process ids may be the same at two places: a digest of its mark
    is not.
    """
    host, began = socket.gethostname(), psutil.Process(pid).create_time()
    mark = process_mark(pid)
    short = hashlib.sha256((mark or str(began)).encode()).hexdigest()[:6]
    return SubmittedJob(f"{host}-{short}-{pid}", "none", host, began, mark=mark)


def logs_name(logs: Path, folder: Path) -> str:
    """Tell how the ledger names the `folder` of an executor, by the study's own of `logs`.

    A study may be moved; "" is the folder itself.
    """
    folder, own = folder.absolute(), logs.absolute()
    return (
        str(folder.relative_to(own)).removeprefix(".")
        if folder.is_relative_to(own)
        else str(folder)
    )


def silent_jobs(logs: Path, live: Iterable[LiveJob]) -> dict[str, float]:
    """Seconds since the last sign of life of running jobs that gave none for SILENT, by id."""
    ids, now = [it.job.job_id for it in live if it.state == "running"], time_at(logs)
    quiet = {job_id: silence(logs, job_id, now) for job_id in ids}
    return {job_id: it for job_id, it in quiet.items() if it is not None and it > SILENT}


def append(folder: Path, jobs: Iterable[SubmittedJob]) -> None:
    """Record durably jobs whose ids are known."""
    for job in jobs:
        where = {"cluster": job.cluster, "host": job.host, "at": job.started, "mark": job.mark}
        _write(folder, {"job": job.job_id, **where, "logs": job.logs, "runs": job.run_ids})


def intend(
    folder: Path,
    tasks: Sequence[str],
    is_array: bool = True,
    logs: str = "",
    call: Call | None = None,
) -> str:
    """Record durably that these tasks are about to be submitted to Slurm; their token."""
    token = secrets.token_hex(6)
    fields = {"token": token, "host": socket.gethostname(), "at": time.time(), "array": is_array}
    _write(folder, {**fields, "logs": logs, "call": (call or Call()).model_dump(), "tasks": tasks})
    return token


def settle(folder: Path, token: str, job_id: str) -> None:
    """Record what came of an intention: Slurm's id, or "" if it was refused."""
    _write(folder, {"token": token, "job": job_id})


def call_workers(folder: Path, call: Call) -> None:
    """Record durably what workers that come by themselves are to know."""
    _write(folder, {"call": call.model_dump()})


def note_taken(folder: Path, job_id: str, run_ids: Iterable[str]) -> None:
    """Record that a worker that came by itself is at runs now."""
    _write(folder, {"job": job_id, "taken": " ".join(run_ids)})


def last_call(folder: Path) -> Call | None:
    """Return what the last launch left for its workers, with the runs of all launches.

    A failed run that was tried again meanwhile has failed more often than a retry says.
    """
    calls = [line.call for line in _lines(folder) if line.call.data_root]
    again = dict[str, Retry]()
    for call in calls:
        again |= call.retries
    runs = dict.fromkeys(run_id for call in calls for run_id in call.runs)
    return Call(data_root=calls[-1].data_root, runs=[*runs], retries=again) if calls else None


def submissions(folder: Path) -> Iterator[Submission]:
    """All that was submitted, and what was intended without a word on what came of it (no id).

    Raises UserError for what no launch writes. A line torn by a kill is skipped.
    """
    intended: dict[str, Submission] = {}
    settled: dict[str, str] = {}
    came: dict[str, list[str]] = {}
    entries: dict[str, Submission] = {}
    for line in _lines(folder):
        if line.taken:
            came.setdefault(line.job, []).append(line.taken)
        elif line.cluster == "none" and line.runs is not None:
            entries[line.job] = line
        elif line.runs is not None:
            yield line
        elif line.tasks is not None:
            intended[line.token] = line
        elif line.token:
            settled[line.token] = line.job
        if line.token in intended and line.token in settled:
            entry, job = intended.pop(line.token), settled.pop(line.token)
            if job:
                yield entry.model_copy(update={"job": job})
    yield from intended.values()
    for job, entry in entries.items():
        yield entry.model_copy(update={"runs": " ".join(came.get(job, ()))})


def submission(folder: Path, token: str) -> Submission:
    """Return what a job of Slurm is to do, by the token of its submission."""
    for entry in submissions(folder):
        if entry.token == token:
            return entry
    raise UserError(f"{folder}: knows nothing of the submission {token} any more; launch again")


def submitted_jobs(folder: Path) -> Iterator[SubmittedJob]:
    """All jobs ever submitted whose ids are known."""
    for entry in submissions(folder):
        if entry.job:
            yield from entry.jobs()


def live_jobs(study: StudyFolder, recorded: Collection[str] = ()) -> list[LiveJob]:
    """The jobs that are queued or running now, in Slurm's order; one call of squeue for all.

    A job in Slurm is the study's if it bears the mark of one of its submissions.
    Jobs whose runs are all among `recorded` are not asked after: a finished study needs no Slurm.
    Workers on other machines live while they give signs of life.
    """
    ended = frozenset(recorded)
    live, in_slurm, now = [], [], time_at(study.logs)
    for entry in submissions(study.jobs):
        is_over = all(ended.issuperset(runs.split()) for runs in entry.all_runs)
        if is_over and entry.cluster != "none":
            continue
        if entry.cluster == "slurm":
            in_slurm.append(entry)
            continue
        jobs = (
            job
            for job in entry.jobs()
            if (job.process if job.is_of_here else seems_to_live(study.logs, job.job_id, now))
        )
        live += [LiveJob(job, "running", job.started, job.host) for job in jobs]
    tasks = {entry.token: entry for entry in in_slurm if entry.token}
    for job_id, line in queued_jobs().items() if tasks else ():
        if of := tasks.get(line.token):  # ids are used again: they prove nothing
            job = of.submitted(job_id, of.all_runs[int(job_id.partition("_")[2] or 0)])
            if not ended.issuperset(job.runs):
                live.append(_live(job, line))
    return live


def adopt(folder: Path) -> None:
    """Record the ids of jobs that Slurm has, though their launcher was killed before it knew."""
    unknown = {entry.token for entry in submissions(folder) if not entry.job}
    if unknown:
        lines = queued_jobs().items()
        found = {line.token: job_id.partition("_")[0] for job_id, line in lines}
        for token in unknown & found.keys():
            settle(folder, token, found[token])


def _live(job: SubmittedJob, line: QueuedJob) -> LiveJob:
    if line.state in WAITING:
        return LiveJob(job, "pending", None, reason=line.reason)
    return LiveJob(job, "running", line.started, line.host)


def _lines(folder: Path) -> Iterator[Submission]:
    """The lines of all launchers' files, by the times when these began."""
    for path in sorted(folder.glob("*.jsonl")):
        if not path.is_file():
            raise UserError(f"{path}: no regular file, as launch writes them; remove it")
        with open_regular(path) as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    continue  # torn
                try:
                    yield Submission.model_validate_json(line)
                except ValidationError:
                    raise UserError(
                        f"{path}: line {number} is none that launch writes; remove that line"
                    ) from None


def _write(folder: Path, fields: dict[str, Any]) -> None:
    """Append a line to this process's own file: nobody else, on whatever machine, may write it."""

    def opened(path: str, flags: int) -> int:
        return os.open(path, flags, 0o644)

    began = int(1000 * psutil.Process().create_time())
    path = folder / f"{began}-{socket.gethostname()}-{os.getpid()}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    with naming(path), open(path, "a", encoding="utf-8", opener=opened) as file:
        file.write(json.dumps(fields, separators=(",", ":")) + "\n")
        file.flush()
        os.fsync(file.fileno())
