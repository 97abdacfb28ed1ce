"""Which log tells of a job or a run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from anynet_study.dispatch.jobs.ledger import SubmittedJob
from anynet_study.errors import UserError
from anynet_study.study_folder import StudyFolder

#: Beginnings of a run's id may stand for it if they have so many characters.
SHORTEST_PREFIX = 4


@dataclass(frozen=True)
class JobLog:
    """A job's log: what its worker wrote, and what it or Slurm wrote of errors."""

    job: SubmittedJob
    out: Path
    err: Path
    #: The run that was asked for; "" for all of the job.
    run_id: str = ""

    def text(self) -> list[str]:
        """The lines of the worker's log; those from where it last began with the run, if any."""
        lines = self.out.read_text(encoding="utf-8", errors="replace").splitlines()
        if not self.run_id:
            return lines
        mine = [n for n, line in enumerate(lines) if line.startswith(self.run_id)]
        begun = [n for n in mine if lines[n].endswith("begins")]
        return lines[(begun or mine or [0])[-1] :]


def log_of(study: StudyFolder, job: SubmittedJob, run_id: str = "") -> JobLog:
    """Where a job's log is, or will be."""
    out, err = (study.logs / f"{job.job_id}_0_log.{kind}" for kind in ("out", "err"))
    return JobLog(job, out, err, run_id)


def find_log(study: StudyFolder, jobs: Sequence[SubmittedJob], name: str) -> JobLog:
    """The log of a job by its id, or of the latest job that was at a run, by its id or beginning.

    Raises UserError if there is no such job or run, or several.
    """
    by_id = [job for job in jobs if job.job_id == name]
    if by_id:
        return log_of(study, max(by_id, key=lambda job: job.started))
    run_id = _run_called(name, (run_id for job in jobs for run_id in job.runs), study)
    having = [log_of(study, job, run_id) for job in jobs if run_id in job.runs]
    having.sort(key=lambda log: log.job.started, reverse=True)
    return next((log for log in having if _tells_of(log)), having[0])


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


def _tells_of(log: JobLog) -> bool:
    try:
        return log.run_id in log.out.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
