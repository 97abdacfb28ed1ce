"""Find what a results store has and no journal any more, and write journals again from it.

Journals are the truth of a study; but a store has all that its records say, so where a folder of
journals was lost or damaged, nothing has to be trained again.
"""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.core import arrow
from anynet_study.core.errors import counted
from anynet_study.core.metrics import CURVES
from anynet_study.store.deduplicate import evaluation_keys
from anynet_study.store.integrity import refuse_wrong
from anynet_study.store.journal import EvaluationWriter, JournalWriter, read_journals
from anynet_study.store.opening import open_store
from anynet_study.store.predictions import evaluation_prediction_groups, prediction_groups
from anynet_study.store.records import (
    EVALUATIONS_SUFFIX,
    RUN_COLUMNS,
    SUFFIX,
    EvaluationRecord,
    RunRecord,
)
from anynet_study.store.results import ResultStore
from anynet_study.store.tables import evaluations_table, read_curve, run_column, runs_table

#: Rows that are Python's objects at a time.
BATCH = 1000


@dataclass(frozen=True)
class OnlyInStore:
    """Numbers of records that a store has and no journal."""

    runs: int = 0
    evaluations: int = 0

    def __bool__(self) -> bool:
        return bool(self.runs or self.evaluations)

    def __str__(self) -> str:
        counts = {"run": self.runs, "evaluation": self.evaluations}
        return " and ".join(counted(number, what) for what, number in counts.items() if number)


def only_in_store(
    results: Path, runs: Collection[str], evaluations: Collection[tuple[str, str]]
) -> OnlyInStore:
    """Return what the store at `results` has beside these runs and evaluations (run_id,
    evaluation_id).

    Nothing where there is no store. Raises UserError or OSError for one that cannot be read.
    """
    if not results.exists():
        return OnlyInStore()
    with open_store(results) as file:
        tests = evaluation_keys(evaluations_table(file, ["run_id", "evaluation_id"]))
        mine = run_column(file, "run_id"), tests
        known = runs, [f"{run_id} {evaluation_id}" for run_id, evaluation_id in evaluations]
        lacking = [
            int((~arrow.among(ids, there)).sum()) for ids, there in zip(mine, known, strict=True)
        ]
    return OnlyInStore(*lacking)


def restore_journals(results: Path, journals: Path, name: str) -> OnlyInStore:
    """Write the records that only a store has into new journals, `name`.arrow and the like.

    Each is on disk when it is written: after a kill, the same call writes the others. Raises
    UserError for a store that is damaged, and as `read_journals`.
    """
    refuse_wrong(results, results)
    there = read_journals(journals).select(["run_id", "evaluation_id"]).to_pylist()
    known = {(it["run_id"], it["evaluation_id"] or "") for it in there}
    with ResultStore(results).opened() as file:
        runs = (it for it in _runs(file) if (it.run_id, "") not in known)
        tests = (it for it in _evaluations(file) if (it.run_id, it.evaluation_id) not in known)
        return OnlyInStore(
            _written(runs, JournalWriter, journals / f"{name}{SUFFIX}"),
            _written(tests, EvaluationWriter, journals / f"{name}{EVALUATIONS_SUFFIX}"),
        )


def _written(records: Iterator[Any], writer: type[Any], path: Path) -> int:
    """Append records to a new journal, which there is only if there are any; their number."""
    first = next(records, None)
    if first is None:
        return 0
    count = 0
    with writer(path) as journal:
        for record in chain([first], records):
            journal.append(record)
            count += 1
    return count


def _runs(file: h5py.File) -> Iterator[RunRecord]:
    """The records of all runs of a store."""
    ends = file["curves/offsets"][()].tolist()
    predicted = _places(prediction_groups(file), "run")
    own = {one.name for one in fields(RunRecord)}
    names = [name for name in RUN_COLUMNS if name in own | {"images"}]
    for place, row in enumerate(_rows(runs_table(file, [*names, "spec"]))):
        curves = {name: read_curve(file, name, ends[place], ends[place + 1]) for name in CURVES}
        words = _predictions(predicted, place, row.pop("images"))
        yield RunRecord(**row, curves=curves, predictions=words)


def _evaluations(file: h5py.File) -> Iterator[EvaluationRecord]:
    """The records of all evaluations of a store."""
    predicted = _places(evaluation_prediction_groups(file), "row")
    names = [one.name for one in fields(EvaluationRecord) if one.name != "predictions"]
    for place, row in enumerate(_rows(evaluations_table(file, [*names, "predicted"]))):
        words = _predictions(predicted, place, row.pop("predicted"))
        yield EvaluationRecord(**row, predictions=words)


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Each row; a number that is missing is NaN."""
    for batch in table.to_batches(max_chunksize=BATCH):
        for row in batch.to_pylist():
            yield {name: math.nan if value is None else value for name, value in row.items()}


def _places(groups: Iterator[h5py.Group], index: str) -> dict[int, tuple[h5py.Group, int]]:
    """By row of a table, where its predictions are."""
    rows = ((group, group[index][()].tolist()) for group in groups)
    return {row: (group, place) for group, there in rows for place, row in enumerate(there)}


def _predictions(
    places: Mapping[int, tuple[h5py.Group, int]], row: int, count: int
) -> NDArray[np.uint16]:
    """Return the predictions of a row, `count` of them; its group may be wider."""
    if row not in places:
        return np.empty(0, np.uint16)
    group, place = places[row]
    words: NDArray[np.uint16] = group["classes"][place, :count]
    return words
