"""Writing the file of a results store (`layout`) from records in its order and their arrays."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.core import arrow
from anynet_study.core.metrics import CURVES
from anynet_study.store.deduplicate import Arranged
from anynet_study.store.hdf5 import (
    create_numbers,
    fixed_texts,
    set_text,
    write_numbers,
    write_table,
    write_texts,
)
from anynet_study.store.layout import COLUMNS, FORMAT, LAYOUT, SCHEMA_VERSION, prediction_group
from anynet_study.store.predictions import Truth
from anynet_study.store.records import NO_PREDICTION
from anynet_study.store.run_arrays import ELEMENTS, RunArrays
from anynet_study.store.tables import NO_TRIALS

Rows = NDArray[np.int64]
#: So many bytes of arrays are in memory at a time.
BLOCK_BYTES = 1 << 24


@dataclass(frozen=True)
class Contents:
    """The content of a store besides its records."""

    #: Tables of the store, with a column architecture, dataset or journal.
    architectures: pa.Table
    datasets: pa.Table
    journals: pa.Table
    provenance: Mapping[str, str]
    #: How many runs the sweep asks for; -1: not said.
    planned_runs: int = -1
    #: By dataset, of those that have predictions.
    truths: Mapping[str, Truth] = field(default_factory=dict)
    #: Of tuned recipes.
    trials: pa.Table | None = None


def write_store(file: h5py.File, contents: Contents, records: Arranged, arrays: RunArrays) -> None:
    """Write all of a results store into an empty file.

    `arrays` are those of the table that the column `row` of the records counts in.
    """
    _write_root(file, contents)
    tables = {
        "architectures": contents.architectures,
        "datasets": contents.datasets,
        "journals": contents.journals,
        "trials": NO_TRIALS if contents.trials is None else contents.trials,
        "runs": _columns(records.runs, "runs", {"images": "predicted"}),
        "evaluations": _columns(records.evaluations, "evaluations", {}),
    }
    for name, table in tables.items():
        write_table(file.create_group(name), table)
    sampling = (contents.architectures.schema.metadata or {}).get(b"anynet_study.sampling", b"")
    set_text(file["architectures"], "sampling", sampling.decode())
    labels = file.create_group("labels")
    write_texts(labels, "recipe", records.recipes)
    write_texts(labels, "evaluation", records.tests)
    _write_ragged(file.create_group("curves"), records.runs, arrays, {n: n for n in CURVES})
    _write_ragged(file.create_group("specs"), records.runs, arrays, {"text": "spec"})
    _write_run_predictions(file, contents.truths, records.runs, arrays)
    _write_evaluation_predictions(file, records, arrays)


def _columns(records: pa.Table, table: str, other: Mapping[str, str]) -> pa.Table:
    """The columns of a table of the store; `other`: what records call some of them."""
    return pa.table({name: records[other.get(name, name)] for name in COLUMNS[table]})


def _write_root(file: h5py.File, contents: Contents) -> None:
    set_text(file, "format", FORMAT)
    file.attrs["schema_version"] = SCHEMA_VERSION
    set_text(file, "created", datetime.now(UTC).isoformat(timespec="seconds"))
    file.attrs["planned_runs"] = contents.planned_runs
    set_text(file, "layout", LAYOUT)
    file["provenance"] = fixed_texts(json.dumps(dict(contents.provenance), indent=1))


def _write_ragged(
    group: h5py.Group, runs: pa.Table, arrays: RunArrays, named: Mapping[str, str]
) -> None:
    """Write arrays of all runs end to end, and the offsets at which those of each run begin."""
    rows = arrow.to_numpy(runs["row"])
    lengths = arrays.lengths(next(iter(named.values())), rows)
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    write_numbers(group, "offsets", offsets)
    kinds = {target: ELEMENTS[name] for target, name in named.items()}
    targets = {t: create_numbers(group, t, (int(offsets[-1]),), k) for t, k in kinds.items()}
    for part in _blocks(lengths * sum(kind.itemsize for kind in kinds.values())):
        begin, end = int(offsets[part[0]]), int(offsets[part[-1] + 1])
        for target, name in named.items() if end > begin else ():
            targets[target][begin:end] = arrays.read(name, rows[part])


def _write_run_predictions(
    file: h5py.File, truths: Mapping[str, Truth], runs: pa.Table, arrays: RunArrays
) -> None:
    file.create_group("predictions")
    predicted = runs.select(["dataset"]).filter(pc.greater(runs["predicted"], 0))
    for dataset in predicted["dataset"].unique().to_pylist():
        group = _write_predictions(file, "run", runs, arrays, dataset=dataset)
        if group is not None:
            truth = truths.get(dataset, Truth("class", None))
            set_text(group, "kind", truth.kind)
            if truth.labels is not None:
                write_numbers(group, "labels", truth.labels)


def _write_evaluation_predictions(file: h5py.File, records: Arranged, arrays: RunArrays) -> None:
    file["evaluations"].create_group("predictions")
    if not len(found := records.evaluations):
        return
    place, on = found.schema.get_field_index("dataset"), records.runs["dataset"]
    found = found.set_column(place, "dataset", on.take(found["run"]))
    pairs = found.group_by(["dataset", "evaluation"], use_threads=False).aggregate([])
    for pair in pairs.to_pylist():
        _write_predictions(file, "row", found, arrays, **pair)


def _write_predictions(
    file: h5py.File, index: str, records: pa.Table, arrays: RunArrays, **named: str
) -> h5py.Group | None:
    """Write those of the records with these texts; None if they have none.

    `index` is what the array is called that has their row numbers.
    """
    some = arrow.to_numpy(records["predicted"]) > 0
    for name, text in named.items():
        some &= arrow.among(records[name], [text])
    numbers = np.flatnonzero(some)
    if not numbers.size:
        return None
    group = file.create_group(prediction_group(**named))
    for name, text in named.items():
        set_text(group, name, text)
    write_numbers(group, index, numbers)
    rows = arrow.to_numpy(records["row"])[numbers]
    lengths = arrow.to_numpy(records["predicted"])[numbers].astype(np.int64)
    width = int(lengths.max())
    target = create_numbers(group, "classes", (len(rows), width), np.uint16)
    for part in _blocks(2 * lengths):
        values = arrays.read("predictions", rows[part])
        target[part[0] : part[-1] + 1] = _padded(values, lengths[part], width)
    return group


def _blocks(sizes: Rows) -> Iterator[Rows]:
    """Stretches of rows, which have these sizes in bytes, of about BLOCK_BYTES each."""
    block = np.cumsum(sizes) // BLOCK_BYTES
    breaks = np.flatnonzero(np.diff(block)) + 1
    yield from (rows for rows in np.split(np.arange(len(sizes)), breaks) if rows.size)


def _padded(values: NDArray[np.uint16], lengths: Rows, width: int) -> NDArray[Any]:
    """One line for each record."""
    if (lengths == width).all():
        return values.reshape(-1, width)
    lines = np.full((len(lengths), width), NO_PREDICTION, np.uint16)
    lines[np.arange(width) < lengths[:, None]] = values
    return lines
