"""The jobs of a study, alive or not, and how each ended."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from anynet_study.dispatch.endings.logs import ending
from anynet_study.dispatch.jobs.ledger import LiveJob, SubmittedJob
from anynet_study.dispatch.recorded import Recorded
from anynet_study.study_folder import StudyFolder


@dataclass(frozen=True)
class ListedJob:
    """A line of the list."""

    job: str
    #: runs, waits, done (all its runs are recorded), or ended; unknown where squeue is silent.
    state: str
    host: str
    #: Its runs, and those of them that are recorded.
    runs: int
    recorded: int
    #: Why it waits, or how it ended with runs left.
    note: str


def list_jobs(
    study: StudyFolder,
    jobs: Iterable[SubmittedJob],
    live: Iterable[LiveJob] | None,
    recorded: Recorded,
) -> list[ListedJob]:
    """Jobs in the order in which they were submitted; `live` None: which live is not known."""
    alive = None if live is None else {each.job.job_id: each for each in live}
    return [_listed(study, job, alive, recorded) for job in jobs]


def _listed(
    study: StudyFolder, job: SubmittedJob, alive: Mapping[str, LiveJob] | None, recorded: Recorded
) -> ListedJob:
    done = sum(_is_over(run_id, job, recorded) for run_id in job.runs)
    counts = len(job.runs), done
    if alive and (live := alive.get(job.job_id)):
        state = "runs" if live.state == "running" else "waits"
        return ListedJob(job.job_id, state, live.host, *counts, live.reason)
    end = ending(study.logs, job.job_id)
    host = end.host if end else ""
    if done == len(job.runs):
        return ListedJob(job.job_id, "done", host, *counts, "")
    if alive is None:
        return ListedJob(job.job_id, "unknown", host, *counts, "")
    if end is None:
        return ListedJob(job.job_id, "ended", "", *counts, "never began")
    return ListedJob(job.job_id, "ended", host, *counts, end.words)


def _is_over(run_id: str, job: SubmittedJob, recorded: Recorded) -> bool:
    """Whether a run is recorded, and not only as the failure for which the job tries it again."""
    if recorded.runs.get(run_id) != "failed":
        return run_id in recorded.runs
    return recorded.failures[run_id][-1].ended > job.started
