"""How far a study is, from its own files and at most one call of squeue."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from anynet_study.dispatch.cost.learned import Learned
from anynet_study.dispatch.endings.deaths import unfinished_jobs
from anynet_study.dispatch.jobs.ledger import LiveJob, SubmittedJob
from anynet_study.dispatch.jobs.under_way import tried_again
from anynet_study.dispatch.planned import Plan
from anynet_study.dispatch.progress.eta import eta
from anynet_study.dispatch.progress.plan_counts import (
    by_dataset,
    complete_rows,
    evaluated,
    marks,
    recorded_of,
)
from anynet_study.dispatch.progress.throughput import Pace
from anynet_study.dispatch.recorded import Recorded

#: Reasons of Slurm such as JobHeldUser and launch failed requeued held.
HELD = re.compile("held", re.IGNORECASE)


@dataclass(frozen=True)
class Jobs:
    """A study's jobs: of `submitted`, all that ever were, the live ones."""

    live: Sequence[LiveJob] = ()
    submitted: Iterable[SubmittedJob] = ()
    #: Why it is not known which jobs live; "" if it is.
    unknown: str = ""


@dataclass(frozen=True)
class Status:
    """Counts of runs and architectures, and what is under way."""

    planned: int
    completed: int
    diverged: int
    failed: int
    missing: int
    #: Failed runs by kind: oom, data, timeout, node, code.
    failures: dict[str, int]
    #: Runs of which something is left to do, in jobs that run and in jobs that wait; and in none.
    running: int
    queued: int
    unassigned: int
    #: Architectures with a record for every one of their runs.
    rows_complete: int
    rows: int
    #: Further evaluations of completed runs that are recorded, and those that the sweep asks for.
    evaluations: int
    evaluations_planned: int
    #: dataset -> (recorded, planned) runs.
    datasets: dict[str, tuple[int, int]]
    #: Jobs that run or wait.
    jobs: int
    jobs_running: int
    jobs_queued: int
    #: Why most of the queued ones wait, in Slurm's words.
    queue_reason: str
    #: Queued ones that wait until somebody releases them, as after a node could not start them.
    jobs_held: list[str]
    #: Jobs that ended with runs left that no live job has: launch again.
    jobs_lost: int
    #: Why it is not known which jobs live; "" if it is.
    jobs_unknown: str
    #: Recorded runs an hour, over the last hour (or since the first began, if that is less).
    runs_per_hour: float | None
    #: Until the live jobs are done; None where that cannot be told.
    eta_seconds: float | None
    #: What the ETA assumes, and what the lengths of runs are predicted by; "" if not said.
    eta_assumes: str
    eta_basis: str
    #: Hours that recorded runs took, by device: of a core (`cpu`), or of a GPU by its name.
    hours: dict[str, float] = field(default_factory=dict)

    @property
    def under_way(self) -> bool:
        """Whether anything may still change by itself."""
        return bool(self.jobs or self.jobs_unknown)


def study_status(
    planned: Plan,
    recorded: Recorded,
    jobs: Jobs,
    pace: Pace,
    now: float,
    learned: Learned | None = None,
) -> Status:
    """Summarise the records of the planned runs and the jobs, at `now` (seconds since 1970).

    `learned` is what the study's finished runs say of the others' lengths.
    """
    counts, done = recorded_of(planned, recorded)
    evaluations, asked_for = evaluated(planned, recorded)
    todo = recorded.todo(planned, tried_again(recorded, jobs.live))
    running = todo.among(job.job.runs for job in jobs.live if job.state == "running")
    assigned = todo.among(job.job.runs for job in jobs.live)
    unfinished = marks(todo)
    lengths = learned.planned if learned else planned

    def left(run_ids: Sequence[str]) -> list[float]:
        asked = lengths.find(run_ids)
        seconds: list[float] = asked.seconds()[unfinished[asked.places]].tolist()
        return seconds

    ended = {run.run_id: run.ended for run in learned.measured} if learned else {}
    when = eta(jobs.live, left, ended, now)
    states = Counter(job.state for job in jobs.live)
    rows_done, rows = complete_rows(planned, done)
    return Status(
        planned=len(planned),
        completed=counts["completed"],
        diverged=counts["diverged"],
        failed=counts["failed"],
        missing=counts["missing"],
        failures=dict(recorded.failed_kinds(planned).most_common()),
        running=len(running),
        queued=len(assigned) - len(running),
        unassigned=len(todo) - len(assigned),
        rows_complete=rows_done,
        rows=rows,
        evaluations=evaluations,
        evaluations_planned=asked_for,
        datasets=by_dataset(planned, done),
        jobs=len(jobs.live),
        jobs_running=states["running"],
        jobs_queued=states["pending"],
        queue_reason=_most_common(job.reason for job in jobs.live if job.state == "pending"),
        jobs_held=[job.job.job_id for job in jobs.live if HELD.search(job.reason)],
        jobs_lost=0 if jobs.unknown else _lost(todo, recorded, jobs, assigned),
        jobs_unknown=jobs.unknown,
        runs_per_hour=pace.runs_per_hour(now),
        eta_seconds=when.seconds if when else None,
        eta_assumes=when.assumes if when else "",
        eta_basis=learned.cost.told if learned else "",
        hours=pace.hours(),
    )


def _lost(todo: Plan, recorded: Recorded, jobs: Jobs, assigned: Plan) -> int:
    """Jobs that ended with runs without a record, which no live job has."""
    alive = {live.job.job_id for live in jobs.live}
    left, lost = marks(todo.without(assigned)), 0
    for job in unfinished_jobs(jobs.submitted, recorded, alive):
        runs = todo.find(run_id for run_id in job.runs if run_id not in recorded.runs)
        lost += bool(left[runs.places].any())
    return lost


def _most_common(words: Iterable[str]) -> str:
    counts: Mapping[str, int] = Counter(filter(None, words))
    return max(counts, key=lambda word: counts[word], default="")
