"""Parts to results store: everything put in order and written as one HDF5 file."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.files import replacing
from anynet_study.metrics import CURVES
from anynet_study.provenance import code_version
from anynet_study.store.attributes import set_text
from anynet_study.store.columns import create_numbers, write_numbers, write_table
from anynet_study.store.creating import creating
from anynet_study.store.evaluations.writing import write_evaluations
from anynet_study.store.evaluations.writing import write_predictions as write_evaluated
from anynet_study.store.importing.datasets import Known, dataset_table
from anynet_study.store.importing.described import merged as merged_models
from anynet_study.store.importing.evaluated import PartedEvaluations, merged_evaluations
from anynet_study.store.importing.merging import Merged, merge, metrics
from anynet_study.store.importing.part import Part, Truth
from anynet_study.store.layout import prediction_group
from anynet_study.store.record import NO_PREDICTION
from anynet_study.store.writing import create_predictions, offsets_of, write_root, write_runs

#: Elements of a ragged array that are in memory at a time.
WRITTEN_AT_ONCE = 1 << 22


def build(parts: Sequence[Part], known: Known, out: Path) -> None:
    """Write the store `out` of these parts and swap it in.

    `known` is what was said of the datasets. Raises UserError where parts contradict each other,
    OSError where the store cannot be written; then nothing is changed.
    """
    architectures = merged_models([(part.name, part.architectures) for part in parts])
    labels = [name for part in parts for name in part.datasets["dataset"].to_pylist()]
    models = architectures["architecture"].to_pylist()
    merged = merge(parts, models, list(dict.fromkeys(labels)))
    datasets = dataset_table(known, [part.datasets for part in parts], metrics(merged))
    truths = _truths(parts)
    provenance = {
        "import": json.dumps([part.provenance for part in parts]),
        "code_version": code_version(),
    }
    with replacing(out) as temporary, creating(temporary, out) as file:
        write_root(file, provenance, -1)
        write_table(file.create_group("architectures"), architectures)
        set_text(file["architectures"], "sampling", "")
        write_table(file.create_group("datasets"), datasets)
        write_table(file.create_group("journals"), _journals(parts))
        asked = merged.runs["planned"].to_numpy().astype(bool)
        evaluations, texts = merged_evaluations(parts, merged)
        texts = merged.labels | texts
        write_runs(file, merged.runs, merged.codes, texts, asked)
        _write_specs(file.create_group("specs"), merged, parts)
        _write_curves(file.create_group("curves"), merged, parts)
        _write_predictions(file, merged, parts, truths)
        write_evaluations(file, evaluations, texts)
        source = PartedEvaluations(parts, evaluations)
        write_evaluated(file, evaluations, merged.codes["dataset"], texts, source)


def _journals(parts: Sequence[Part]) -> pa.Table:
    """One row a name, as /labels/journal has it."""
    rows = {row["journal"]: row for part in parts for row in part.journals.to_pylist()}
    return pa.Table.from_pylist(list(rows.values()), parts[0].journals.schema)


def _truths(parts: Sequence[Part]) -> dict[str, Truth]:
    """The labels of every dataset with predictions. Raises UserError where two parts differ."""
    found: dict[str, Truth] = {}
    for part in parts:
        for dataset, truth in part.truth.items():
            known = found.setdefault(dataset, truth)
            if known.labels is None:
                found[dataset] = truth
            elif truth.kind != known.kind:
                raise UserError(
                    f"{part.name}: predictions on {dataset}: classes in one file, only whether "
                    f"they are correct in another"
                )
            elif truth.labels is not None and not np.array_equal(truth.labels, known.labels):
                raise UserError(f"{part.name}: other labels on {dataset} than in an earlier file")
    return found


def _runs(merged: Merged, parts: Sequence[Part]) -> Iterator[tuple[Part, int]]:
    for part, row in zip(merged.part.tolist(), merged.row.tolist(), strict=True):
        yield parts[part], row


def _write_specs(group: h5py.Group, merged: Merged, parts: Sequence[Part]) -> None:
    """In two passes, the first for their lengths, so that not all are in memory."""
    lengths = (len(part.arrays.spec(row)) for part, row in _runs(merged, parts))
    offsets = offsets_of(np.fromiter(lengths, np.int64, len(merged.row)))
    texts = (np.frombuffer(part.arrays.spec(row), np.uint8) for part, row in _runs(merged, parts))
    write_numbers(group, "offsets", offsets)
    _fill(create_numbers(group, "text", (int(offsets[-1]),), np.uint8), texts)


def _write_curves(group: h5py.Group, merged: Merged, parts: Sequence[Part]) -> None:
    epochs = merged.runs["epochs"].to_numpy()
    offsets = offsets_of(epochs)
    write_numbers(group, "offsets", offsets)
    runs = [run for run, count in zip(_runs(merged, parts), epochs, strict=True) if count]
    for name in CURVES:
        target = create_numbers(group, name, (int(offsets[-1]),), np.float32)
        _fill(target, (part.arrays.curve(name, row) for part, row in runs))


def _fill(target: h5py.Dataset, pieces: Iterator[NDArray[np.generic]]) -> None:
    """Write pieces end to end, some at a time."""
    held: list[NDArray[np.generic]] = []
    size, start = 0, 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= WRITTEN_AT_ONCE:
            target[start : start + size] = np.concatenate(held)
            held, start, size = [], start + size, 0
    if size:
        target[start : start + size] = np.concatenate(held)


def _write_predictions(
    file: h5py.File, merged: Merged, parts: Sequence[Part], truths: dict[str, Truth]
) -> None:
    images, names = merged.runs["images"].to_numpy(), merged.labels["dataset"]
    dataset = merged.codes["dataset"]
    places = create_predictions(file, dataset, names, images)
    for dataset_name, truth in truths.items():
        group = file[prediction_group(dataset_name)]
        set_text(group, "kind", truth.kind)
        if truth.labels is not None:
            write_numbers(group, "labels", truth.labels)
    for run, (part, row) in enumerate(_runs(merged, parts)):
        if images[run]:
            target = file[prediction_group(names[dataset[run]])]["classes"]
            line = np.full(target.shape[1], NO_PREDICTION, np.uint16)
            line[: images[run]] = part.arrays.predictions(row)
            target[places[run]] = line
