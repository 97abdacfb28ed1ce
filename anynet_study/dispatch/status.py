"""How far a study is, from its own files and at most one call of squeue."""

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from anynet_study.dispatch.cost import CostModel
from anynet_study.dispatch.ledger import SubmittedJob
from anynet_study.dispatch.measured import MeasuredRun
from anynet_study.dispatch.planned import PlannedRun


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
    #: Further evaluations of completed runs that are recorded, and those that the sweep asks for.
    evaluations: int
    evaluations_planned: int
    #: dataset -> (recorded, planned) runs.
    datasets: dict[str, tuple[int, int]]
    jobs: int
    #: Until the live jobs are done, by the predicted lengths of their runs; None without jobs.
    eta_seconds: float | None
    #: What the lengths are predicted by; "" if not said.
    eta_basis: str


def study_status(
    planned: Sequence[PlannedRun],
    finished: Mapping[str, str],
    jobs: Sequence[SubmittedJob],
    now: float | None = None,
    cost: CostModel | None = None,
    measured: Sequence[MeasuredRun] = (),
    evaluated: Collection[tuple[str, str]] = (),
) -> Status:
    """Summarise the records of the planned runs and the jobs that are alive.

    `evaluated` are the pairs of run and evaluation that are recorded. `cost` is what the runs'
    lengths were predicted by, `measured` tells when a job's last run ended: see `measured.learn`.
    """
    statuses = Counter(finished.get(run.run_id, "missing") for run in planned)
    row_size = Counter(run.spec.architecture.id for run in planned)
    row_done = Counter(run.spec.architecture.id for run in planned if run.run_id in finished)
    columns = Counter(run.dataset for run in planned)
    column_done = Counter(run.dataset for run in planned if run.run_id in finished)
    evaluations = [(run.run_id, each) for run in planned for each in run.evaluations]
    return Status(
        planned=len(planned),
        completed=statuses["completed"],
        diverged=statuses["diverged"],
        failed=statuses["failed"],
        missing=statuses["missing"],
        rows_complete=sum(row_done[row] == size for row, size in row_size.items()),
        rows=len(row_size),
        evaluations=sum(each in evaluated for each in evaluations),
        evaluations_planned=len(evaluations),
        datasets={name: (column_done[name], total) for name, total in columns.items()},
        jobs=len(jobs),
        eta_seconds=_eta(planned, finished, jobs, measured, time.time() if now is None else now),
        eta_basis=cost.told if cost else "",
    )


def _eta(
    planned: Sequence[PlannedRun],
    finished: Mapping[str, str],
    jobs: Sequence[SubmittedJob],
    measured: Sequence[MeasuredRun],
    now: float,
) -> float | None:
    """Seconds until the last job has trained its list; all of them are at it, each by itself."""
    left = {run.run_id: run.seconds for run in planned if run.run_id not in finished}
    ended = {run.run_id: run.ended for run in measured}
    return max((_left_of(job, left, ended, now) for job in jobs), default=None)


def _left_of(
    job: SubmittedJob, left: Mapping[str, float], ended: Mapping[str, float], now: float
) -> float:
    """Predicted seconds of a job's runs that are left, but those that the first has been at it."""
    lengths = [left[run_id] for run_id in job.runs if run_id in left]
    if not lengths:
        return 0.0
    begins = [ended[run_id] for run_id in job.runs if run_id in ended]
    if job.cluster == "local":  # a Slurm job may have been waiting since
        begins.append(job.started)
    been_at_it = max(0.0, now - max(begins)) if begins else 0.0
    return sum(lengths) - min(been_at_it, lengths[0])
