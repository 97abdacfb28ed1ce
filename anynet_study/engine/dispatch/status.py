"""How far a study is, and when it will be done: from its own files and one call of squeue."""

import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from anynet_study.core.errors import WorkFailedError
from anynet_study.engine.dispatch import ledger
from anynet_study.engine.dispatch.calibration import Calibrated
from anynet_study.engine.dispatch.failures import retried_by, unfinished_jobs
from anynet_study.engine.dispatch.ledger import LiveJob, SubmittedJob
from anynet_study.engine.dispatch.opened import OpenStudy
from anynet_study.engine.dispatch.pack import last_end
from anynet_study.engine.dispatch.recorded import JournalReader, Recorded, Throughput
from anynet_study.engine.planning import Plan

#: Reasons of Slurm such as JobHeldUser and launch failed requeued held.
HELD = re.compile("held", re.IGNORECASE)
#: Of a job's runs: the predicted seconds of those that are unfinished, in order.
Left = Callable[[Sequence[str]], Sequence[float]]


@dataclass(frozen=True)
class Eta:
    """Predicted seconds, and what they assume."""

    #: Until the last job ends; None if no job runs, because it is not known when one will begin.
    seconds: float | None
    #: Of work that is left in jobs, run after run on one worker.
    work: float
    assumes: str


def eta(
    jobs: Sequence[LiveJob],
    left: Left,
    ended: Mapping[str, float],
    now: float,
    free: Sequence[float] = (),
) -> Eta | None:
    """Predict when all of `jobs` are done; None without jobs.

    Each job does its own runs. Jobs that wait begin in their order, each when a job that runs now
    has ended: the study is assumed to keep the share of the cluster that it has. `ended`: when
    finished runs ended (seconds since 1970); `free`: the lengths of runs that any job takes.
    """
    if not jobs:
        return None
    begun = [_left_of(job, left, ended, now) for job in jobs if job.state == "running"]
    waiting = [sum(left(job.job.runs)) for job in jobs if job.state == "pending"] + [*free]
    work = sum(begun) + sum(waiting)
    if not begun:
        return Eta(None, work, "none is running")
    if not waiting:
        return Eta(max(begun), work, "each job does its runs one after the other")
    jobs_now = "the 1 job that runs" if len(begun) == 1 else f"the {len(begun)} jobs that run"
    return Eta(last_end(begun, waiting), work, f"queued jobs follow {jobs_now} now")


def _left_of(job: LiveJob, left: Left, ended: Mapping[str, float], now: float) -> float:
    """Predicted seconds of a job's runs that are left, less the time that the first has had."""
    lengths = left(job.job.runs)
    begins = [ended[run_id] for run_id in job.job.runs if run_id in ended]
    if job.started is not None:
        begins.append(job.started)
    been_at_it = max(0.0, now - max(begins)) if begins else 0.0
    return sum(lengths) - min(been_at_it, *lengths[:1]) if lengths else 0.0


@dataclass(frozen=True)
class Jobs:
    """A study's jobs: of `submitted`, all that ever were, the live ones."""

    live: Sequence[LiveJob] = ()
    submitted: Iterable[SubmittedJob] = ()
    #: Why it is not known which jobs live; "" if it is.
    unknown: str = ""
    #: Seconds since the last sign of life, of live jobs that gave none for long, by id.
    silent: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Status:
    """Counts of runs, architectures and jobs, and when these will be done."""

    planned: int
    completed: int
    diverged: int
    failed: int
    missing: int
    #: Failed runs by kind: oom, data, timeout, node, code.
    failures: dict[str, int]
    #: Why the run of each kind failed that failed last.
    failure_reasons: dict[str, str]
    #: Runs of which something is left to do: in jobs that run, in jobs that wait or for a worker
    #: that takes what is free; and in none.
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
    #: Seconds since the last sign of life of running jobs that gave none for long, by id.
    jobs_silent: Mapping[str, float]
    #: Recorded runs an hour, over the last hour (or since the first began, if that is less).
    runs_per_hour: float | None
    #: Until the live jobs are done; None where that cannot be told.
    eta_seconds: float | None
    #: What the ETA assumes, and what the lengths of runs are predicted by; "" if not said.
    eta_assumes: str
    eta_basis: str
    #: Hours that recorded runs took, by device: of a core (`cpu`), or of a GPU by its name.
    hours: dict[str, float] = field(default_factory=dict)
    #: In words, which backends computed the results; "" if it was one.
    backends: str = ""
    #: Whether workers come by themselves: `launch` starts none.
    by_workers: bool = False
    #: Whether its runs were divided among folders that travel.
    in_parts: bool = False
    #: Runs of tuned recipes that are planned when others have ended.
    awaited: int = 0
    #: What is wrong with journals, by name; and in words, what the store has and no journal.
    damage: Mapping[str, str] = field(default_factory=dict)
    only_in_store: str = ""

    @property
    def is_active(self) -> bool:
        """Tell whether anything may still change by itself."""
        return bool(self.jobs or self.jobs_unknown)


