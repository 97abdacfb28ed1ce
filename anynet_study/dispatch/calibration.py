"""How long the runs of a study will take, by the runs of it that have finished.

A device's built-in prices (`cost.prices`) tell runs apart; how fast this machine is with this study
is one factor: the median of measured over predicted seconds. Further evaluations have their own.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from anynet_study.data import DatasetView
from anynet_study.dispatch.cost.features import (
    FloatArray,
    evaluation_features,
    run_features,
)
from anynet_study.dispatch.cost.prices import CostModel, built_in_cost
from anynet_study.dispatch.plan import Plan
from anynet_study.dispatch.recorded import Recorded

if TYPE_CHECKING:
    import pandas as pd

#: The factor is of this many runs at most, the latest: more change little.
MOST_RUNS = 500
#: Of fewer runs no error is told: the factor fits them too well.
FEWEST_FOR_ERROR = 4


@dataclass(frozen=True)
class Calibrated:
    """The runs of a study with lengths as its finished runs predict them."""

    plan: Plan
    cost: CostModel
    #: When the latest finished runs ended (seconds since 1970), by run id.
    ended: Mapping[str, float]


def calibrate(
    plan: Plan, views: Mapping[str, DatasetView], timings: "pd.DataFrame", expected: CostModel
) -> Calibrated:
    """Predict the lengths of all runs, by the `timings` (`JournalReader.timings`) of some of them.

    Only runs with the latest one's device and engine count, and their further evaluations. Before
    any run has finished the lengths stay as planned, by the `expected` cost; after that prices are
    those of the device that it was, which may not be what was expected of the sweep.
    """
    runs = latest_runs(plan, timings)
    if not len(runs):
        return Calibrated(plan, expected, {})
    cost = built_in_cost(runs["device"].iloc[-1])
    ratios = runs["seconds"].to_numpy() / predicted_runs(plan, views, runs, cost)
    factor = float(np.median(ratios))
    error = float(np.median(np.abs(factor / ratios - 1))) if len(runs) >= FEWEST_FOR_ERROR else nan
    tests = measured_evaluations(plan, timings, runs["run_id"])
    slower = tests["seconds"].to_numpy() / predicted_evaluations(plan, tests, cost)
    cost = replace(
        cost,
        factor=factor,
        evaluation_factor=float(np.median(slower)) if len(tests) else factor,
        runs=len(runs),
        error=error,
    )
    ended = dict(zip(runs["run_id"], runs["ended"], strict=True))
    return Calibrated(plan.with_lengths(plan.workloads(views), cost), cost, ended)


def latest_runs(plan: Plan, timings: "pd.DataFrame", most: int = MOST_RUNS) -> "pd.DataFrame":
    """The latest completed runs of the plan on one device and engine, by when they ended.

    `first` is whether a run was its worker's first, in which libraries warm up; `place` its place
    in the table of the plan, read row by row.
    """
    runs = timings[timings["record_kind"] == "run"]
    runs = runs.assign(first=~runs["journal"].duplicated())
    runs = runs[(runs["status"] == "completed") & (runs["seconds"] > 0)]
    runs = runs.sort_values("ended", kind="stable").tail(most)
    places = plan.find(runs["run_id"]).places
    by_id = dict(zip(plan.table.reshape(-1)[places].astype(str), places.tolist(), strict=True))
    runs = runs[runs["run_id"].isin(by_id)]
    runs = runs.assign(place=runs["run_id"].map(by_id))
    same = (runs[["device", "engine"]] == runs[["device", "engine"]].iloc[-1:].squeeze()).all(
        axis=1
    )
    return runs[same]


def predicted_runs(
    plan: Plan, views: Mapping[str, DatasetView], runs: "pd.DataFrame", cost: CostModel
) -> FloatArray:
    """Predicted seconds of training each of some runs (`latest_runs`), shape (n,)."""
    works, groups = plan.workloads(views), plan.population.groups
    rows, columns = np.divmod(runs["place"].to_numpy(np.int64), len(plan.settings))
    start = cost.factor * cost.prices.starts * runs["first"].to_numpy(float)
    seconds = np.empty(len(runs))
    for column in np.unique(columns):
        trained = cost.seconds(run_features(groups, works[column]))
        mine = columns == column
        seconds[mine] = trained[plan.rows[rows[mine], 0]]
    seconds += start
    return seconds


def measured_evaluations(
    plan: Plan, timings: "pd.DataFrame", run_ids: Collection[str], most: int = MOST_RUNS
) -> "pd.DataFrame":
    """The latest further evaluations that are planned, of these runs, by when they ended."""
    planned = {test.evaluation_id for setting in plan.settings for test in setting.tests}
    tests = timings[
        timings["evaluation_id"].isin(planned)
        & timings["run_id"].isin(run_ids)
        & (timings["seconds"] > 0)
    ]
    return tests.sort_values("ended", kind="stable").tail(most)


def predicted_evaluations(plan: Plan, tests: "pd.DataFrame", cost: CostModel) -> FloatArray:
    """Predicted seconds of each of some further evaluations (`measured_evaluations`), (n,)."""
    found, lengths = plan.find(tests["run_id"]), _evaluation_lengths(plan, cost)
    places = dict(zip(found.ids(), found.places.tolist(), strict=True))
    seconds = []
    for run_id, evaluation_id in zip(tests["run_id"], tests["evaluation_id"], strict=True):
        row, column = divmod(places[run_id], len(plan.settings))
        seconds.append(lengths(column, (evaluation_id,))[plan.rows[row, 0]])
    return np.array(seconds)


def _evaluation_lengths(
    plan: Plan, cost: CostModel
) -> Callable[[int, tuple[str, ...]], FloatArray]:
    """Tells what evaluations (ids) of a setting's column take of each architecture, in seconds."""

    @cache
    def lengths(column: int, evaluations: tuple[str, ...]) -> FloatArray:
        setting = plan.settings[column]
        tests = [test for test in setting.tests if test.evaluation_id in evaluations]
        resolution = setting.resolved.resolution
        return cost.evaluation_seconds(
            evaluation_features(plan.population.groups, tests, resolution)
        )

    return lengths


def kept_weights(folder: Path) -> set[str]:
    """The ids of the runs whose final weights are in a folder, which may not be there."""
    return {path.stem for path in folder.glob("*.pt")}


def with_what_is_left(
    plan: Plan, recorded: Recorded, kept: Collection[str], cost: CostModel
) -> Plan:
    """The same runs; of those completed, with weights `kept`, only evaluations have a length.

    Without weights a run is trained once more for its evaluations, which takes its whole length.
    """
    completed = [run_id for run_id in kept if recorded.runs.get(run_id) == "completed"]
    found = plan.find(completed)
    if not len(found):
        return plan
    left, lengths = np.full(plan.table.size, np.nan), _evaluation_lengths(plan, cost)
    for place, run_id in zip(found.places.tolist(), found.ids(), strict=True):
        row, column = divmod(place, len(plan.settings))
        asked = plan.settings[column].evaluations
        missing = tuple(recorded.missing_evaluations(run_id, asked))
        left[place] = lengths(column, missing)[plan.rows[row, 0]]
    return replace(plan, left=left)
