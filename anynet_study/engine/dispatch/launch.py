"""Launching a study: what is missing of it and not queued is submitted by an executor."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import submitit

from anynet_study.core.errors import UserError, counted
from anynet_study.engine.dispatch import ledger
from anynet_study.engine.dispatch.calibration import kept_weights
from anynet_study.engine.dispatch.executors import cluster_of, executor_for, with_options
from anynet_study.engine.dispatch.failures import (
    PASSING_KINDS,
    NextAttempts,
    in_jobs,
    next_attempts,
    retried_by,
)
from anynet_study.engine.dispatch.ledger import Call
from anynet_study.engine.dispatch.local import local_workers, start_workers
from anynet_study.engine.dispatch.opened import OpenStudy
from anynet_study.engine.dispatch.parts import write_parts
from anynet_study.engine.dispatch.recorded import JournalReader, Recorded
from anynet_study.engine.dispatch.snapshot import take_for
from anynet_study.engine.dispatch.submission import Submitted, check_slurm, submit_to_slurm
from anynet_study.engine.dispatch.tuning import check_tuning
from anynet_study.engine.dispatch.work import Helper
from anynet_study.engine.dispatch.worker_state import remove_states
from anynet_study.engine.planning import Plan

#: What Slurm's patterns, lists of folders and scripts have a meaning for: it drops a backslash.
PATH_MARKS = "%:\\\n"
#: Options of an executor that tell on what its jobs run.
PRICED = frozenset({"gres", "gpus_per_node", "gpus_per_task", "partition", "constraint"})
#: Minutes until which a worker of this machine is ended: submitit's own are two.
FOREVER_MIN = 10 * 365 * 24 * 60
#: An executor is given at most so many functions. Each is a worker, if anything is left to do.
MOST = 1000


class Executor(Protocol):
    """Anything that calls functions elsewhere.

    Such are the executors of `concurrent.futures`, Dask, Parsl, mpi4py and submitit.
    """

    def submit(self, function: Callable[[], None], /) -> Any:
        """Have a function called, which can be pickled; returns a future of its result."""


@dataclass(frozen=True)
class LaunchReport:
    """What became of a study's runs, and of how many jobs."""

    runs: int
    recorded: int
    #: In jobs that were queued or ran already.
    under_way: int = 0
    submitted: int = 0
    jobs: int = 0
    #: How many of the submitted runs failed before; and how many failed runs are not tried again.
    retried: int = 0
    failed: int = 0
    #: Ids of running jobs whose worker gave no sign of life for long.
    silent: Sequence[str] = ()
    #: Runs and jobs that Slurm has no room for now, and why.
    runs_left: int = 0
    jobs_left: int = 0
    reason: str = ""
    #: Runs of tuned recipes that are planned when others have ended.
    awaited: int = 0
    #: What is wrong with journals, by name: what they have lost is trained again.
    damage: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Allowed:
    """Steps of a launch that a user has to allow."""

    #: Train completed runs again, for evaluations that were added and need their weights.
    retrain: bool = False
    #: Go on with a sweep that leaves recorded runs of the study unused.
    changed: bool = False


@dataclass(frozen=True)
class LaunchOptions:
    """Which failed runs are tried again, and what a user allows."""

    #: Kinds of failure; of other failed runs none is tried again.
    kinds: Collection[str] = PASSING_KINDS
    #: Whether `launch.attempts` limits how often a run is tried.
    limited: bool = True
    #: Submit failed runs alone, and none that was never tried.
    only_failed: bool = False
    #: Divide the runs among so many folders that travel.
    parts: int = 0
    allowed: Allowed = Allowed()


