"""What is left of runs that were trained before and are only evaluated further."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np

from anynet_study.dispatch.cost.further import evaluation_features
from anynet_study.dispatch.cost.model import CostModel
from anynet_study.dispatch.planned import Plan
from anynet_study.dispatch.recorded import Recorded


def kept_weights(folder: Path) -> set[str]:
    """The ids of the runs whose final weights are in a folder, which may not be there."""
    return {path.stem for path in folder.glob("*.pt")}


def with_what_is_left(
    planned: Plan, recorded: Recorded, kept: Collection[str], cost: CostModel
) -> Plan:
    """The same runs; of those completed, with weights `kept`, only evaluations have a length.

    Without weights a run is trained once more for its evaluations, which takes its whole length.
    """
    completed = [it for it in kept if recorded.runs.get(it) == "completed"]
    missing: dict[tuple[int, tuple[str, ...]], list[int]] = defaultdict(list)
    for place in planned.find(completed).places.tolist():
        row, column = divmod(place, len(planned.settings))
        asked = planned.settings[column].evaluations
        run_id = planned.table[row, column].decode()
        missing[column, tuple(recorded.missing_evaluations(run_id, asked))].append(place)
    if not missing:
        return planned
    left = np.full(planned.table.size, np.nan)
    for (column, wanted), places in missing.items():
        it = planned.settings[column]
        tests = [test for test in it.tests if test.evaluation_id in wanted]
        features = evaluation_features(planned.population.groups, tests, it.resolved.resolution)
        architectures = planned.rows[np.array(places) // len(planned.settings), 0]
        left[places] = cost.evaluation_seconds(features)[architectures]
    return replace(planned, left=left)
