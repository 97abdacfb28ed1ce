"""What the finished runs of a study say of how long the others will take."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from anynet_study.data import DatasetView
from anynet_study.design_space.population_table import groups_of
from anynet_study.dispatch.cost.features import Features, FloatArray, Workload, run_features
from anynet_study.dispatch.cost.further import FurtherTest, evaluation_features
from anynet_study.dispatch.cost.measured import (
    MeasuredRun,
    MeasuredTest,
    measured_runs,
    measured_tests,
)
from anynet_study.dispatch.cost.model import CostModel, built_in_cost
from anynet_study.dispatch.planned import Plan, PlannedRun


def features_of(planned: Sequence[PlannedRun], views: Mapping[str, DatasetView]) -> FloatArray:
    """The features of planned runs, shape (n, len(Features)); `views` by the sweep's labels."""
    settings: dict[tuple[str, str], list[int]] = {}
    for row, run in enumerate(planned):
        settings.setdefault((run.dataset, run.recipe), []).append(row)
    table = np.empty((len(planned), len(Features._fields)))
    for (dataset, _), rows in settings.items():
        work = Workload.on(views[dataset], planned[rows[0]].spec.recipe)
        groups = groups_of([planned[row].spec.architecture for row in rows])
        table[rows] = run_features(groups, work)
    return table


def learned_cost(
    planned: Plan,
    views: Mapping[str, DatasetView],
    measured: Sequence[MeasuredRun],
    prior: CostModel,
    tests: Sequence[MeasuredTest] = (),
) -> CostModel:
    """Prices fitted to the measured runs that are planned; the prior where there are none.

    Only runs with the latest one's device and engine count, and their further evaluations. The
    prior is then that of the device that it was, which may not be what was expected of the sweep.
    """
    from anynet_study.dispatch.cost.fit import fit_cost, held_out_error  # imports scipy

    asked = {run.run_id: run for run in planned.find(run.run_id for run in measured)}
    known = [run for run in measured if run.run_id in asked]
    if not known:
        return prior
    latest = max(known, key=lambda run: run.ended)
    same = [run for run in known if (run.device, run.engine) == (latest.device, latest.engine)]
    prior = built_in_cost(latest.device)
    features = features_of([asked[run.run_id] for run in same], views)
    features[:, Features._fields.index("starts")] = [run.first for run in same]
    seconds = np.array([run.seconds for run in same])
    fitted = fit_cost(features, seconds, prior)
    fitted = replace(fitted, error=held_out_error(features, seconds, prior))
    tested = measured_evaluations({run.run_id: asked[run.run_id] for run in same}, planned, tests)
    if not len(tested.seconds):
        return fitted
    # Apart: a run's many short evaluations would outweigh its training.
    return replace(fitted, evaluation=fit_cost(*tested, fitted).prices)


class Tested(NamedTuple):
    """Further evaluations and how long they took."""

    #: (n, len(Features))
    features: FloatArray
    #: (n,)
    seconds: FloatArray


def measured_evaluations(
    runs: Mapping[str, PlannedRun], planned: Plan, measured: Sequence[MeasuredTest]
) -> Tested:
    """The measured evaluations that are planned, of some `runs` by their ids."""
    tests = {test.evaluation_id: test for it in planned.settings for test in it.tests}
    known = [it for it in measured if it.run_id in runs and it.evaluation_id in tests]
    alike: dict[tuple[FurtherTest, int], list[int]] = {}
    for row, it in enumerate(known):
        resolution = runs[it.run_id].spec.recipe.resolution
        alike.setdefault((tests[it.evaluation_id], resolution), []).append(row)
    features = np.empty((len(known), len(Features._fields)))
    for (test, resolution), rows in alike.items():
        groups = groups_of([runs[known[row].run_id].spec.architecture for row in rows])
        features[rows] = evaluation_features(groups, [test], resolution)
    return Tested(features, np.array([it.seconds for it in known]))


class Learned(NamedTuple):
    """What a study's own runs say, and the runs that they say it of."""

    #: The planned runs with lengths predicted by `cost`.
    planned: Plan
    cost: CostModel
    measured: list[MeasuredRun]


def learn(
    planned: Plan,
    views: Mapping[str, DatasetView],
    journals: Path,
    prior: CostModel,
) -> Learned:
    """Read how long finished runs took, and predict all runs by it.

    Before any has finished the lengths stay those that were planned, by `prior`.
    """
    measured = measured_runs(journals)
    cost = learned_cost(planned, views, measured, prior, measured_tests(journals))
    known = planned if cost is prior else planned.priced(views, cost)
    return Learned(known, cost, measured)
