"""Which jobs were submitted for which runs: one line a job, appended by the launcher."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from anynet_study.errors import WorkFailedError
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


def live_jobs(path: Path, recorded: Collection[str] = ()) -> list[SubmittedJob]:
    """The jobs that are queued or running now; one call of squeue however many there are.

    Jobs whose runs are all among `recorded` are not asked after: a finished study needs no Slurm.
    Local jobs of another machine cannot be seen from here and count as ended.
    """
    jobs = [job for job in read(path) if not set(job.runs) <= set(recorded)]
    queued = _queued_in_slurm() if any(job.cluster == "slurm" for job in jobs) else set()
    return [job for job in jobs if (job.job_id in queued if job.cluster == "slurm" else _runs(job))]


def _runs(job: SubmittedJob) -> bool:
    if job.host != socket.gethostname():
        return False
    try:
        process = psutil.Process(int(job.job_id))
        same = abs(process.create_time() - job.started) < CLOCK_SLACK
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _queued_in_slurm() -> set[str]:
    command = ["squeue", "--noheader", "--array", "--format=%i", "--user", str(os.getuid())]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        words = " ".join((getattr(error, "stderr", "") or str(error)).split())
        raise WorkFailedError(
            f"squeue does not answer, so queued jobs cannot be told from lost ones: {words}"
        ) from None
    return set(answer.stdout.split())
