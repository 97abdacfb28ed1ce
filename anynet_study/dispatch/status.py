"""How far a study is, from its own files and at most one call of squeue."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anynet_study.dispatch.ledger import SubmittedJob
from anynet_study.dispatch.plan import PlannedRun


@dataclass(frozen=True)
class Status:
    """Counts of runs and architectures, and what is under way."""

    planned: int
    completed: int
    diverged: int
    failed: int
    missing: int
    #: Architectures with a record for every one of their runs.
    rows_complete: int
    rows: int
    #: dataset -> (recorded, planned) runs.
    datasets: dict[str, tuple[int, int]]
    jobs: int
    #: Until the live jobs are done, by their pace so far; None if unknown.
    eta_seconds: float | None


def study_status(
    planned: Sequence[PlannedRun],
    finished: Mapping[str, str],
    jobs: Sequence[SubmittedJob],
    now: float | None = None,
) -> Status:
    """Summarise the records of the planned runs and the jobs that are alive."""
    statuses = Counter(finished.get(run.run_id, "missing") for run in planned)
    row_size = Counter(run.spec.architecture.id for run in planned)
    row_done = Counter(run.spec.architecture.id for run in planned if run.run_id in finished)
    columns = Counter(run.dataset for run in planned)
    column_done = Counter(run.dataset for run in planned if run.run_id in finished)
    return Status(
        planned=len(planned),
        completed=statuses["completed"],
        diverged=statuses["diverged"],
        failed=statuses["failed"],
        missing=statuses["missing"],
        rows_complete=sum(row_done[row] == size for row, size in row_size.items()),
        rows=len(row_size),
        datasets={name: (column_done[name], total) for name, total in columns.items()},
        jobs=len(jobs),
        eta_seconds=_eta(jobs, finished, time.time() if now is None else now),
    )


def _eta(jobs: Sequence[SubmittedJob], finished: Mapping[str, str], now: float) -> float | None:
    assigned = [run for job in jobs for run in job.runs]
    done = sum(run in finished for run in assigned)
    if not done:
        return None
    elapsed = now - min(job.started for job in jobs)
    return elapsed / done * (len(assigned) - done)
