"""The jobs of a study: which were submitted, for which runs, and which of them live.

What was submitted is in a folder in which each launcher writes a file of its own. A line is a job,
or an array about to be submitted with the runs of its tasks, or what came of that.
"""

import json
import os
import secrets
import socket
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import psutil

from anynet_study.dispatch.slurm.commands import WAITING, QueuedJob, queued_jobs
from anynet_study.files import naming


@dataclass(frozen=True, slots=True)
class Submission:
    """A job, or an array of jobs, as it was, or was to be, submitted."""

    #: What its jobs carry in Slurm; "" of a job whose id was known at once.
    token: str
    cluster: str
    host: str
    #: When it was submitted, or the local process started (seconds since 1970).
    at: float
    #: The ids of each task's runs, separated by spaces: a million runs are some dozen megabytes.
    tasks: tuple[str, ...]
    #: submitit's id of a job, Slurm's id of an array; "" while it is not known.
    job_id: str
    is_array: bool

    def id_of(self, task: int) -> str:
        """The id of a task's job."""
        return f"{self.job_id}_{task}" if self.is_array else self.job_id


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
                yield _job(fields)
                continue
            token = fields["token"]
            if "tasks" in fields:
                intended[token] = _intention(fields)
            else:
                settled[token] = fields["job"]
        except (TypeError, KeyError):
            continue
        if token in intended and token in settled:
            entry, job_id = intended.pop(token), settled.pop(token)
            if job_id:
                yield replace(entry, job_id=job_id)
    yield from intended.values()


def _job(fields: dict[str, Any]) -> Submission:
    cluster, host, at = fields["cluster"], fields["host"], fields["at"]
    return Submission("", cluster, host, at, (fields["runs"],), fields["job"], is_array=False)


def _intention(fields: dict[str, Any]) -> Submission:
    token, host, at, tasks = fields["token"], fields["host"], fields["at"], tuple(fields["tasks"])
    return Submission(token, "slurm", host, at, tasks, "", is_array=fields["array"])


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


#: Slack when comparing a process's start time with the recorded one, in seconds.
CLOCK_SLACK = 1.0


@dataclass(frozen=True, slots=True)
class SubmittedJob:
    """A job as it was submitted."""

    #: submitit's id: Slurm's job id, or the process id of the local cluster's controller.
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


def local_job(job_id: str, runs: Iterable[str]) -> SubmittedJob:
    """The entry of a job just started on this machine."""
    started = psutil.Process(int(job_id)).create_time()
    return SubmittedJob(job_id, "local", socket.gethostname(), started, " ".join(runs))


def append(folder: Path, jobs: Iterable[SubmittedJob]) -> None:
    """Record durably jobs whose ids are known."""
    for job in jobs:
        where = {"cluster": job.cluster, "host": job.host, "at": job.started}
        _write(folder, {"job": job.job_id, **where, "runs": job.run_ids})


def read(folder: Path) -> Iterator[SubmittedJob]:
    """All jobs ever submitted whose ids are known."""
    for entry in submissions(folder):
        if entry.job_id:
            yield from (_task(entry, number) for number in range(len(entry.tasks)))


def live_jobs(folder: Path, recorded: Collection[str] = ()) -> list[LiveJob]:
    """The jobs that are queued or running now; one call of squeue however many there are.

    Jobs whose runs are all among `recorded` are not asked after: a finished study needs no Slurm.
    Local jobs of another machine cannot be seen from here and count as ended.
    """
    ended = frozenset(recorded)
    entries = [entry for entry in submissions(folder) if not _all_among(entry.tasks, ended)]
    local = [_task(entry, 0) for entry in entries if entry.cluster != "slurm"]
    live = [LiveJob(job, "running", job.started, job.host) for job in local if _runs(job)]
    in_slurm = [entry for entry in entries if entry.cluster == "slurm"]
    return live + (_in_queue(in_slurm, queued_jobs(), ended) if in_slurm else [])


def adopt(folder: Path) -> None:
    """Record the ids of jobs that Slurm has, though their launcher was killed before it knew."""
    unknown = {entry.token for entry in submissions(folder) if not entry.job_id}
    if unknown:
        for token, job_id in _ids_by_token(queued_jobs()).items():
            if token in unknown:
                settle(folder, token, job_id)


def _in_queue(
    entries: Sequence[Submission], queued: Mapping[str, QueuedJob], ended: Collection[str]
) -> list[LiveJob]:
    """The tasks that squeue lists, but for those whose runs are all recorded."""
    tokens = _ids_by_token(queued)
    arrays: dict[str, list[int]] = {}
    for job_id in queued:
        array, _, task = job_id.partition("_")
        if task.isdigit():
            arrays.setdefault(array, []).append(int(task))
    live = []
    for entry in entries:
        known = replace(entry, job_id=entry.job_id or tokens.get(entry.token, ""))
        listed: Iterable[int] = arrays.get(known.job_id, ()) if known.is_array else (0,)
        for number in listed:
            line = queued.get(known.id_of(number))
            if line and number < len(known.tasks) and not _all_among([known.tasks[number]], ended):
                live.append(_live(_task(known, number), line))
    return live


def _live(job: SubmittedJob, line: QueuedJob) -> LiveJob:
    if line.state in WAITING:
        return LiveJob(job, "pending", None, reason=line.reason)
    return LiveJob(job, "running", line.started, line.host)


def _task(entry: Submission, number: int) -> SubmittedJob:
    job_id, run_ids = entry.id_of(number), entry.tasks[number]
    return SubmittedJob(job_id, entry.cluster, entry.host, entry.at, run_ids)


def _ids_by_token(queued: Mapping[str, QueuedJob]) -> dict[str, str]:
    """The ids of the arrays and jobs that carry a token, by it."""
    return {line.token: job_id.split("_")[0] for job_id, line in queued.items() if line.token}


def _all_among(tasks: Iterable[str], recorded: Collection[str]) -> bool:
    return all(run in recorded for task in tasks for run in task.split())


def _runs(job: SubmittedJob) -> bool:
    if job.host != socket.gethostname():
        return False
    try:
        process = psutil.Process(int(job.job_id))
        same = abs(process.create_time() - job.started) < CLOCK_SLACK
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
