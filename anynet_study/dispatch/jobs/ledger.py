"""The jobs of a study: which were submitted, and which of them live."""

import socket
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import psutil

from anynet_study.dispatch.jobs.submissions import Submission, record, settle, submissions
from anynet_study.dispatch.slurm.squeue import WAITING, Queued, queued_jobs

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
    """Record submitted jobs durably."""
    for job in jobs:
        record(folder, job.cluster, job.host, job.started, job.job_id, job.run_ids)


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
    entries = [it for it in submissions(folder) if not _all_among(it.tasks, ended)]
    here = [_task(it, 0) for it in entries if it.cluster != "slurm"]
    live = [LiveJob(job, "running", job.started, job.host) for job in here if _runs(job)]
    elsewhere = [it for it in entries if it.cluster == "slurm"]
    return live + (_in_queue(elsewhere, queued_jobs(), ended) if elsewhere else [])


def adopt(folder: Path) -> None:
    """Record the ids of jobs that Slurm has, though their launcher was killed before it knew."""
    unknown = {it.token for it in submissions(folder) if not it.job_id}
    if unknown:
        for token, job_id in _ids_by_token(queued_jobs()).items():
            if token in unknown:
                settle(folder, token, job_id)


def _in_queue(
    entries: Sequence[Submission], queued: Mapping[str, Queued], ended: Collection[str]
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


def _live(job: SubmittedJob, line: Queued) -> LiveJob:
    if line.state in WAITING:
        return LiveJob(job, "pending", None, reason=line.reason)
    return LiveJob(job, "running", line.started, line.host)


def _task(entry: Submission, number: int) -> SubmittedJob:
    job_id, run_ids = entry.id_of(number), entry.tasks[number]
    return SubmittedJob(job_id, entry.cluster, entry.host, entry.at, run_ids)


def _ids_by_token(queued: Mapping[str, Queued]) -> dict[str, str]:
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
