"""From a table of records to those that a store holds: one of each run and evaluation, in order."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.store.layout import EVALUATION_CODED
from anynet_study.store.records import CODED

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
    #: The texts of every coded column, in the order of their integers.
    labels: dict[str, list[str]]

    def codes(self, table: pa.Table, name: str) -> NDArray[np.int32]:
        """A coded column of `runs` or `evaluations` as integers."""
        return codes_of(table[name], self.labels[name])


def split(records: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The records of runs, and those of evaluations, each with its number as the column `row`."""
    numbered = records.append_column("row", pa.array(np.arange(len(records))))
    is_run = pc.equal(records["record_kind"].cast(pa.string()), "run")
    return numbered.filter(is_run), numbered.filter(pc.invert(is_run))


def deduplicate(runs: pa.Table, evaluations: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The one record that is kept of every run, and of every evaluation of a run.

    Of a run: a completed or diverged record beats a failed one; among these the first by (started,
    journal) is kept, and of failures alone the last: it is what became of the run. Of an
    evaluation: the first by (started, journal).
    """
    failed = pc.equal(runs["status"].cast(pa.string()), "failed").to_numpy()
    started = runs["started"].to_numpy()
    run_rows = _first_of_each(runs["run_id"], runs, np.where(failed, -started, started), failed)
    keys, began = evaluation_keys(evaluations), evaluations["started"].to_numpy()
    return runs.take(run_rows), evaluations.take(_first_of_each(keys, evaluations, began))


def _first_of_each(
    keys: pa.ChunkedArray,
    records: pa.Table,
    started: NDArray[np.float64],
    after: NDArray[np.bool_] | None = None,
) -> Rows:
    """Row numbers, ascending, of the first record of every key, by (after, started, journal)."""
    offset, journal, _ = _beginning(records)
    order = np.lexsort((offset, journal, started, *(() if after is None else (after,))))
    key = keys.combine_chunks().dictionary_encode().indices.to_numpy()
    _, first = np.unique(key[order], return_index=True)
    return np.sort(order[first])


def _beginning(records: pa.Table) -> tuple[NDArray[Any], ...]:
    """Sorting keys, the least important first, of the order in which records began."""
    journal = codes_of(records["journal"], sorted(_texts(records["journal"])))
    return records["offset"].to_numpy(), journal, records["started"].to_numpy()


def evaluation_keys(evaluations: pa.Table) -> pa.ChunkedArray:
    """For each record one text that names its run and its evaluation_id."""
    ids = (evaluations[name].cast(pa.string()) for name in ("run_id", "evaluation_id"))
    return pc.binary_join_element_wise(*ids, " ")


def rename_runs(runs: pa.Table, names: Mapping[str, RunNames]) -> pa.Table:
    """Call runs what the sweep calls them now: names are no part of a run's identity."""
    known = pc.index_in(runs["run_id"], value_set=pa.array(names, pa.string()))
    now = list(zip(*names.values(), strict=True)) or [(), (), ()]
    for column, values in zip(("dataset", "recipe", "replicate"), now, strict=True):
        runs = _renamed(runs, column, values, known)
    return runs


def rename_evaluations(evaluations: pa.Table, names: Mapping[str, EvaluationNames]) -> pa.Table:
    """Call evaluations (by evaluation_id), and their kinds, what the sweep calls them now."""
    ids = evaluations["evaluation_id"].cast(pa.string())
    known = pc.index_in(ids, value_set=pa.array(names, pa.string()))
    now = list(zip(*names.values(), strict=True)) or [(), ()]
    for column, values in zip(("evaluation", "kind"), now, strict=True):
        evaluations = _renamed(evaluations, column, values, known)
    return evaluations


def _renamed(
    records: pa.Table, column: str, values: Sequence[Any], known: pa.ChunkedArray
) -> pa.Table:
    """The column with values[i] where `known` has i, and as it was where that is null."""
    field = records.schema.field(column)
    plain = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    called = pa.chunked_array([pa.array(values, plain)]).take(known)
    merged = pc.coalesce(called, records[column].cast(plain))
    merged = merged if plain == field.type else merged.dictionary_encode()
    return records.set_column(records.schema.get_field_index(column), field, merged)


def among(
    ids: pa.Array | pa.ChunkedArray, wanted: Collection[str] | pa.Array | pa.ChunkedArray
) -> NDArray[np.bool_]:
    """Whether each id is one of some."""
    if isinstance(wanted, pa.ChunkedArray):
        wanted = wanted.combine_chunks()
    values = wanted if isinstance(wanted, pa.Array) else pa.array(wanted, pa.string())
    return np.asarray(pc.is_in(ids, value_set=values), np.bool_)


def arrange(runs: pa.Table, evaluations: pa.Table, first: Mapping[str, Sequence[str]]) -> Arranged:
    """Runs and their evaluations, with a column `planned`, in the one order of a store.

    The order does not depend on how they were journalled: runs by architecture, dataset, recipe,
    replicate, run_id; evaluations by run, evaluation, evaluation_id. `first` has for some coded
    columns the texts that come first, in this order; others follow sorted, and evaluations that
    it does not name in the order in which they began. Every evaluation's run is among the runs.
    """
    labels = _labels(runs, evaluations, first)
    keys = {
        name: codes_of(runs[name], labels[name]) for name in ("architecture", "dataset", "recipe")
    }
    sorting = pa.table(keys | {"replicate": runs["replicate"], "run_id": runs["run_id"]})
    order = pc.sort_indices(sorting, [(name, "ascending") for name in sorting.column_names])
    runs = runs.take(order)
    run = pc.index_in(evaluations["run_id"], value_set=runs["run_id"].combine_chunks())
    evaluations = evaluations.append_column("run", run.cast(pa.int32()))
    names = ("evaluation_id", "evaluation")
    codes = [codes_of(evaluations[name], labels[name]) for name in names]
    evaluations = evaluations.take(np.lexsort((*codes, evaluations["run"].to_numpy())))
    return Arranged(runs, evaluations, labels)


def _labels(
    runs: pa.Table, evaluations: pa.Table, first: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    labels: dict[str, list[str]] = {}
    for name in (*CODED, *EVALUATION_CODED):
        seen = [] if name in EVALUATION_CODED else _texts(runs[name])
        if name in (*EVALUATION_CODED, "host", "journal"):
            seen += _texts(evaluations[name])
        known = list(dict.fromkeys(first.get(name, ())))
        others = set(seen) - set(known)
        labels[name] = [*known, *sorted(others)]
        if name == "evaluation" and others:
            began = np.lexsort(_beginning(evaluations))
            ordered = _texts(evaluations["evaluation"].take(began))
            labels[name] = [*known, *(text for text in ordered if text in others)]
    return labels


def _texts(column: pa.ChunkedArray) -> list[str]:
    """The different texts of a column, in the order in which they come."""
    return list(column.unique().to_pylist())


def codes_of(values: pa.ChunkedArray, labels: Sequence[str]) -> NDArray[np.int32]:
    """Places in `labels` of the texts of a dictionary column."""
    texts = values.combine_chunks()
    places = pc.index_in(texts.dictionary, value_set=pa.array(labels, pa.string()))
    return np.asarray(places.take(texts.indices), np.int32)