def launch_missing(
    study: OpenStudy,
    options: LaunchOptions = LaunchOptions(),
    executor: Executor | None = None,
) -> tuple[LaunchReport, Sequence[Any]]:
    """Submit what is not recorded, or failed and is tried again, and is in no job; return at once.

    By an `executor`, or by one that the sweep asks for; what it returns is returned. Of a debug
    executor the jobs train in this process when they are asked for their result. Raises UserError
    for what cannot be submitted, and as `check_may_begin`, before anything is written;
    WorkFailedError where Slurm does not answer or refuses.
    """
    if not options.only_failed and finished_by_others(study):
        return LaunchReport(runs=len(study.plan), recorded=len(study.plan)), ()
    if executor is not None:
        study = _priced_for(study, executor)
    if options.parts and (study.sweep.launch.cluster != "none" or study.sweep.trials):
        raise UserError(
            "--parts: only with --cluster none, and of a sweep without tuned recipes, whose runs "
            "depend on each other's results"
        )
    if study.sweep.launch.cluster == "slurm":
        check_slurm(study.folder, study.sweep, executor)
    allowed = options.allowed
    check_may_begin(study, replace(allowed, retrain=allowed.retrain or options.only_failed))
    with study.folder.locked():
        return _launch(study, options, executor)


def _priced_for(study: OpenStudy, executor: Executor) -> OpenStudy:
    """The study as if its sweep asked for what an executor is."""
    parameters = {}
    if isinstance(executor, submitit.Executor):
        _check_path(executor.folder)
        parameters = executor.parameters
    named = {name: it for name, it in parameters.items() if name in PRICED and it}
    launch = study.sweep.launch.model_copy(
        update={"cluster": cluster_of(executor), "slurm": named or study.sweep.launch.slurm}
    )
    return replace(study, sweep=study.sweep.model_copy(update={"launch": launch}))


def finished_by_others(study: OpenStudy) -> bool:
    """Tell whether nothing is left to do, and this user may read the study, but not write to it."""
    if os.access(study.folder.folder, os.W_OK):
        return False
    recorded = Recorded.read(study.folder.journals)
    return not recorded.failed() and not recorded.todo(study.plan)


def check_may_begin(study: OpenStudy, allowed: Allowed) -> None:
    """Raise UserError for what the user must allow first, and has not."""
    folder, recorded = study.folder, Recorded.read(study.folder.journals)
    _check_path(folder.folder)
    study.check_journals(recorded)
    kept = kept_weights(folder.weights_folder)
    again = {run.run_id for run in study.plan if recorded.missing_evaluations(run)} - kept
    again &= recorded.runs.keys()
    if again and not allowed.retrain:
        raise UserError(
            f"{counted(len(again), 'finished run')} would be trained again: evaluations were added "
            "since, and the weights were not kept (launch.keep); to allow it: --retrain"
        )
    check_tuning(folder, study.sweep, recorded)
    if folder.population_file.exists():
        folder.check_extends(study.population)
    if not allowed.changed and (why := study.older_meaning(recorded)):
        raise UserError(
            f"{folder.folder}: {why}; to train all of them again, beside the old ones: --changed"
        )
    if not allowed.changed and (edited := study.edited_functions(recorded)):
        raise UserError(
            f"{folder.folder}: {edited}; if it makes the same networks, go on with --changed; to "
            "train all of them as it is now, give the study another name: name=..."
        )
    if not allowed.changed and (changes := study.changes(recorded)):
        raise UserError(
            f"{folder.folder} holds a study of another sweep: {changes}; to go on with the changed "
            "sweep: --changed; to keep both studies, give it another name: name=..."
        )


def _check_path(folder: Path) -> None:
    """UserError for a folder that Slurm or Python cannot be told of."""
    if any(mark in str(folder.absolute()) for mark in PATH_MARKS):
        raise UserError(
            f"{folder.absolute()}: Slurm and Python read a %, :, backslash or line break in a path "
            "as something else; use a folder without"
        )


