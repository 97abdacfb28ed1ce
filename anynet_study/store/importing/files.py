"""What one imported file brings to a store: records, their arrays, and what it says of them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.metrics import CURVES
from anynet_study.store.hdf5 import read_column, read_curve
from anynet_study.store.layout import CODED
from anynet_study.store.predictions import (
    Truth,
    evaluation_prediction_groups,
    prediction_groups,
    truths_in,
)
from anynet_study.store.records import joined, records_table
from anynet_study.store.results import ResultStore
from anynet_study.store.run_arrays import RunArrays
from anynet_study.store.tables import evaluations_table, run_column

#: Records whose arrays are copied, or whose specifications are hashed, at a time.
TOGETHER = 1 << 13
#: Columns of evaluations that are copied; their `run_id` says of which run they are.
_EVALUATIONS = (
    *("run_id", "evaluation", "evaluation_id", "identity", "images", "loss", "top1", "top5"),
    *("error", "seconds", "started", "host", "journal", "predicted", "planned"),
)


@dataclass(frozen=True)
class ImportedFile:
    """One file, read; the arrays of its records were added to those of the files before it."""

    #: How messages call it.
    name: str
    #: A table of RECORDS, and which of them are planned.
    records: pa.Table
    planned: NDArray[np.bool_]
    #: `architecture` and what is known of it; `dataset` and what is known of it.
    architectures: pa.Table
    datasets: pa.Table
    #: Rows of /journals, and an entry of the provenance.
    journals: pa.Table
    provenance: Mapping[str, Any]
    #: Names in the order of the file.
    recipes: Sequence[str]
    evaluations: Sequence[str] = ()
    #: By dataset, where there are predictions.
    truths: Mapping[str, Truth] = field(default_factory=dict)
    #: Whether its values were taken for errors because nothing says what they are.
    assumed: bool = False


def named_records(
    columns: Mapping[str, Any], arrays: RunArrays, predictions: NDArray[np.uint16] | None = None
) -> pa.Table:
    """Records of runs of which only names and an error are known, in a table of RECORDS.

    The names are their specification: canonical JSON, whose hash is the run_id. `columns` has at
    least architecture, dataset, recipe and error; what it leaves out is unknown, of replicate 0,
    and completed. `predictions` is (runs, images). Specification and predictions go to `arrays`.
    """
    count = len(columns["error"])
    unknown = dict.fromkeys(("seconds", "started"), np.full(count, np.nan))
    nothing = dict.fromkeys(("replicate", "offset", "end", "epochs"), np.zeros(count, np.int32))
    texts = dict.fromkeys((name for name in CODED if name not in columns), "")
    names = records_table({**texts, **unknown, **nothing, **columns}, count)
    specs = _specifications(names)
    ids = [hashlib.blake2b(spec, digest_size=8).hexdigest() for spec in specs]
    lengths = np.array([len(spec) for spec in specs], np.int64)
    values: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {
        "spec": (np.frombuffer(b"".join(specs), np.uint8), lengths)
    }
    images = 0 if predictions is None else predictions.shape[1]
    if predictions is not None:
        values["predictions"] = predictions.reshape(-1), np.full(count, images)
    arrays.append(values, count)
    own = {
        "record_kind": "run",
        "run_id": pa.array(ids, pa.string()),
        "status": "completed",
        "predicted": np.full(count, images, np.int32),
        "spec_bytes": lengths,
    }
    known = {name: column.combine_chunks() for name, column in _columns(names).items()}
    return records_table(known | own, count)


def _specifications(runs: pa.Table) -> list[bytes]:
    """Canonical JSON of the names of each run, its keys in order."""
    names = ("architecture", "dataset", "recipe")
    quoted = [
        [json.dumps(text, ensure_ascii=False) for text in runs[name].to_pylist()] for name in names
    ]
    return [
        f'{{"architecture":{model},"dataset":{dataset},"imported":true,"recipe":{recipe},'
        f'"replicate":{replicate}}}'.encode()
        for model, dataset, recipe, replicate in zip(
            *quoted, runs["replicate"].to_pylist(), strict=True
        )
    ]


def _columns(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    """The columns that are not null throughout."""
    return {name: table[name] for name in table.column_names if table[name].null_count < len(table)}


def stored_file(path: Path, file: h5py.File, arrays: RunArrays) -> ImportedFile:
    """The results store at `path`, which is open as `file`."""
    store = ResultStore(path)
    runs, evaluations = _stored_runs(file), evaluations_table(file, _EVALUATIONS)
    _copy_arrays(file, runs, evaluations, arrays)
    planned = [np.asarray(runs["planned"]), np.asarray(evaluations["planned"])]
    own = {"record_kind": "evaluation"} | {n: c.combine_chunks() for n, c in _plain(evaluations)}
    place = dict.fromkeys(("offset", "end"), np.zeros(len(evaluations), np.int64))
    return ImportedFile(
        name=str(path),
        records=joined([_as_records(runs), records_table(own | place, len(evaluations))]),
        planned=np.concatenate(planned).astype(bool),
        architectures=_known(store.table("architectures")),
        datasets=_known(store.table("datasets")),
        journals=store.table("journals"),
        provenance={**entry(path, {}), "provenance": store.provenance},
        recipes=store.recipes,
        evaluations=list(read_column(file["labels"], "evaluation")) if len(evaluations) else [],
        truths=truths_in(file),
    )


def _stored_runs(file: h5py.File) -> pa.Table:
    names = ("run_id", *CODED, "replicate", "error", "planned", "epochs", "images", "seconds")
    return pa.table({name: run_column(file, name) for name in (*names, "started")})


def _plain(table: pa.Table) -> list[tuple[str, pa.ChunkedArray]]:
    return [(name, table[name]) for name in table.column_names if name != "planned"]


def _as_records(runs: pa.Table) -> pa.Table:
    columns = {name: column.combine_chunks() for name, column in _plain(runs)}
    predicted = columns.pop("images")
    place = dict.fromkeys(("offset", "end"), np.zeros(len(runs), np.int64))
    own = {"record_kind": "run", "predicted": predicted, **place}
    return records_table(columns | own, len(runs))


def _copy_arrays(file: h5py.File, runs: pa.Table, evaluations: pa.Table, arrays: RunArrays) -> None:
    """Add the arrays of a store's runs, then those of its evaluations, some at a time."""
    epochs, specs = file["curves/offsets"][()], file["specs/offsets"][()]
    images = runs["images"].to_numpy().astype(np.int64)
    groups = [(group["run"][()], group["classes"]) for group in prediction_groups(file)]
    for first in range(0, len(runs), TOGETHER):
        stop = min(first + TOGETHER, len(runs))
        lengths = np.diff(epochs[first : stop + 1])
        ends = int(epochs[first]), int(epochs[stop])
        values = {name: (read_curve(file, name, *ends), lengths) for name in CURVES}
        text = file["specs/text"][int(specs[first]) : int(specs[stop])]
        values["spec"] = text, np.diff(specs[first : stop + 1])
        values["predictions"] = _predictions(groups, images, first, stop)
        arrays.append(values, stop - first)
    if len(evaluations):
        predicted = evaluations["predicted"].to_numpy().astype(np.int64)
        found = evaluation_prediction_groups(file)
        groups = [(group["row"][()], group["classes"]) for group in found]
        for first in range(0, len(evaluations), TOGETHER):
            stop = min(first + TOGETHER, len(evaluations))
            some = _predictions(groups, predicted, first, stop)
            arrays.append({"predictions": some}, stop - first)


