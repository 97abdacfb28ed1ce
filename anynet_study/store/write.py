"""The file of a results store (`layout`) from arranged records and their arrays."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import product
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.metrics import CURVES
from anynet_study.store.deduplicate import Arranged
from anynet_study.store.hdf5 import (
    create_numbers,
    fixed_texts,
    set_text,
    write_numbers,
    write_table,
    write_text,
)
from anynet_study.store.layout import (
    COLUMNS,
    FORMAT,
    LAYOUT,
    SCHEMA_VERSION,
    evaluation_group,
    prediction_group,
)
from anynet_study.store.predictions import Truth
from anynet_study.store.records import NO_PREDICTION, RUN_COLUMNS
from anynet_study.store.run_arrays import ELEMENTS, RunArrays
from anynet_study.store.tables import NO_TRIALS

Rows = NDArray[np.int64]
#: So many bytes of arrays are in memory at a time.
BLOCK_BYTES = 1 << 25


@dataclass(frozen=True)
class Study:
    """What a store holds besides its records."""

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


def write_store(file: h5py.File, study: Study, records: Arranged, arrays: RunArrays) -> None:
    """Write all of a results store into an empty file.

    `arrays` are those of the table that the column `row` of the records counts in.
    """
    _write_root(file, study)
    for name in ("architectures", "datasets", "journals"):
        write_table(file.create_group(name), getattr(study, name))
    write_table(file.create_group("trials"), NO_TRIALS if study.trials is None else study.trials)
    sampling = (study.architectures.schema.metadata or {}).get(b"anynet_study.sampling", b"")
    set_text(file["architectures"], "sampling", sampling.decode())
    labels = file.create_group("labels")
    for name, texts in records.labels.items():
        write_text(labels, name, texts)
    runs = records.runs.drop_columns("images").rename_columns({"predicted": "images"})
    group = file.create_group("runs")
    write_numbers(group, "run_id", np.array(runs["run_id"].to_pylist(), dtype="S"))
    _write_columns(group, records, runs, RUN_COLUMNS[1:])
    group = file.create_group("evaluations")
    _write_columns(group, records, records.evaluations, COLUMNS["evaluations"])
    _write_ragged(file.create_group("curves"), records.runs, arrays, {n: n for n in CURVES})
    _write_ragged(file.create_group("specs"), records.runs, arrays, {"text": "spec"})
    _write_run_predictions(file, study.truths, records, arrays)
    _write_evaluation_predictions(file, records, arrays)


def _write_root(file: h5py.File, study: Study) -> None:
    set_text(file, "format", FORMAT)
    file.attrs["schema_version"] = SCHEMA_VERSION
    set_text(file, "created", datetime.now(UTC).isoformat(timespec="seconds"))
    file.attrs["planned_runs"] = study.planned_runs
    set_text(file, "layout", LAYOUT)
    file["provenance"] = fixed_texts(json.dumps(dict(study.provenance), indent=1))


def _write_columns(
    group: h5py.Group, records: Arranged, table: pa.Table, names: Iterable[str]
) -> None:
    """Columns of the runs or of the evaluations: numbers, and texts as their integers."""
    for name in names:
        coded = pa.types.is_dictionary(table.schema.field(name).type)
        values = records.codes(table, name) if coded else np.asarray(table[name])
        write_numbers(group, name, values.astype(np.uint8) if values.dtype == bool else values)


def _write_ragged(
    group: h5py.Group, runs: pa.Table, arrays: RunArrays, named: Mapping[str, str]
) -> None:
    """Arrays of all runs end to end, by what the store calls them, and where each run's begin."""
    rows = runs["row"].to_numpy()
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
    file: h5py.File, truths: Mapping[str, Truth], records: Arranged, arrays: RunArrays
) -> None:
    file.create_group("predictions")
    codes = records.codes(records.runs, "dataset")
    for code, dataset in enumerate(records.labels["dataset"]):
        rows = _with_predictions(records.runs, codes == code)
        if rows.size:
            group = file.create_group(prediction_group(dataset))
            truth = truths.get(dataset, Truth("class", None))
            set_text(group, "dataset", dataset)
            set_text(group, "kind", truth.kind)
            if truth.labels is not None:
                write_numbers(group, "labels", truth.labels)
            write_numbers(group, "run", rows)
            _write_classes(group, records.runs.take(rows), arrays)


def _write_evaluation_predictions(file: h5py.File, records: Arranged, arrays: RunArrays) -> None:
    file["evaluations"].create_group("predictions")
    found = records.evaluations
    of_run = records.codes(records.runs, "dataset")[found["run"].to_numpy()]
    named = records.codes(found, "evaluation")
    for dataset, code in product(range(len(records.labels["dataset"])), np.unique(named).tolist()):
        rows = _with_predictions(found, (of_run == dataset) & (named == code))
        if rows.size:
            names = records.labels["dataset"][dataset], records.labels["evaluation"][code]
            group = file.create_group(evaluation_group(*names))
            for attribute, name in zip(("dataset", "evaluation"), names, strict=True):
                set_text(group, attribute, name)
            write_numbers(group, "row", rows)
            _write_classes(group, found.take(rows), arrays)


def _with_predictions(table: pa.Table, among: NDArray[np.bool_]) -> Rows:
    """Which of these records have any."""
    return np.flatnonzero(among & (table["predicted"].to_numpy() > 0))


def _write_classes(group: h5py.Group, records: pa.Table, arrays: RunArrays) -> None:
    """The predictions of these records, a line for each."""
    rows, lengths = records["row"].to_numpy(), records["predicted"].to_numpy().astype(np.int64)
    width = int(lengths.max())
    target = create_numbers(group, "classes", (len(rows), width), np.uint16)
    for part in _blocks(2 * lengths):
        values = arrays.read("predictions", rows[part])
        target[part[0] : part[-1] + 1] = _padded(values, lengths[part], width)


def _blocks(sizes: Rows) -> Iterator[Rows]:
    """Consecutive rows that, of these sizes in bytes, together are near BLOCK_BYTES."""
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
