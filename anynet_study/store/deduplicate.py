"""One record of each run and of each evaluation, in the order of a store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.core import arrow
from anynet_study.core.errors import some

#: What a sweep calls a run: dataset, recipe, replicate.
RunNames = tuple[str, str, int]
#: What a sweep calls an evaluation, and of which kind it is (`metrics.EvaluationKind`).
EvaluationNames = tuple[str, str]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Arranged:
    """The records of a store, in its order."""

    #: Columns of RECORDS; `row`, in the table they came from; `planned`; of an evaluation also
    #: `run`, the row of its run in `runs`.
    runs: pa.Table
    evaluations: pa.Table
    #: Names in the order of the sweep.
    recipes: list[str]
    tests: list[str]


def split(records: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The records of runs, and those of evaluations, each with its number as the column `row`."""
    numbered = records.append_column("row", arrow.numbers(np.arange(len(records))))
    is_run = arrow.among(records["record_kind"], ["run"])
    if is_run.all():
        return numbered, numbered.slice(0, 0)
    return numbered.filter(arrow.numbers(is_run)), numbered.filter(arrow.numbers(~is_run))


def deduplicate(runs: pa.Table, evaluations: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The one record that is kept of every run, and of every evaluation of a run.

    Of a run: a completed or diverged record beats a failed one; among these the first by (started,
    journal) is kept, and of failures alone the last: it is what became of the run. Of an
    evaluation: the first by (started, journal).
    """
    failed, started = arrow.among(runs["status"], ["failed"]), arrow.to_numpy(runs["started"])
    run_rows = _first_of_each(runs["run_id"], runs, np.where(failed, -started, started), failed)
    keys, began = evaluation_keys(evaluations), arrow.to_numpy(evaluations["started"])
    rows = _first_of_each(keys, evaluations, began)
    return runs.take(arrow.numbers(run_rows)), evaluations.take(arrow.numbers(rows))


def disagreeing(records: pa.Table, kept: pa.Table) -> dict[str, str]:
    """Return what was recorded twice with different errors: a line by the journal of what is set
    aside.

    `records` are of runs, or of evaluations; `kept` those of them that `deduplicate` keeps. Of
    failed runs there is no error.
    """
    if not len(kept):
        return {}
    of_runs = not kept["evaluation_id"][0].is_valid
    noun, keys, column = (
        ("runs", _run_ids, "error") if of_runs else ("evaluations", evaluation_keys, "top1")
    )
    truth = kept[column].take(pc.index_in(keys(records), value_set=arrow.whole(keys(kept))))
    known = pc.and_(pc.is_finite(records[column]), pc.is_finite(truth))
    other = records.filter(pc.and_(known, pc.not_equal(records[column], truth)).fill_null(False))
    by_journal: dict[str, list[str]] = {}
    for journal, key in zip(other["journal"].to_pylist(), keys(other).to_pylist(), strict=True):
        by_journal.setdefault(journal, []).append(key)
    said = "were recorded twice with different errors; the first of each counts"
    return {name: f"{noun} {some(sorted(ids))} {said}" for name, ids in by_journal.items()}


def _run_ids(runs: pa.Table) -> pa.ChunkedArray:
    return runs["run_id"].cast(pa.string())


def _first_of_each(
    keys: pa.ChunkedArray,
    records: pa.Table,
    started: NDArray[np.float64],
    after: NDArray[np.bool_] | None = None,
) -> Rows:
    """Row numbers, ascending, of the first record of every key, by (after, started, journal)."""
    offset, journal, _ = _beginning(records)
    order = np.lexsort((offset, journal, started, *(() if after is None else (after,))))
    key = arrow.to_numpy(arrow.whole(keys).dictionary_encode().indices)
    _, first = np.unique(key[order], return_index=True)
    return np.sort(order[first])


def _beginning(records: pa.Table) -> tuple[NDArray[Any], ...]:
    """Keys for `numpy.lexsort`, the least important first, that sort records by when they began."""
    journal = codes_of(records["journal"], sorted(_texts(records["journal"])))
    return arrow.to_numpy(records["offset"]), journal, arrow.to_numpy(records["started"])


def evaluation_keys(evaluations: pa.Table) -> pa.ChunkedArray:
    """One text for each record: its run_id and its evaluation_id."""
    ids = (evaluations[name].cast(pa.string()) for name in ("run_id", "evaluation_id"))
    return pc.binary_join_element_wise(*ids, arrow.texts([" "])[0])


def renamed(
    records: pa.Table, key: str, names: Mapping[str, tuple[Any, ...]], columns: Sequence[str]
) -> pa.Table:
    """The records with what the sweep calls them now in `columns`; `names` has it by `key`.

    No name is part of the identity of a run or an evaluation.
    """
    place = pc.index_in(records[key].cast(pa.string()), value_set=arrow.texts(names))
    for number, column in enumerate(columns):
        field = records.schema.field(column)
        coded = pa.types.is_dictionary(field.type)
        now = [of_one[number] for of_one in names.values()]
        values = arrow.texts(now) if coded else arrow.numbers(np.array(now, np.int32))
        before = records[column].cast(values.type)
        merged = pc.coalesce(pa.chunked_array([values]).take(place), before)
        merged = merged.dictionary_encode() if coded else merged
        records = records.set_column(records.schema.get_field_index(column), field, merged)
    return records


def arrange(runs: pa.Table, evaluations: pa.Table, first: Mapping[str, Sequence[str]]) -> Arranged:
    """Runs and their evaluations, with a column `planned`, in the one order of a store.

    The order does not depend on how they were journalled: runs by architecture, dataset, recipe,
    replicate, run_id; evaluations by run, evaluation, evaluation_id. `first` has for some columns
    the texts that come first, in this order; others follow sorted, and evaluations that it does not
    name in the order in which they began. Every evaluation's run is among the runs.
    """
    names = {
        name: _in_order(sorted(_texts(runs[name])), first.get(name, ()))
        for name in ("architecture", "dataset", "recipe")
    }
    codes = [codes_of(runs[name], texts) for name, texts in names.items()]
    runs = _sorted(runs, [*codes, arrow.to_numpy(runs["replicate"])])
    run = pc.index_in(evaluations["run_id"], value_set=arrow.whole(runs["run_id"]))
    evaluations = evaluations.append_column("run", run.cast(pa.int32()))
    began = evaluations["evaluation"].take(arrow.numbers(np.lexsort(_beginning(evaluations))))
    tests = _in_order(_texts(began), first.get("evaluation", ()))
    codes = [
        codes_of(evaluations[name], texts)
        for name, texts in (
            ("evaluation_id", sorted(_texts(evaluations["evaluation_id"]))),
            ("evaluation", tests),
        )
    ]
    rows = np.lexsort((*codes, arrow.to_numpy(evaluations["run"])))
    return Arranged(runs, evaluations.take(arrow.numbers(rows)), names["recipe"], tests)


def _sorted(runs: pa.Table, keys: Sequence[NDArray[Any]]) -> pa.Table:
    """The runs by these keys, the most important first, and by run_id where all keys are equal."""
    ahead = np.zeros(max(0, len(runs) - 1))
    for key in keys:
        ahead = np.where(ahead == 0, np.sign(np.diff(key)), ahead)
    if (ahead > 0).all():
        return runs
    ids = arrow.to_numpy(pc.rank(arrow.whole(runs["run_id"]), tiebreaker="dense"))
    return runs.take(arrow.numbers(np.lexsort((ids, *keys[::-1]))))


def _in_order(texts: Sequence[str], first: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*first, *texts]))


def _texts(column: pa.ChunkedArray) -> list[str]:
    """The different texts of a column, in the order in which they come."""
    return list(column.unique().to_pylist())


def codes_of(values: pa.ChunkedArray, labels: Sequence[str]) -> NDArray[np.int32]:
    """Places in `labels` of the texts of a dictionary column."""
    texts = arrow.whole(values)
    places = pc.index_in(texts.dictionary, value_set=arrow.texts(labels))
    return arrow.to_numpy(places.take(texts.indices))
