"""What the finished runs of a study say of how long the others will take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from anynet_study.data import DatasetView
from anynet_study.design_space.populations.cells import groups_of
from anynet_study.dispatch.cost.features import Features, FloatArray, Workload, run_features
from anynet_study.dispatch.cost.model import CostModel, built_in_cost
from anynet_study.dispatch.planned import Plan, PlannedRun
from anynet_study.store.frames import Reading
from anynet_study.store.journal import journal_blocks
from anynet_study.store.run_kind import RUN

#: Prices are fitted to this many runs at most, the latest: more change little.
MOST_RUNS = 500
TEXTS = ("run_id", "status", "device", "engine")


@dataclass(frozen=True)
class MeasuredRun:
    """A run that was trained to its end, and how long that took."""

    run_id: str
    seconds: float
    #: When it ended, in seconds since 1970.
    ended: float
    #: `cpu`, or the GPU's name.
    device: str
    #: The training engine; "": not recorded.
    engine: str
    #: Whether it was its worker's first, in which libraries warm up.
    first: bool


def measured_runs(folder: Path, most: int = MOST_RUNS) -> list[MeasuredRun]:
    """The latest completed runs of the journals in a folder, by when they ended.

    Journals are opened from the one last written on, until there are `most` runs.
    Raises as `store.finished_runs`.
    """
    found: list[MeasuredRun] = []
    for path in sorted(RUN.paths(folder), key=_changed, reverse=True):
        if len(found) >= most:
            break
        found += _runs_of(path)
    return sorted(found, key=lambda run: run.ended)[-most:]


def _runs_of(path: Path) -> list[MeasuredRun]:
    found, before = [], 0
    for _, columns in journal_blocks(RUN, path, Reading()):
        texts = [columns.texts(name).to_pylist() for name in TEXTS]
        numbers = [columns.numbers(name).tolist() for name in ("seconds", "started")]
        rows = enumerate(zip(*texts, *numbers, strict=True), start=before)
        for place, (run_id, status, device, engine, seconds, started) in rows:
            if status == "completed" and seconds > 0:
                ended = started + seconds
                found.append(MeasuredRun(run_id, seconds, ended, device, engine, place == 0))
        before += len(columns)
    return found


def _changed(path: Path) -> tuple[float, str]:
    return path.stat().st_mtime, path.name


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
) -> CostModel:
    """Prices fitted to the measured runs that are planned; the prior where there are none.

    Only runs with the latest one's device and engine count. The prior is then that of the device
    that it was, which may not be what was expected of the sweep.
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
    return replace(fitted, error=held_out_error(features, seconds, prior))


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
    cost = learned_cost(planned, views, measured, prior)
    known = planned if cost is prior else planned.priced(views, cost)
    return Learned(known, cost, measured)
