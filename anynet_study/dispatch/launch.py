"""Launching a study: what is missing of it and not queued, submitted to Slurm or begun here.

An `OpenStudy` is a study with all that this needs: its sweep, population, datasets and plan.
"""

import json
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from anynet_study.data import DatasetView, keep_labels, load_dataset, reading_kept
from anynet_study.design_space import Population
from anynet_study.dispatch import ledger
from anynet_study.dispatch.calibration import (
    Calibrated,
    calibrate,
    expected_on,
    kept_weights,
    with_what_is_left,
)
from anynet_study.dispatch.cost.prices import expected_cost
from anynet_study.dispatch.failures import PASSING_KINDS, next_attempts
from anynet_study.dispatch.ledger import LiveJob
from anynet_study.dispatch.local import submit_locally
from anynet_study.dispatch.plan import NO_DIGESTS, Plan, make_plan, plan_of
from anynet_study.dispatch.recorded import JournalReader, Recorded, Retry
from anynet_study.dispatch.settings import datasets_of, load_views
from anynet_study.dispatch.tuning import check_tuning
from anynet_study.errors import UserError, counted
from anynet_study.files import write_text
from anynet_study.progress import duration
from anynet_study.study_folder import StudyFolder, sample
from anynet_study.sweep import Sweep

#: What Slurm's patterns and lists of folders have a meaning for.
PATH_MARKS = "%:\n"


@dataclass(frozen=True)
class OpenStudy:
    """A study's folder, sweep and population, its open datasets and its planned runs."""

    folder: StudyFolder
    sweep: Sweep
    population: Population
    #: By the sweep's labels.
    views: dict[str, DatasetView]
    plan: Plan

    def begin(self) -> None:
        """Begin the study on disk, or go on with it; raises as `StudyFolder.begin`.

        It keeps the labels of its datasets, and the digests of weights that it starts from: to look
        at it and to collect it needs no others.
        """
        self.folder.begin(self.sweep, self.population)
        tests = map(load_dataset, datasets_of(self.sweep)[1])
        trained = (part for view in self.views.values() for part in view.dataset.parts)
        for dataset in (*trained, *tests):
            keep_labels(dataset, self.folder.datasets)
        if digests := self.plan.digests:
            write_text(self.folder.digests_file, json.dumps(digests, indent=1))

    def planned_by(self, recorded: Recorded) -> "OpenStudy":
        """The study with the runs that follow from what is recorded: further trials, if it tunes.

        UserError as `make_plan`.
        """
        if not self.sweep.trials:
            return self
        launch, before = self.sweep.launch, self.plan
        cost, judge = expected_cost(launch.cluster, launch.slurm), recorded.validation_error
        some = self.sweep, self.population, before.settings
        return replace(self, plan=plan_of(*some, cost, judge, before.digests))

    def calibrated(self, reader: JournalReader) -> Calibrated:
        """The planned runs with what is left of them, as runs that have finished predict it."""
        recorded = reader.read()
        expected = partial(expected_on, self.sweep.launch)
        calibrated = calibrate(self.plan, reader.timings(), expected)
        kept = kept_weights(self.folder.weights_folder)
        left = with_what_is_left(calibrated.plan, recorded, kept, calibrated.cost)
        return Calibrated(left, calibrated.cost, calibrated.ended)


def open_sweep(sweep: Path | Sweep, overrides: Sequence[str] = ()) -> OpenStudy:
    """Open what a sweep, or its file, asks for; all data are read to see whether they have changed.

    `overrides` are of a file. The study begins, on disk, with `StudyFolder.begin`.
    """
    if not isinstance(sweep, Sweep):
        sweep = Sweep.load(sweep, overrides)
    return _opened(StudyFolder.of(sweep), sweep, sample(sweep.population), whole=True)


def open_study(name: str | Path, changes: Sequence[str] = (), whole: bool = False) -> OpenStudy:
    """Open a study that was begun before; only `launch.*` of its sweep can be changed.

    `whole`: with the packed datasets, which are read (see `load_views`). Otherwise with those of
    its last launch, of which the study keeps all but the images.
    """
    for change in changes:
        if not change.startswith("launch."):
            raise UserError(f"{change}: a study stays what it is; only launch.* can be changed")
    folder = StudyFolder.open(name)
    sweep, population = Sweep.load(folder.sweep_file, changes), folder.population()
    if whole:
        return _opened(folder, sweep, population, whole)
    with reading_kept(folder.datasets):
        return _opened(folder, sweep, population, whole)


def _opened(folder: StudyFolder, sweep: Sweep, population: Population, whole: bool) -> OpenStudy:
    views = load_views(sweep, whole)
    digests = NO_DIGESTS if whole else folder.digests()
    plan = make_plan(sweep, population, views, digests=digests)
    study = OpenStudy(folder, sweep, population, views, plan)
    return study.planned_by(Recorded.read(folder.journals)) if sweep.trials else study


@dataclass(frozen=True)
class LaunchReport:
    """What became of a study's runs, and of how many jobs."""

    runs: int
    recorded: int
    #: In jobs that were queued or ran already.
    under_way: int
    submitted: int
    jobs: int
    #: Failed runs that are tried again, of those submitted; and those that stay as they are.
    retried: int
    failed: int
    #: Of the jobs that ran already, those whose worker gave no sign of life for long.
    silent: Sequence[str] = ()
    #: Runs and jobs that Slurm has no room for now, and why.
    runs_left: int = 0
    jobs_left: int = 0
    reason: str = ""
    #: Runs of tuned recipes that are planned when others have ended.
    awaited: int = 0


