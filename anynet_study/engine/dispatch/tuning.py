"""Tuned recipes in a study that has begun: what may still change, and the table of their trials."""

import json
import math
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from anynet_study.core.errors import UserError, counted
from anynet_study.core.metrics import chance_error
from anynet_study.data import DatasetView
from anynet_study.engine.dispatch.recorded import Recorded
from anynet_study.engine.planning import Plan, PlannedRun, load_views, make_plan
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Sweep, stated

Views = Mapping[str, DatasetView]


def check_tuning(folder: StudyFolder, sweep: Sweep, recorded: Recorded) -> None:
    """Raise UserError where a tuning that has begun would become another one.

    It may only be widened, and only where an architecture trains at none of its settings on a
    dataset: each run diverges, or does no better on validation images than guessing.
    """
    if not folder.sweep_file.exists():
        return
    before = folder.sweep()
    for name, recipe in before.recipes.items():
        now = sweep.recipes.get(name)
        if recipe.tuning is None or now is None or now.tuning in (None, recipe.tuning):
            continue
        views = load_views(before)
        plan = make_plan(before, folder.population(), views, judge=recorded.validation_error)
        trials = [run for run in plan if run.trial and stated(run.recipe) == name]
        count = sum(run.run_id in recorded.runs for run in trials)
        if not count:
            continue
        where = f"recipes.{name}.tuning: {counted(count, 'run')} of it recorded"
        if (stuck := _untrained(plan, trials, views, recorded)) is None:
            raise UserError(
                f"{where}: it stays as it was, as long as every architecture trains at some of its "
                "settings on each dataset (does not diverge, and does better on validation images "
                "than guessing); give the recipe another name"
            )
        assert now.tuning is not None
        if not now.tuning.widens(recipe.tuning):
            raise UserError(
                f"{where}: {stuck.architecture} trains at none of its settings on {stuck.dataset}: "
                "it may be widened (more trials, ranges and lists that hold the earlier ones), not "
                "changed otherwise"
            )


def _untrained(
    plan: Plan, trials: list[PlannedRun], views: Views, recorded: Recorded
) -> PlannedRun | None:
    """A run of an architecture that trains at no setting on a dataset, if there is one."""
    errors = validation_errors(plan, recorded)
    found: dict[tuple[str, int], list[bool | None]] = {}
    for run in trials:
        trained = trains(run, errors.get(run.run_id), views[run.dataset])
        found.setdefault((run.dataset, run.place), []).append(trained)
    for run in trials:
        if all(trained is False for trained in found[run.dataset, run.place]):
            return run
    return None


def validation_errors(plan: Plan, recorded: Recorded) -> dict[str, float]:
    """By run_id, in percent, of the trials that have ended; infinite where the run diverged."""
    judged_by = {(it.dataset, it.recipe): it.judged_by for it in plan.settings}
    errors = {
        run.run_id: recorded.validation_error(run, judged_by[run.dataset, run.recipe])
        for run in plan
        if run.trial is not None
    }
    return {run_id: error for run_id, error in errors.items() if error is not None}


def trains(run: PlannedRun, error: float | None, view: DatasetView) -> bool | None:
    """Tell whether a run neither diverged nor errs as often as guessing; None: it has not ended."""
    metric = run.spec.recipe.metric
    if error is None:
        return None
    return error < chance_error(view.validation_labels, len(view.classes), metric)


def trial_table(plan: Plan, views: Views, recorded: Recorded) -> pa.Table | None:
    """One row per planned run of a tuned recipe (`store.layout`: /trials); None without any."""
    runs = [(run, run.trial) for run in plan if run.trial is not None]
    if not runs:
        return None
    errors = validation_errors(plan, recorded)
    known = [errors.get(run.run_id) for run, _ in runs]
    keys = dict.fromkeys(key for _, trial in runs for key in trial.settings)
    columns: dict[str, list[Any]] = {
        "run_id": [run.run_id for run, _ in runs],
        "tuned": [trial.recipe for _, trial in runs],
        "trial": [trial.number for _, trial in runs],
        "rung": [trial.rung for _, trial in runs],
        **{key: _of_one_kind([trial.settings.get(key) for _, trial in runs]) for key in keys},
        "validation_error": [None if error == math.inf else error for error in known],
        "trains": [
            bool(trains(run, error, views[run.dataset]))
            for (run, _), error in zip(runs, known, strict=True)
        ],
        "chosen": [run.run_id in plan.chosen for run, _ in runs],
    }
    numbers = pa.array(columns["validation_error"], pa.float64())
    return pa.table({**columns, "validation_error": numbers})


def _of_one_kind(values: list[Any]) -> list[Any]:
    """Values of a key of recipes: numbers, or else texts as a sweep file has them."""
    known = [it for it in values if it is not None]
    if all(isinstance(it, int | float) and not isinstance(it, bool) for it in known):
        return [None if it is None else float(it) for it in values]
    return ["" if it is None else it if isinstance(it, str) else json.dumps(it) for it in values]
