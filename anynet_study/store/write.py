"""The file of a results store (`layout`) from arranged records and their arrays."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
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
    EVALUATION_CODED,
    FORMAT,
    LAYOUT,
    SCHEMA_VERSION,
    evaluation_group,
    prediction_group,
)
from anynet_study.store.predictions import Truth
from anynet_study.store.records import CODED, NO_PREDICTION, RUN_COLUMNS
from anynet_study.store.run_arrays import ELEMENTS, RunArrays

Rows = NDArray[np.int64]
#: So many bytes of arrays are in memory at a time.
BLOCK_BYTES = 1 << 25
_RUN_NUMBERS = [n for n in RUN_COLUMNS if n not in (*CODED, "run_id", "images", "planned")]
_EVALUATION_NUMBERS = ("images", "loss", "top1", "top5", "error", "seconds", "started", "predicted")


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


def write_store(file: h5py.File, study: Study, records: Arranged, arrays: RunArrays) -> None:
    """Write all of a results store into an empty file.

    `arrays` are those of the table that the column `row` of the records counts in.
    """
    _write_root(file, study)
    for name in ("architectures", "datasets", "journals"):
        write_table(file.create_group(name), getattr(study, name))
    sampling = (study.architectures.schema.metadata or {}).get(b"anynet_study.sampling", b"")
    set_text(file["architectures"], "sampling", sampling.decode())
    labels = file.create_group("labels")
    for name, texts in records.labels.items():
        write_text(labels, name, texts)
    _write_runs(file.create_group("runs"), records)
    _write_evaluations(file.create_group("evaluations"), records)
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


def _write_runs(group: h5py.Group, records: Arranged) -> None:
    runs = records.runs
    group.create_dataset("run_id", data=np.array(runs["run_id"].to_pylist(), dtype="S"))
    for name in CODED:
        write_numbers(group, name, records.codes(runs, name))
    for name in _RUN_NUMBERS:
        write_numbers(group, name, runs[name].to_numpy())
    write_numbers(group, "images", runs["predicted"].to_numpy())
    write_numbers(group, "planned", np.asarray(runs["planned"]).astype(np.uint8))


def _write_evaluations(group: h5py.Group, records: Arranged) -> None:
    found = records.evaluations
    write_numbers(group, "run", found["run"].to_numpy())
    for name in (*EVALUATION_CODED, "host", "journal"):
        write_numbers(group, name, records.codes(found, name))
    for name in _EVALUATION_NUMBERS:
        write_numbers(group, name, found[name].to_numpy())
    write_numbers(group, "planned", np.asarray(found["planned"]).astype(np.uint8))


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
        arrays.forget()


def _write_run_predictions(
    file: h5py.File, truths: Mapping[str, Truth], records: Arranged, arrays: RunArrays
) -> None:
    file.create_group("predictions")
    datasets = records.labels["dataset"]

    def new_group(code: int) -> h5py.Group:
        group = file.create_group(prediction_group(datasets[code]))
        set_text(group, "dataset", datasets[code])
        truth = truths.get(datasets[code], Truth("class", None))
        set_text(group, "kind", truth.kind)
        if truth.labels is not None:
            write_numbers(group, "labels", truth.labels)
        return group

    code = records.codes(records.runs, "dataset").astype(np.int64)
    _write_predictions(new_group, "run", records.runs, code, arrays)


def _write_evaluation_predictions(file: h5py.File, records: Arranged, arrays: RunArrays) -> None:
    file["evaluations"].create_group("predictions")
    datasets, names = records.labels["dataset"], records.labels["evaluation"]

    def new_group(code: int) -> h5py.Group:
        dataset, evaluation = datasets[code // len(names)], names[code % len(names)]
        group = file.create_group(evaluation_group(dataset, evaluation))
        set_text(group, "dataset", dataset)
        set_text(group, "evaluation", evaluation)
        return group

    found = records.evaluations
    dataset = records.codes(records.runs, "dataset").astype(np.int64)[found["run"].to_numpy()]
    code = dataset * len(names) + records.codes(found, "evaluation")
    _write_predictions(new_group, "row", found, code, arrays)


def _write_predictions(
    new_group: Callable[[int], h5py.Group],
    index: str,
    table: pa.Table,
    code: Rows,
    arrays: RunArrays,
) -> None:
    """One group for each code: `classes`, a line for each record with predictions, and `index`.

    `index` is the name of the array that has the row in `table` of each line.
    """
    rows, lengths = table["row"].to_numpy(), table["predicted"].to_numpy().astype(np.int64)
    for value in np.unique(code[lengths > 0]).tolist():
        mine = np.flatnonzero((code == value) & (lengths > 0))
        group, width = new_group(value), int(lengths[mine].max())
        write_numbers(group, index, mine)
        target = create_numbers(group, "classes", (len(mine), width), np.uint16)
        for part in _blocks(2 * lengths[mine]):
            values = arrays.read("predictions", rows[mine[part]])
            target[part[0] : part[-1] + 1] = _padded(values, lengths[mine[part]], width)
            arrays.forget()


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