def launch_missing(
    study: OpenStudy,
    kinds: Collection[str] = PASSING_KINDS,
    limited: bool = True,
    only_failed: bool = False,
    retrain: bool = False,
    others_ended: bool = False,
) -> LaunchReport:
    """Submit what is not recorded, or failed and is tried again, and is in no job; return at once.

    Tried again are failures of some `kinds`, if `limited` up to `launch.attempts` times. Raises
    UserError for what cannot be submitted, and as `check_may_begin`, before anything is written;
    WorkFailedError where Slurm does not answer or refuses.
    """
    if not only_failed and finished_by_others(study):
        return LaunchReport(len(study.plan), len(study.plan), 0, 0, 0, 0, 0)
    if study.sweep.launch.cluster == "slurm":
        from anynet_study.dispatch.submission import check_slurm

        check_slurm(study.folder, study.sweep)
    check_may_begin(study, retrain or only_failed, others_ended)
    with study.folder.locked():
        return _launch(study, kinds, limited, only_failed)


def finished_by_others(study: OpenStudy) -> bool:
    """Whether nothing is left to do, and this user, who may ask, may not write to the study."""
    if os.access(study.folder.folder, os.W_OK):
        return False
    recorded = Recorded.read(study.folder.journals)
    return not recorded.failed() and not recorded.todo(study.plan)


def check_may_begin(study: OpenStudy, retrain: bool, others_ended: bool) -> None:
    """Raise UserError for what a user must allow: training again, and not to wait for others.

    `retrain`: completed runs may be trained again, for further evaluations that were added and
    need their weights. `others_ended`: workers on other machines have ended.
    """
    folder, recorded = study.folder, Recorded.read(study.folder.journals)
    if any(mark in str(folder.folder.absolute()) for mark in PATH_MARKS):
        raise UserError(
            f"{folder.folder.absolute()}: Slurm and Python read a %, : or line break in a path "
            "as something else; use a folder without"
        )
    kept = kept_weights(folder.weights_folder)
    again = {run.run_id for run in study.plan if recorded.missing_evaluations(run)} - kept
    again &= recorded.runs.keys()
    if again and not retrain:
        raise UserError(
            f"{counted(len(again), 'finished run')} would be trained again: evaluations were added "
            "since, and the weights were not kept (launch.keep); to allow it: --retrain"
        )
    check_tuning(folder, study.sweep, recorded)
    ended = recorded.ended(study.plan)
    for job, seconds in ledger.jobs_elsewhere(folder.jobs, folder.logs, ended).items():
        if not others_ended:
            raise UserError(
                f"a worker of {folder.folder} is on {job.host}, cannot be seen from here, and gave "
                f"a sign of life {duration(seconds)} ago: wait, or cancel it there; if it has "
                "ended: --others-ended"
            )
        ledger.alive_file(folder.logs, job.job_id).unlink(missing_ok=True)


def _launch(
    study: OpenStudy, kinds: Collection[str], limited: bool, only_failed: bool
) -> LaunchReport:
    folder, sweep, plan = study.folder, study.sweep, study.plan
    reader = JournalReader(folder.journals)
    ended = reader.read().ended(plan)
    ledger.adopt(folder.jobs)
    live = ledger.live_jobs(folder.jobs, ended)
    attempts = next_attempts(folder, sweep, plan, reader, live, kinds, limited)
    recorded, retries = attempts.recorded, attempts.retries
    todo = recorded.todo(study.calibrated(reader).plan, retries)
    if only_failed:
        todo = todo.where(lambda run: recorded.runs.get(run.run_id) == "failed")
    assigned = in_jobs(live, recorded)
    new = todo.where(lambda run: run.run_id not in assigned)
    is_local = sweep.launch.cluster == "local"
    silent = sorted(ledger.silent_jobs(folder.logs, live))
    if is_local and live and len(new):
        told = f" ({len(silent)} gave no sign of life for long: anynet-study cancel)"
        raise UserError(
            f"{len(live)} jobs are still at study {sweep.name}{told if silent else ''}; wait for "
            f"them to end (anynet-study status {sweep.name})"
        )
    study.begin()
    if not live:
        folder.remove_litter(ended)
    counts = len(plan), len(plan) - len(todo), len(todo) - len(new)
    failed = set(plan.find(recorded.failed()).ids())
    retried = len(failed & set(new.ids()))
    kept = len(failed - set(todo.ids()) - retried_by(live, recorded).keys())
    if is_local:
        workers = submit_locally(folder, sweep, list(new), attached=False, retries=retries)
        here = len(new), len(workers), retried, kept
        return LaunchReport(*counts, *here, silent=silent, awaited=plan.awaited)
    from anynet_study.dispatch.submission import submit_to_slurm

    sent = submit_to_slurm(folder, sweep, new, retries, attempts.excluded_nodes)
    left = sent.runs_left, sent.jobs_left, sent.reason
    return LaunchReport(*counts, sent.runs, sent.jobs, retried, kept, silent, *left, plan.awaited)


def in_jobs(live: Iterable[LiveJob], recorded: Recorded) -> set[str]:
    """The runs that live jobs have, but for those that failed since their job was submitted.

    Of these a job does nothing more: they may be given to another.
    """
    given_up = recorded.failed().keys() - retried_by(live, recorded)
    return {run_id for job in live for run_id in job.job.runs} - given_up


def retried_by(live: Iterable[LiveJob], recorded: Recorded) -> dict[str, Retry]:
    """The failed runs that live jobs submitted since then have: they are being tried again."""
    failed = recorded.failed()
    return {
        run_id: Retry(len(recorded.failures[run_id]))
        for job in live
        for run_id in job.job.runs
        if run_id in failed and failed[run_id].ended < job.job.started
    }
