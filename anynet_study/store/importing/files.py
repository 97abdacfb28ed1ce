"""What one imported file brings to a store: records, their arrays, and what it says of them."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.core.files import sha256_of
from anynet_study.core.metrics import CURVES
from anynet_study.store.importing.options import TableAccount
from anynet_study.store.layout import COLUMNS
from anynet_study.store.predictions import (
    Truth,
    evaluation_prediction_groups,
    prediction_groups,
    truths_in,
)
from anynet_study.store.records import RUN_COLUMNS, TEXTS, joined, records_table
from anynet_study.store.results import ResultStore
from anynet_study.store.run_arrays import RunArrays
from anynet_study.store.tables import evaluations_table, read_curve, run_column, study_names

#: What a run of which nothing else is known is specified by, and runs that are so at once.
NAMES, BLOCK = ("architecture", "dataset", "recipe"), 100_000
#: Columns of evaluations that are copied.
_EVALUATIONS = ("run_id", *(name for name in COLUMNS["evaluations"] if name != "run"))


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
    #: Of a table: what its columns were taken for.
    account: TableAccount | None = None


def named_records(
    columns: Mapping[str, Any], arrays: RunArrays, predictions: NDArray[np.uint16] | None = None
) -> pa.Table:
    """Records of runs of which only names and an error are known, in a table of RECORDS.

    The names are their specification: canonical JSON, whose hash is the run_id. `columns` has at
    least architecture, dataset, recipe and error; what it leaves out is unknown, of replicate 0,
    and completed. `predictions` is (runs, images). Specification and predictions go to `arrays`.
    """
    count = len(columns["error"])
    unknown = dict.fromkeys(("seconds", "started", "error_std"), math.nan)
    nothing = dict.fromkeys(("replicate", "offset", "end", "epochs", "threads"), 0)
    known = {**dict.fromkeys(TEXTS, ""), **unknown, **nothing, "trainings": 1, **columns}
    images = 0 if predictions is None else predictions.shape[1]
    named = records_table({name: known[name] for name in (*NAMES, "replicate")}, count)
    ids, lengths = list[bytes](), list[NDArray[np.int64]]()
    written = {name: _written(name, named[name].combine_chunks()) for name in NAMES}
    for first in range(0, count, BLOCK):
        texts, ends = _specifications(named.slice(first, BLOCK), written)
        lengths.append(np.diff(ends))
        values: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {"spec": (texts, lengths[-1])}
        if predictions is not None:
            part = predictions[first : first + BLOCK]
            values["predictions"] = part.reshape(-1), np.full(len(part), images)
        arrays.append(values, len(lengths[-1]))
        read, digest = texts.data, hashlib.blake2b
        spans = pairwise(ends.tolist())
        ids.append(b"".join([digest(read[a:b], digest_size=8).digest() for a, b in spans]))
    own = {
        "record_kind": "run",
        "run_id": _hexadecimal(b"".join(ids)),
        "status": "completed",
        "predicted": images,
        "spec_bytes": np.concatenate([np.zeros(0, np.int64), *lengths]),
    }
    return records_table(known | own, count)


def _hexadecimal(digests: bytes) -> pa.StringArray:
    """One text of 16 characters for each 8 bytes."""
    texts, ends = digests.hex().encode(), np.arange(0, 2 * len(digests) + 1, 16, dtype=np.int32)
    return pa.StringArray.from_buffers(len(ends) - 1, pa.py_buffer(ends), pa.py_buffer(texts))


def _written(name: str, column: pa.DictionaryArray) -> pa.LargeStringArray:
    """The key and the value in JSON, for each text of a column of names."""
    words = [json.dumps(text, ensure_ascii=False) for text in column.dictionary.to_pylist()]
    key = f'"{name}":' if name != "recipe" else f'"imported":true,"{name}":'
    return pa.array([f"{key}{word}," for word in words], pa.large_string())


def _specifications(
    runs: pa.Table, written: Mapping[str, pa.LargeStringArray]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Canonical JSON of the names of each run, its keys in order: all texts, and where each ends.

    The second begins with 0. `written` has by column what stands for each of its texts.
    """
    parts = [once.take(runs[name].combine_chunks().indices) for name, once in written.items()]
    numbers = runs["replicate"].combine_chunks().cast(pa.large_string())
    begin, key, end, nothing = (
        pa.scalar(text, pa.large_string()) for text in ("{", '"replicate":', "}", "")
    )
    texts = pc.binary_join_element_wise(begin, *parts, key, numbers, end, nothing)
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(data or b"", np.uint8)[ends[0] : ends[-1]], ends - ends[0]