def _predictions(
    groups: Sequence[tuple[NDArray[Any], h5py.Dataset]],
    lengths: NDArray[np.int64],
    first: int,
    stop: int,
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Those of the rows from `first` to `stop`, end to end, and how many each has."""
    pieces = [np.empty(0, np.uint16)] * (stop - first)
    for rows, classes in groups:
        begin, end = np.searchsorted(rows, [first, stop]).tolist()
        for row, line in zip(rows[begin:end].tolist(), classes[begin:end], strict=True):
            pieces[row - first] = line[: lengths[row]]
    return np.concatenate(pieces), np.array([len(piece) for piece in pieces], np.int64)


def _known(table: pa.Table) -> pa.Table:
    """Missing text, which a store holds as "", is missing again."""
    for number, column in enumerate(table.columns):
        if pa.types.is_string(column.type):
            there = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
            table = table.set_column(number, table.column_names[number], there)
    return table


def journal_row(label: str, records: int, path: Path) -> pa.Table:
    """The row of /journals of an imported file."""
    size = path.stat().st_size
    row = {"journal": label, "records": records, "duplicates": 0, "bytes": size, "problem": ""}
    return pa.Table.from_pylist([row])


def entry(path: Path, told: Mapping[str, Any]) -> dict[str, Any]:
    """What the provenance says of an imported file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"file": path.name, "sha256": digest, "bytes": path.stat().st_size, "options": told}
