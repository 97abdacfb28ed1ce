"""Stopping the jobs of a study, and no others."""

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass

import psutil

from anynet_study.dispatch.jobs import ledger
from anynet_study.dispatch.jobs.ledger import LiveJob
from anynet_study.dispatch.jobs.submissions import submissions
from anynet_study.dispatch.slurm.squeue import WAITING, Queued, queued_jobs
from anynet_study.errors import WorkFailedError
from anynet_study.study_folder import StudyFolder

#: Ids in one call of scancel.
AT_ONCE = 500
#: How long local workers may take to save what they are at, in seconds.
PATIENCE = 30.0


@dataclass(frozen=True)
class Cancelled:
    """Jobs that were told to end."""

    running: int
    queued: int


def cancel_jobs(study: StudyFolder) -> Cancelled:
    """End all jobs of a study that run or wait; their runs are saved and go on another time.

    Jobs in Slurm are those with the study's mark; one whose id is known but which bears another
    mark is another's. Raises WorkFailedError with Slurm's words where squeue or scancel fail.
    """
    live = ledger.live_jobs(study.jobs)
    here = [job for job in live if job.job.cluster != "slurm"]
    tokens = {entry.token for entry in submissions(study.jobs) if entry.token}
    listed = [job for job in live if job.job.cluster == "slurm"]
    mine: dict[str, Queued] = {}
    if tokens or listed:
        known = {job.job.job_id for job in listed}
        mine = {
            job_id: line
            for job_id, line in queued_jobs().items()
            if line.token in tokens or (not line.token and job_id in known)
        }
    _scancel(mine)
    _end(here)
    running = sum(line.state not in WAITING for line in mine.values())
    return Cancelled(running + len(here), len(mine) - running)


def _scancel(jobs: Iterable[str]) -> None:
    """Cancel jobs by id; an array as a whole, for all of its tasks are the study's."""
    ids = sorted({job_id.split("_")[0] for job_id in jobs})
    for first in range(0, len(ids), AT_ONCE):
        command = ["scancel", *ids[first : first + AT_ONCE]]
        try:
            subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        except (OSError, subprocess.SubprocessError) as error:
            words = " ".join((getattr(error, "stderr", "") or str(error)).split())
            if "Invalid job id" not in words:  # it has ended in the meantime
                raise WorkFailedError(f"scancel: {words}; cancel again") from None


def _end(jobs: Iterable[LiveJob]) -> None:
    """Tell workers of this machine to save and leave, and wait until they have."""
    processes = []
    for live in jobs:
        try:
            process = psutil.Process(int(live.job.job_id))
            if abs(process.create_time() - live.job.started) < ledger.CLOCK_SLACK:
                process.terminate()  # submitit's controller passes it on to the worker
                processes.append(process)
        except psutil.NoSuchProcess:
            continue
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    if alive:
        raise WorkFailedError(
            f"{len(alive)} workers have not left within {PATIENCE:g} s: processes "
            f"{', '.join(str(process.pid) for process in alive)}"
        )
