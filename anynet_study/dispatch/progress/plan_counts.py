"""How much of a plan is recorded, by dataset, by architecture and of further evaluations."""

from collections import Counter

import numpy as np
import numpy.typing as npt

from anynet_study.dispatch.planned import Plan, Setting
from anynet_study.dispatch.recorded import Recorded


def recorded_of(planned: Plan, recorded: Recorded) -> tuple[Counter[str], npt.NDArray[np.bool_]]:
    """Runs by status, `missing` those without a record; and of each whether it has one, (runs,)."""
    counts: Counter[str] = Counter()
    done = np.empty(len(planned), bool)
    for place, run_id in enumerate(planned.each_id()):
        status = recorded.runs.get(run_id, "missing")
        counts[status] += 1
        done[place] = status != "missing"
    return counts, done


def marks(part: Plan) -> npt.NDArray[np.bool_]:
    """Of each run of the whole study whether it is of this part, shape (runs,)."""
    marked = np.zeros(part.table.size, bool)
    marked[part.places] = True
    return marked


def _by_setting(planned: Plan) -> list[tuple[Setting, int]]:
    counts = np.bincount(planned.places % len(planned.settings), minlength=len(planned.settings))
    return list(zip(planned.settings, counts.tolist(), strict=True))


def by_dataset(planned: Plan, done: npt.NDArray[np.bool_]) -> dict[str, tuple[int, int]]:
    """Runs that are `done`, shape (runs,), and all runs of each dataset."""
    columns = planned.places % len(planned.settings)
    size = len(planned.settings)
    recorded = np.bincount(columns[done], minlength=size).tolist()
    table: dict[str, tuple[int, int]] = {}
    for (it, count), there in zip(_by_setting(planned), recorded, strict=True):
        before = table.get(it.dataset, (0, 0))
        table[it.dataset] = (before[0] + there, before[1] + count)
    return table


def complete_rows(planned: Plan, done: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Architectures with all their runs recorded, and all."""
    architectures = planned.rows[planned.places // len(planned.settings), 0]
    every = np.bincount(architectures)
    there = np.bincount(architectures[done], minlength=len(every))
    return int(((every == there) & (every > 0)).sum()), int((every > 0).sum())


def evaluated(planned: Plan, recorded: Recorded) -> tuple[int, int]:
    """The further evaluations that are recorded, and those that the sweep asks for."""
    asked_for = sum(len(it.evaluations) * count for it, count in _by_setting(planned))
    found = 0
    if not asked_for:
        return 0, 0
    columns = (planned.places % len(planned.settings)).tolist()
    for run_id, column in zip(planned.each_id(), columns, strict=True):
        asked = planned.settings[column].evaluations
        found += sum((run_id, each) in recorded.evaluations for each in asked)
    return found, asked_for