def stored_file(path: Path, file: h5py.File, arrays: RunArrays) -> ImportedFile:
    """The results store at `path`, which is open as `file`."""
    store = ResultStore(path)
    runs = pa.table({name: run_column(file, name) for name in RUN_COLUMNS})
    evaluations = evaluations_table(file, _EVALUATIONS)
    _copy_arrays(file, runs, evaluations, arrays)
    planned = [np.asarray(table["planned"]) for table in (runs, evaluations)]
    predicted = {"predicted": runs["images"].combine_chunks(), "images": None}
    records = [_as_records("run", runs, predicted), _as_records("evaluation", evaluations, {})]
    return ImportedFile(
        name=str(path),
        records=joined(records),
        planned=np.concatenate(planned).astype(bool),
        architectures=store.table("architectures"),
        datasets=store.table("datasets"),
        journals=store.table("journals"),
        provenance={**entry(path, {}), "provenance": store.provenance},
        recipes=store.recipes,
        evaluations=study_names(file, "evaluation") if len(evaluations) else [],
        truths=truths_in(file),
    )


def _as_records(kind: str, table: pa.Table, own: Mapping[str, Any]) -> pa.Table:
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    place = dict.fromkeys(("offset", "end"), np.zeros(len(table), np.int64))
    return records_table({**columns, "record_kind": kind, **place, **own}, len(table))


def _copy_arrays(file: h5py.File, runs: pa.Table, evaluations: pa.Table, arrays: RunArrays) -> None:
    """Add the arrays of a store's runs, then those of its evaluations."""
    epochs = np.diff(file["curves/offsets"][()])
    values = {name: (read_curve(file, name), epochs) for name in CURVES}
    values["spec"] = file["specs/text"][()], np.diff(file["specs/offsets"][()])
    own = [(group["run"][()], group["classes"]) for group in prediction_groups(file)]
    values["predictions"] = _predictions(own, runs["images"].to_numpy())
    arrays.append(values, len(runs))
    further = [(group["row"][()], group["classes"]) for group in evaluation_prediction_groups(file)]
    predicted = _predictions(further, evaluations["predicted"].to_numpy())
    arrays.append({"predictions": predicted}, len(evaluations))


def _predictions(
    groups: Sequence[tuple[NDArray[Any], h5py.Dataset]], lengths: NDArray[Any]
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Join the predictions of all rows, end to end; also return how many each row has."""
    pieces = [np.empty(0, np.uint16)] * len(lengths)
    for rows, classes in groups:
        for row, line in zip(rows.tolist(), classes[()], strict=True):
            pieces[row] = line[: lengths[row]]
    counts = np.array([len(piece) for piece in pieces], np.int64)
    return np.concatenate([np.empty(0, np.uint16), *pieces]), counts


def journal_row(label: str, records: int, path: Path) -> pa.Table:
    """The row of /journals of an imported file."""
    size = path.stat().st_size
    row = {"journal": label, "records": records, "duplicates": 0, "bytes": size, "problem": ""}
    return pa.Table.from_pylist([row])


def entry(path: Path, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the provenance says of an imported file."""
    digest, size = sha256_of(path), path.stat().st_size
    return {"file": path.name, "sha256": digest, "bytes": size, "options": told}
