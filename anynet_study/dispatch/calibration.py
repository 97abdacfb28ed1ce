"""How long the runs of a study will take, by the runs of it that have finished.

A device's built-in prices (`cost.prices`) tell runs apart; how fast this machine is with this study
is one factor: the median of measured over predicted seconds. It does as well as prices fitted to
the runs (`python -m benchmarks.cost` tells the error on held-out datasets).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from anynet_study.data import DatasetView
from anynet_study.dispatch.cost.features import FloatArray, evaluation_features, run_features
from anynet_study.dispatch.cost.prices import CostModel, built_in_cost
from anynet_study.dispatch.plan import Plan
from anynet_study.dispatch.recorded import Recorded

if TYPE_CHECKING:
    import pandas as pd

#: The factor is of this many runs at most, the latest: more change little.
MOST_RUNS = 500
#: Of fewer runs no error is given: the factor fits them too well.
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

    Only runs with the latest one's device and engine count. Before any run has finished the lengths
    stay as planned, by the `expected` cost; after that prices are those of the device that it was,
    which may not be what was expected of the sweep.
    """
    runs = latest_runs(plan, timings)
    if not len(runs):
        return Calibrated(plan, expected, {})
    cost = built_in_cost(runs["device"].iloc[-1])
    ratios = runs["seconds"].to_numpy() / predicted_seconds(plan, views, runs, cost)
    factor = float(np.median(ratios))
    error = float(np.median(np.abs(factor / ratios - 1))) if len(runs) >= FEWEST_FOR_ERROR else nan
    cost = replace(cost, factor=factor, runs=len(runs), error=error)
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
    found = plan.find(runs["run_id"])
    places = dict(zip(found.ids(), found.places.tolist(), strict=True))
    runs = runs[runs["run_id"].isin(places)]
    runs = runs.assign(place=runs["run_id"].map(places))
    device, engine = runs["device"].iloc[-1:], runs["engine"].iloc[-1:]
    return runs[runs["device"].isin(device) & runs["engine"].isin(engine)]


def predicted_seconds(
    plan: Plan, views: Mapping[str, DatasetView], runs: "pd.DataFrame", cost: CostModel
) -> FloatArray:
    """Predicted seconds of training each of some runs (`latest_runs`), shape (n,)."""
    works = plan.workloads(views)
    rows, columns = np.divmod(runs["place"].to_numpy(np.int64), len(plan.settings))
    seconds: FloatArray = cost.factor * cost.prices.starts * runs["first"].to_numpy(float)
    for column in np.unique(columns):
        trained = cost.seconds(run_features(plan.population.groups, works[column]))
        mine = columns == column
        seconds[mine] += trained[plan.rows[rows[mine], 0]]
    return seconds


def kept_weights(folder: Path) -> set[str]:
    """The ids of the runs whose final weights are in a folder, which may not be there."""
    return {path.stem for path in folder.glob("*.pt")}


def with_what_is_left(
    plan: Plan, recorded: Recorded, kept: Collection[str], cost: CostModel
) -> Plan:
    """The same runs; of those completed, with weights `kept`, only evaluations have a length.

    Without weights a run is trained once more for its evaluations, which takes its whole length.
    """
    found = plan.find(run_id for run_id in kept if recorded.runs.get(run_id) == "completed")
    if not len(found):
        return plan
    left = np.full(plan.table.size, np.nan)
    lengths: dict[tuple[int, tuple[str, ...]], FloatArray] = {}
    for place, run_id in zip(found.places.tolist(), found.ids(), strict=True):
        row, column = divmod(place, len(plan.settings))
        setting = plan.settings[column]
        missing = tuple(recorded.missing_evaluations(run_id, setting.evaluations))
        if (column, missing) not in lengths:
            tests = [test for test in setting.tests if test.evaluation_id in missing]
            resolution = setting.resolved.resolution
            features = evaluation_features(plan.population.groups, tests, resolution)
            lengths[column, missing] = cost.seconds(features)
        left[place] = lengths[column, missing][plan.rows[row, 0]]
    return replace(plan, left=left)
