"""Which jobs were submitted for which runs: one line a job, appended by the launcher."""

import json
import os
import socket
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import psutil

from anynet_study.dispatch.squeue import WAITING, Queued, queued_jobs
from anynet_study.files import naming

#: Slack when comparing a process's start time with the recorded one, in seconds.
CLOCK_SLACK = 1.0


@dataclass(frozen=True)
class SubmittedJob:
    """A job as it was submitted."""

    #: submitit's id: Slurm's job id, or the process id of the local cluster's controller.
    job_id: str
    cluster: str
    host: str
    #: When the local process started, or the job was queued (seconds since 1970).
    #: For a local job part of its identity: process ids are used again.
    started: float
    runs: tuple[str, ...]


@dataclass(frozen=True)
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
    return SubmittedJob(job_id, "local", socket.gethostname(), started, tuple(runs))


def slurm_job(job_id: str, runs: Iterable[str]) -> SubmittedJob:
    """The entry of a job just queued."""
    return SubmittedJob(job_id, "slurm", socket.gethostname(), time.time(), tuple(runs))


def append(path: Path, jobs: Iterable[SubmittedJob]) -> None:
    """Record submitted jobs durably."""
    with naming(path), path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(job)) + "\n" for job in jobs)
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> Iterator[SubmittedJob]:
    """All jobs ever submitted; a line torn by a kill is skipped."""
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            fields = json.loads(line)
            yield SubmittedJob(**fields | {"runs": tuple(fields["runs"])})
        except (ValueError, TypeError, KeyError):
            continue


def live_jobs(path: Path, recorded: Collection[str] = ()) -> list[LiveJob]:
    """The jobs that are queued or running now; one call of squeue however many there are.

    Jobs whose runs are all among `recorded` are not asked after: a finished study needs no Slurm.
    Local jobs of another machine cannot be seen from here and count as ended.
    """
    jobs = [job for job in read(path) if not set(job.runs) <= set(recorded)]
    queued = queued_jobs() if any(job.cluster == "slurm" for job in jobs) else {}
    live = [
        _in_queue(job, queued[job.job_id])
        for job in jobs
        if job.cluster == "slurm" and job.job_id in queued
    ]
    here = [job for job in jobs if job.cluster != "slurm" and _runs(job)]
    return live + [LiveJob(job, "running", job.started, job.host) for job in here]


def _in_queue(job: SubmittedJob, queued: Queued) -> LiveJob:
    if queued.state in WAITING:
        return LiveJob(job, "pending", None, reason=queued.reason)
    return LiveJob(job, "running", queued.started, queued.host)


def _runs(job: SubmittedJob) -> bool:
    if job.host != socket.gethostname():
        return False
    try:
        process = psutil.Process(int(job.job_id))
        same = abs(process.create_time() - job.started) < CLOCK_SLACK
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