def current_status(study: OpenStudy, reader: JournalReader) -> Status:
    """A study's status now. That squeue does not answer is part of it."""
    recorded, folder = reader.read(), study.folder
    study = study.planned_by(recorded)
    submitted, ended = ledger.submitted_jobs(folder.jobs), recorded.ended(study.plan)
    try:
        live = ledger.live_jobs(folder, ended)
        jobs = Jobs(live, submitted, "", ledger.silent_jobs(folder.logs, live))
    except WorkFailedError as error:
        jobs = Jobs(unknown=str(error))
    calibrated = study.calibrated(reader) if jobs.live else None
    now, is_over = time.time(), not jobs.live and not jobs.unknown
    pace = reader.throughput(now, is_over)
    now_there = study_status(study.plan, recorded, jobs, pace, now, calibrated)
    return replace(
        now_there,
        only_in_store=str(recorded.lost(folder.results, study.plan) or ""),
        by_workers=study.sweep.launch.cluster == "none",
        in_parts=study.folder.parts.is_dir(),
    )


def study_status(
    plan: Plan,
    recorded: Recorded,
    jobs: Jobs,
    throughput: Throughput,
    now: float,
    calibrated: Calibrated | None = None,
) -> Status:
    """Summarise the records of the planned runs and the jobs, at `now` (seconds since 1970).

    `calibrated`: the lengths of runs that the ETA is made of.
    """
    counts = Counter(recorded.runs.get(run_id, "missing") for run_id in plan.ids())
    todo = recorded.todo(plan, retried_by(jobs.live, recorded))
    left = todo.by_id
    assigned = {run_id for job in jobs.live for run_id in job.job.runs if run_id in left}
    running = {
        run_id for job in jobs.live if job.state == "running" for run_id in job.job.runs
    } & assigned
    seconds = (calibrated.plan if calibrated else plan).by_id
    takers = any(job.job.cluster == "none" for job in jobs.live)
    free = [run_id for run_id in left if run_id not in assigned] if takers else []
    when = eta(
        jobs.live,
        lambda run_ids: [seconds[run_id].seconds for run_id in run_ids if run_id in left],
        calibrated.ended if calibrated else {},
        now,
        [seconds[run_id].seconds for run_id in free],
    )
    states = Counter(job.state for job in jobs.live)
    reasons = Counter(job.reason for job in jobs.live if job.state == "pending" and job.reason)
    architectures = Counter(run.place for run in plan)
    done = [run for run in plan if run.run_id in recorded.runs]
    complete = Counter(run.place for run in done)
    by_dataset, planned = Counter(it.dataset for it in done), Counter(it.dataset for it in plan)
    asked = [(run.run_id, it) for run in plan for it in run.evaluations]
    return Status(
        planned=len(plan),
        completed=counts["completed"],
        diverged=counts["diverged"],
        failed=counts["failed"],
        missing=counts["missing"],
        failures=dict(recorded.failed_kinds(plan).most_common()),
        failure_reasons=recorded.why_failed(plan),
        running=len(running),
        queued=len(assigned) - len(running) + len(free),
        unassigned=len(left) - len(assigned) - len(free),
        rows_complete=sum(complete[place] == count for place, count in architectures.items()),
        rows=len(architectures),
        evaluations=sum(pair in recorded.evaluations for pair in asked),
        evaluations_planned=len(asked),
        datasets={name: (by_dataset[name], count) for name, count in planned.items()},
        jobs=len(jobs.live),
        jobs_running=states["running"],
        jobs_queued=states["pending"],
        queue_reason=reasons.most_common(1)[0][0] if reasons else "",
        jobs_held=[job.job.job_id for job in jobs.live if HELD.search(job.reason)],
        jobs_lost=0 if jobs.unknown else _lost(left.keys() - assigned - set(free), recorded, jobs),
        jobs_unknown=jobs.unknown,
        jobs_silent=jobs.silent,
        runs_per_hour=throughput.runs_per_hour,
        eta_seconds=when.seconds if when else None,
        eta_assumes=when.assumes if when else "",
        eta_basis=calibrated.cost.basis if calibrated else "",
        hours=throughput.hours,
        backends=throughput.backends,
        awaited=plan.awaited,
        damage=dict(recorded.damage),
    )


def _lost(unassigned: Collection[str], recorded: Recorded, jobs: Jobs) -> int:
    """Jobs that ended with runs without a record, which no live job has either."""
    alive = {live.job.job_id for live in jobs.live}
    return sum(
        any(run_id in unassigned and run_id not in recorded.runs for run_id in job.runs)
        for job in unfinished_jobs(jobs.submitted, recorded, alive)
    )
