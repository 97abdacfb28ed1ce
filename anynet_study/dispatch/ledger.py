"""The jobs of a study: which were submitted, for which runs, and which of them live.

What was submitted is in a folder in which each launcher writes a file of its own. A line is a job,
or an array about to be submitted with the runs of its tasks, or what came of that.
"""

import json
import os
import secrets
import socket
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import psutil

from anynet_study.dispatch.slurm.commands import WAITING, QueuedJob, queued_jobs
from anynet_study.files import naming

#: Slack when comparing a process's start time with the recorded one, in seconds.
CLOCK_SLACK = 1.0


@dataclass(frozen=True, slots=True)
class SubmittedJob:
    """A job as it was submitted."""

    #: Slurm's job id, or the process id of a local worker.
    job_id: str
    cluster: str
    host: str
    #: When the local process started, or the job was queued (seconds since 1970).
    #: For a local job part of its identity: process ids are used again.
    started: float
    #: The ids of its runs, separated by spaces: as text of their own a million take 70 MB more.
    run_ids: str

    @property
    def runs(self) -> tuple[str, ...]:
        """The ids of its runs."""
        return tuple(self.run_ids.split())

    @property
    def process(self) -> psutil.Process | None:
        """The process of a local job, if it runs on this machine."""
        if self.cluster == "slurm" or self.host != socket.gethostname():
            return None
        try:
            process = psutil.Process(int(self.job_id))
            same = abs(process.create_time() - self.started) < CLOCK_SLACK
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
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


@dataclass(frozen=True, slots=True)
class Submission:
    """A job, or an array of jobs, as it was, or was to be, submitted."""

    #: What its jobs carry in Slurm; "" of a job whose id was known at once.
    token: str
    cluster: str
    host: str
    #: When it was submitted, or the local process started (seconds since 1970).
    at: float
    #: The ids of each task's runs, separated by spaces.
    tasks: tuple[str, ...]
    #: The id of a job, Slurm's id of an array; "" while it is not known.
    job_id: str
    is_array: bool

    def jobs(self) -> Iterator[SubmittedJob]:
        """A job for each task."""
        for number, run_ids in enumerate(self.tasks):
            job_id = f"{self.job_id}_{number}" if self.is_array else self.job_id
            yield SubmittedJob(job_id, self.cluster, self.host, self.at, run_ids)


def local_job(job_id: str, run_ids: str) -> SubmittedJob:
    """The entry of a job just started on this machine."""
    started = psutil.Process(int(job_id)).create_time()
    return SubmittedJob(job_id, "local", socket.gethostname(), started, run_ids)


def append(folder: Path, jobs: Iterable[SubmittedJob]) -> None:
    """Record durably jobs whose ids are known."""
    for job in jobs:
        where = {"cluster": job.cluster, "host": job.host, "at": job.started}
        _write(folder, {"job": job.job_id, **where, "runs": job.run_ids})


def intend(folder: Path, tasks: Sequence[str], is_array: bool = True) -> str:
    """Record durably that these tasks are about to be submitted to Slurm; their token."""
    token = secrets.token_hex(6)
    fields = {"token": token, "host": socket.gethostname(), "at": time.time(), "array": is_array}
    _write(folder, {**fields, "tasks": tasks})
    return token


def settle(folder: Path, token: str, job_id: str) -> None:
    """Record what came of an intention: Slurm's id, or "" if it was refused."""
    _write(folder, {"token": token, "job": job_id})


def submissions(folder: Path) -> Iterator[Submission]:
    """All that was submitted, and what was intended without a word on what came of it (no id).

    A line torn by a kill is skipped.
    """
    intended: dict[str, Submission] = {}
    settled: dict[str, str] = {}
    for fields in _lines(folder):
        try:
            if "runs" in fields:
                where = fields["cluster"], fields["host"], fields["at"], (fields["runs"],)
                yield Submission("", *where, fields["job"], is_array=False)
                continue
            token = fields["token"]
            if "tasks" in fields:
                where = "slurm", fields["host"], fields["at"], tuple(fields["tasks"])
                intended[token] = Submission(token, *where, "", is_array=fields["array"])
            else:
                settled[token] = fields["job"]
        except (TypeError, KeyError):
            continue
        if token in intended and token in settled:
            entry, job_id = intended.pop(token), settled.pop(token)
            if job_id:
                yield replace(entry, job_id=job_id)
    yield from intended.values()


def submitted_jobs(folder: Path) -> Iterator[SubmittedJob]:
    """All jobs ever submitted whose ids are known."""
    for entry in submissions(folder):
        if entry.job_id:
            yield from entry.jobs()


def live_jobs(folder: Path, recorded: Collection[str] = ()) -> list[LiveJob]:
    """The jobs that are queued or running now, in Slurm's order; one call of squeue for all.

    Jobs whose runs are all among `recorded` are not asked after: a finished study needs no Slurm.
    Local jobs of another machine cannot be seen from here and count as ended.
    """
    ended = frozenset(recorded)
    live, in_slurm = [], []
    for entry in submissions(folder):
        if all(ended.issuperset(task.split()) for task in entry.tasks):
            continue
        if entry.cluster == "slurm":
            in_slurm.append(entry)
            continue
        live += [
            LiveJob(job, "running", job.started, job.host) for job in entry.jobs() if job.process
        ]
    if not in_slurm:
        return live
    queued = queued_jobs()
    tokens = _ids_by_token(queued)
    jobs: dict[str, SubmittedJob] = {}
    for entry in in_slurm:
        known = replace(entry, job_id=entry.job_id or tokens.get(entry.token, ""))
        jobs |= {job.job_id: job for job in known.jobs()}
    listed = ((jobs[job_id], line) for job_id, line in queued.items() if job_id in jobs)
    return live + [_live(job, line) for job, line in listed if not ended.issuperset(job.runs)]


def adopt(folder: Path) -> None:
    """Record the ids of jobs that Slurm has, though their launcher was killed before it knew."""
    unknown = {entry.token for entry in submissions(folder) if not entry.job_id}
    if unknown:
        for token, job_id in _ids_by_token(queued_jobs()).items():
            if token in unknown:
                settle(folder, token, job_id)


def _live(job: SubmittedJob, line: QueuedJob) -> LiveJob:
    if line.state in WAITING:
        return LiveJob(job, "pending", None, reason=line.reason)
    return LiveJob(job, "running", line.started, line.host)


def _ids_by_token(queued: dict[str, QueuedJob]) -> dict[str, str]:
    """The ids of the arrays and jobs that carry a token, by it."""
    return {line.token: job_id.split("_")[0] for job_id, line in queued.items() if line.token}


def _lines(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines of all launchers' files, by the times when these began."""
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    fields = json.loads(line)
                except ValueError:
                    continue
                if isinstance(fields, dict):
                    yield fields


def _write(folder: Path, fields: dict[str, Any]) -> None:
    """Append a line to this process's own file: nobody else, on whatever machine, writes it."""
    began = int(1000 * psutil.Process().create_time())
    path = folder / f"{began}-{socket.gethostname()}-{os.getpid()}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    with naming(path), path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(fields, separators=(",", ":")) + "\n")
        file.flush()
        os.fsync(file.fileno())
