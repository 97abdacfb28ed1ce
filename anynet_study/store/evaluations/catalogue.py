"""Every evaluation in the journals, without its predictions, and those that a store keeps."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.store.catalogue import PLACE, Catalogue, first_of_each
from anynet_study.store.columns import read_column
from anynet_study.store.decoding import Columns
from anynet_study.store.evaluations.record import EVALUATION
from anynet_study.store.gathering import Gathered

TEXTS = ("evaluation", "evaluation_id", "identity", "host")
NUMBERS = ("images", "loss", "top1", "top5", "error", "seconds", "started")

#: An evaluation: its scalars, `predicted` (how many predictions), PLACE.
SCHEMA = pa.schema(
    [
        ("run_id", pa.string()),
        *((name, pa.dictionary(pa.int32(), pa.string())) for name in TEXTS),
        ("images", pa.int32()),
        *((name, pa.float64()) for name in NUMBERS[1:]),
        ("predicted", pa.int32()),
        *PLACE,
    ]
)


@dataclass(frozen=True)
class Kept:
    """The evaluations that a store keeps: of every run and evaluation_id one, of runs it has."""

    #: SCHEMA, in no order.
    table: pa.Table
    #: Row in `Gathered.records` and, of its run, in /runs.
    row: NDArray[np.int64]
    run: NDArray[np.int64]
    #: Records of runs that have none yet, and the journals (numbers) that hold them.
    waiting: int
    waiting_in: NDArray[np.int64]


def kept_evaluations(found: Gathered, run_ids: pa.ChunkedArray) -> Kept:
    """Settle duplicates: the first record by (started, journal); `run_ids` of /runs."""
    chosen = first_of_each(evaluation_keys(found.records), found.records)
    table = found.records.take(chosen)
    run = pc.index_in(table["run_id"], value_set=run_ids.combine_chunks()).combine_chunks()
    there = np.asarray(run.is_valid())
    waiting = table.filter(pa.array(~there))["journal"].to_numpy()
    rows = np.flatnonzero(there)
    runs = run.fill_null(-1).to_numpy().astype(np.int64)[rows]
    return Kept(table.take(rows), chosen[rows], runs, len(waiting), np.unique(waiting))


def evaluation_keys(records: pa.Table) -> pa.ChunkedArray:
    """One text for each run and evaluation_id."""
    return _key_texts(records["run_id"], records["evaluation_id"].cast(pa.string()))


def stored_keys(file: h5py.File, run_ids: pa.Array) -> pa.Array:
    """The same of the rows of /evaluations; `run_ids` of /runs."""
    group, names = file["evaluations"], read_column(file["labels"], "evaluation_id")
    ids = pa.array(names, pa.string()).take(pa.array(group["evaluation_id"][()]))
    return _key_texts(run_ids.take(pa.array(group["run"][()])), ids)


def _key_texts(run_id: Any, evaluation_id: Any) -> Any:
    return pc.binary_join_element_wise(run_id, evaluation_id, " ")


def _columns(columns: Columns) -> Mapping[str, Any]:
    found = {"run_id": columns.texts("run_id")}
    found |= {name: columns.texts(name).dictionary_encode() for name in TEXTS}
    found |= {name: columns.numbers(name) for name in NUMBERS}
    return found | {"predicted": columns.lengths("predictions")}


def _stored(file: h5py.File) -> pa.Table:
    group, memory = file["evaluations"], file["collected/evaluations"]
    ids = pa.array(file["runs/run_id"][()].astype(str).astype(object), pa.string())
    found: dict[str, Any] = {"run_id": ids.take(pa.array(group["run"][()]))}
    for name in TEXTS:
        codes, texts = group[name][()], read_column(file["labels"], name)
        if name == "evaluation":
            codes, texts = memory[name][()], read_column(memory, f"{name}_names")
        found[name] = pa.DictionaryArray.from_arrays(codes, pa.array(texts, pa.string()))
    for name in (*NUMBERS, "predicted", "journal"):
        found[name] = pa.array(group[name][()])
    for name in ("offset", "end"):
        found[name] = pa.array(memory[name][()])
    return pa.table(found).select(SCHEMA.names).cast(SCHEMA)


EVALUATIONS = Catalogue(EVALUATION, SCHEMA, _columns, _stored, evaluation_keys)
