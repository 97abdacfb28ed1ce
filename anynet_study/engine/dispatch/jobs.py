"""The jobs of a study: a list of them, the log of one of them, and their cancellation."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from anynet_study.core.errors import UserError, WorkFailedError
from anynet_study.core.files import open_regular
from anynet_study.engine.dispatch import ledger
from anynet_study.engine.dispatch.failures import ending
from anynet_study.engine.dispatch.ledger import LiveJob, SubmittedJob
from anynet_study.engine.dispatch.recorded import Recorded
from anynet_study.engine.dispatch.slurm.commands import ask
from anynet_study.engine.dispatch.worker_state import leave_file
from anynet_study.engine.study_folder import StudyFolder

#: The first characters of a run's id may stand for it, at least this many.
SHORTEST_PREFIX = 4
#: Ids in one call of scancel.
AT_ONCE = 500
#: How long local workers may take to save what they are at, in seconds.
PATIENCE = 30.0


@dataclass(frozen=True)
class ListedJob:
    """A line of the list."""

    job: str
    #: runs, waits, done (it ended normally, and all its runs are recorded), or ended; unknown where
    #: squeue is silent.
    state: str
    host: str
    #: Its runs, and those of them that are recorded by now, by whichever job.
    runs: int
    recorded: int
    #: Why it waits, or how it ended with runs left, or with runs that failed.
    note: str


def list_jobs(
    study: StudyFolder,
    jobs: Iterable[SubmittedJob],
    live: Iterable[LiveJob] | None,
    recorded: Recorded,
) -> list[ListedJob]:
    """Jobs in the order in which they were submitted; `live` None: which live is not known."""
    alive = {live_job.job.job_id: live_job for live_job in live or ()}
    listed = []
    for job in jobs:
        done = sum(_is_over(run_id, job, recorded) for run_id in job.runs)
        if live_job := alive.get(job.job_id):
            host, note = live_job.host, live_job.reason
            state = "runs" if live_job.state == "running" else "waits"
        else:
            end = ending(study.logs, job)
            host, note = (end.host, end.words) if end else ("", "never began")
            host = host or ("" if job.cluster == "slurm" else job.host)
            state = "ended"
            if done == len(job.runs) and not note:
                state = "done"
            elif live is None and done < len(job.runs):
                state, note = "unknown", ""
            if state == "done" and (failed := _failed(job, recorded)):
                note = f"{failed} failed"
            if state == "ended":
                note = note or "its log says why"
                note += "; by now all its runs are recorded" * (done == len(job.runs))
        listed.append(ListedJob(job.job_id, state, host, len(job.runs), done, note))
    return listed


def _failed(job: SubmittedJob, recorded: Recorded) -> int:
    return sum(recorded.runs.get(run_id) == "failed" for run_id in job.runs)


def _is_over(run_id: str, job: SubmittedJob, recorded: Recorded) -> bool:
    """Tell whether a run is recorded, and not as the failure for which the job tries it again."""
    if recorded.runs.get(run_id) != "failed":
        return run_id in recorded.runs
    return recorded.failures[run_id][-1].ended > job.started


@dataclass(frozen=True)
class JobLog:
    """A job's log: what its worker wrote, and what it or Slurm wrote of errors."""

    job: SubmittedJob
    out: Path
    err: Path
    #: The run that was asked for; "" for all of the job.
    run_id: str = ""

    @classmethod
    def of(cls, study: StudyFolder, job: SubmittedJob, run_id: str = "") -> "JobLog":
        """Return where a job's log is, or will be."""
        return cls(job, job.log(study.logs, "out"), job.log(study.logs, "err"), run_id)

    def lines(self, err: bool = False) -> list[str]:
        """Return what the worker wrote, or of that what tells of the run that was asked for.

        `err`: what else it printed, as errors of libraries, whatever run that tells of.
        """
        written = self.err if err else self.out
        if not written.exists():
            return []
        with open_regular(written) as file:
            lines = file.read().decode("utf-8", "replace").splitlines()
        return [line for line in lines if err or line.startswith(self.run_id)]


def find_log(study: StudyFolder, jobs: Sequence[SubmittedJob], name: str) -> JobLog:
    """The log of a job by its id, or of the latest job that was at a run, by its id or beginning.

    Raises UserError if there is no such job or run, or several.
    """
    latest_first = sorted(jobs, key=lambda job: job.started, reverse=True)
    by_id = [job for job in latest_first if job.job_id == name]
    if by_id:
        return JobLog.of(study, by_id[0])
    run_id = _run_called(name, (run_id for job in jobs for run_id in job.runs), study)
    having = [JobLog.of(study, job, run_id) for job in latest_first if run_id in job.runs]
    return next((log for log in having if log.lines()), having[0])


def _run_called(name: str, run_ids: Iterable[str], study: StudyFolder) -> str:
    found = sorted({run_id for run_id in run_ids if run_id.startswith(name)})
    if not found or len(name) < SHORTEST_PREFIX:
        raise UserError(
            f"{name}: no job or run of {study.folder}; legal: the id of a job (see anynet-study "
            f"logs {study.folder}), or of a run that was submitted, or its first "
            f"{SHORTEST_PREFIX} or more characters"
        )
    if len(found) > 1:
        such = ", ".join(found[:2])
        raise UserError(f"{name}: {len(found)} runs begin with that, such as {such}")
    return found[0]


@dataclass(frozen=True)
class CancelReport:
    """How many jobs were told to end, and the hosts of workers that hear of it later."""

    running: int
    queued: int
    elsewhere: Sequence[str] = ()


def cancel_jobs(study: StudyFolder) -> CancelReport:
    """End all jobs of a study that run or wait; their runs are saved and go on another time.

    Workers on other machines find a file that asks them to. Raises WorkFailedError with Slurm's
    words where squeue or scancel fail.
    """
    live = ledger.live_jobs(study)
    _scancel(it.job.job_id for it in live if it.job.cluster == "slurm")
    others = [it.job for it in live if it.job.cluster != "slurm"]
    elsewhere = [job for job in others if not job.is_of_here]
    for job in elsewhere:
        leave_file(study.logs, job.job_id).touch()
    _terminate(job for job in others if job.is_of_here)
    running = sum(it.state == "running" for it in live) - len(elsewhere)
    queued = len(live) - running - len(elsewhere)
    return CancelReport(running, queued, sorted({job.host for job in elsewhere}))


def _scancel(jobs: Iterable[str]) -> None:
    """Cancel jobs by id; an array as a whole, for all of its tasks are the study's."""
    ids = sorted({job_id.split("_")[0] for job_id in jobs})
    for first in range(0, len(ids), AT_ONCE):
        told = ask("scancel", *ids[first : first + AT_ONCE])
        if not told.works and "Invalid job id" not in told.error:  # it has ended in the meantime
            raise WorkFailedError(f"scancel: {told.error or 'it fails'}; cancel again")


def _terminate(jobs: Iterable[SubmittedJob]) -> None:
    """Tell workers of this machine to save and leave, and wait until they have."""
    processes = [process for job in jobs if (process := job.process)]
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    if alive:
        raise WorkFailedError(
            f"{len(alive)} workers have not left within {PATIENCE:g} s; if they hang, end them and "
            "launch again (no finished run is lost): kill -9 "
            f"{' '.join(str(process.pid) for process in alive)}"
        )