def _launch(
    study: OpenStudy, options: LaunchOptions, executor: Executor | None
) -> tuple[LaunchReport, Sequence[Any]]:
    folder, sweep, plan = study.folder, study.sweep, study.plan
    reader = JournalReader(folder.journals, folder.results)
    ended = reader.read().ended(plan)
    ledger.adopt(folder.jobs)
    live = ledger.live_jobs(folder, ended)
    attempts = next_attempts(study, reader, live, kinds=options.kinds, limited=options.limited)
    recorded, retries = attempts.recorded, attempts.retries
    todo = recorded.todo(study.calibrated(reader).plan, retries)
    if options.only_failed:
        todo = todo.where(lambda run: recorded.runs.get(run.run_id) == "failed")
    assigned = in_jobs(live, recorded)
    takers = any(it.job.cluster == "none" for it in live)
    if takers and options.limited and sweep.launch.cluster != "slurm":
        called = ledger.last_call(folder.jobs)
        assigned |= set(called.runs if called else ())  # those workers take what nobody is at
    new = todo.where(lambda run: run.run_id not in assigned)
    silent = sorted(ledger.silent_jobs(folder.logs, live))
    here = any(it.job.is_of_here for it in live)
    if sweep.launch.cluster in ("local", "debug") and here and len(new):
        told = f" ({len(silent)} gave no sign of life for long)" if silent else ""
        raise UserError(
            f"study {sweep.name}: {counted(len(live), 'job')} still at work{told}; wait for the "
            f"end (anynet-study status {sweep.name}), or end all (anynet-study cancel {sweep.name})"
        )
    study.begin()
    if not live:
        folder.remove_litter(ended)
        remove_states(folder.logs, ended)
    failed = set(plan.find(recorded.failed()).ids())
    if options.parts:
        folders = write_parts(study, new, retries, options.parts)
        sent = Submitted(len(new), folders)
    else:
        sent = _submitted(study, new, attempts, executor)
    report = LaunchReport(
        runs=len(plan),
        recorded=len(plan) - len(todo),
        under_way=len(todo) - len(new),
        submitted=sent.runs,
        jobs=len(sent.jobs),
        retried=len(failed & set(new.ids())),
        failed=len(failed - set(todo.ids()) - retried_by(live, recorded).keys()),
        silent=silent,
        runs_left=sent.runs_left,
        jobs_left=sent.jobs_left,
        reason=sent.reason,
        awaited=plan.awaited,
        damage=dict(recorded.damage),
    )
    return report, sent.jobs


def _submitted(
    study: OpenStudy, runs: Plan, attempts: NextAttempts, executor: Executor | None
) -> Submitted:
    """Have an executor, or one that the sweep asks for, take the runs.

    Where workers come by themselves, they are called, and as many are started as there may be work
    for. A debug executor of submitit's starts one, in this process, when its result is asked for.
    """
    folder, sweep, cluster = study.folder, study.sweep, study.sweep.launch.cluster
    if executor is None and cluster in ("slurm", "debug"):
        executor = executor_for(folder, sweep.launch)
    if cluster == "slurm":
        return submit_to_slurm(study, executor, runs, attempts)
    if runs or cluster == "none":
        ledger.call_workers(folder.jobs, Call.of(attempts.retries, runs))
    if not runs:
        return Submitted(0, ())
    if executor is None and cluster == "local":
        return Submitted(len(runs), start_workers(folder, sweep, len(runs)))
    if executor is None:
        return Submitted(0, (), runs_left=len(runs))
    here = cluster == "debug"
    helper = Helper(str(folder.folder.absolute()), None if here else take_for(folder))
    most = 1 if here else sweep.launch.workers or MOST
    if isinstance(executor, submitit.Executor) and (
        getattr(executor, "cluster", executor.name()) == "local"
    ):  # it starts all at once, for two minutes
        most = min(most, local_workers(sweep))
        minutes = executor.parameters.get("timeout_min", FOREVER_MIN)
        executor = with_options(executor, timeout_min=minutes)
    count = min(most, MOST, len(runs))
    return Submitted(len(runs), [executor.submit(helper) for _ in range(count)])
