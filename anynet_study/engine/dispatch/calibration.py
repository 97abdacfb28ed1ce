"""How long the runs of a study will take, by the runs of it that have finished.

A device's built-in prices (`cost.prices`) tell runs apart; how fast this machine is with this study
is one factor: the median of measured over predicted seconds. It does as well as prices fitted to
the runs (`python -m benchmarks.cost` tells the error on held-out datasets).
"""

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from anynet_study.engine.dispatch.recorded import Recorded, Timing
from anynet_study.engine.dispatch.slurm.site import Site
from anynet_study.engine.planning import (
    CostModel,
    Plan,
    PlannedRun,
    Prices,
    asks_for_gpu,
    built_in_cost,
    expected_cost,
)
from anynet_study.engine.sweep import Launch

#: The factor is computed from the latest runs, at most so many: more would change it little.
MOST_RUNS = 500
#: With fewer runs no error of the prediction is given: the factor would be fitted to them.
FEWEST_FOR_ERROR = 4


@dataclass(frozen=True)
class Calibrated:
    """The runs of a study with lengths as its finished runs predict them."""

    plan: Plan
    cost: CostModel
    #: When the latest finished runs ended (seconds since 1970), by run id.
    ended: Mapping[str, float]


def expected_on(launch: Launch, site: Site | None = None) -> CostModel:
    """The cost on the device that a study will get.

    `site` tells which GPU its partition has; without it Slurm is asked, where it matters.
    """
    asked = launch.cluster == "slurm" and asks_for_gpu(launch.slurm)
    site = site or (Site.ask() if asked else Site())
    return expected_cost(launch.cluster, launch.slurm, site.gpu(launch.slurm.get("partition", "")))


def calibrate(
    plan: Plan, timings: Iterable[Timing], expected: Callable[[], CostModel]
) -> Calibrated:
    """Predict the lengths of all runs, by the `timings` (`JournalReader.timings`) of some of them.

    Only runs with the device and engine of the latest one count. Before any run has finished, the
    lengths are those of the `expected` cost, which is asked for only then. After that, prices are
    those of the device that was used, which the sweep may not have made one expect.
    """
    runs = latest_runs(plan, timings)
    if not runs:
        cost = expected()
        return Calibrated(plan.priced(cost), cost, {})
    cost = built_in_cost(runs[-1].device)
    prices = Prices(plan.population, plan.settings, cost)
    predicted = [prices.of(plan.by_id[run.run_id]) for run in runs]
    ratios = np.array([run.seconds for run in runs]) / np.array(predicted)
    factor = float(np.median(ratios))
    error = float(np.median(np.abs(factor / ratios - 1))) if len(runs) >= FEWEST_FOR_ERROR else None
    cost = replace(cost, factor=factor, runs=len(runs), error=error)
    return Calibrated(plan.priced(cost), cost, {run.run_id: run.ended for run in runs})


def latest_runs(plan: Plan, timings: Iterable[Timing], most: int = MOST_RUNS) -> list[Timing]:
    """The latest completed runs of the plan on one device and engine, by when they ended."""
    completed = (run for run in timings if run.status == "completed" and run.seconds > 0)
    latest = heapq.nlargest(most, completed, key=lambda run: run.ended)
    runs = [run for run in reversed(latest) if run.run_id in plan.by_id]
    return [run for run in runs if (run.device, run.engine) == (runs[-1].device, runs[-1].engine)]


def kept_weights(folder: Path) -> set[str]:
    """The ids of the runs whose final weights are in a folder, which may not be there."""
    return {path.stem for path in folder.glob("*.pt")}


def with_what_is_left(
    plan: Plan, recorded: Recorded, kept: Collection[str], cost: CostModel
) -> Plan:
    """Shorten completed runs whose weights are `kept` to the length of their evaluations.

    Without its weights a run is trained again for its evaluations, which takes its whole length.
    """
    prices = Prices(plan.population, plan.settings, cost)

    def left(run: PlannedRun) -> float:
        if run.run_id not in kept or recorded.runs.get(run.run_id) != "completed":
            return run.seconds
        return prices.of(run, recorded.missing_evaluations(run))

    return plan.with_seconds(map(left, plan))
