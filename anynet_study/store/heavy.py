"""The arrays of the runs, journals to HDF5, a block of runs at a time."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.store.catalogue import BLOCK_BYTES
from anynet_study.store.columns import create_numbers, write_numbers
from anynet_study.store.frames import read_frame
from anynet_study.store.layout import prediction_group
from anynet_study.store.record import CURVES, NO_PREDICTION, RECORD_VERSION, SCHEMA
from anynet_study.store.writing import create_predictions, offsets_of


def write_heavy(
    file: h5py.File,
    runs: pa.Table,
    dataset: NDArray[np.int32],
    labels: list[str],
    paths: list[Path],
) -> None:
    """Write /curves, /specs and /predictions of `runs` (rows of a catalogue, in store order).

    `dataset` is each run's index into `labels`, `paths` the journals of the catalogue.
    """
    columns = {name: runs[name].to_numpy() for name in ("journal", "offset", "end")}
    epochs = offsets_of(runs["epochs"].to_numpy())
    spec_bytes = offsets_of(runs["spec_bytes"].to_numpy())
    curves = _ragged(file.create_group("curves"), epochs, dict.fromkeys(CURVES, np.float32))
    specs = _ragged(file.create_group("specs"), spec_bytes, {"text": np.uint8})
    images = runs["images"].to_numpy()
    places = create_predictions(file, dataset, labels, images)
    for rows in _blocks(columns["end"] - columns["offset"]):
        batches = _read(columns, rows, paths)
        span = slice(rows.start, rows.stop + 1)
        for name, target in curves.items():
            _fill(target, epochs[span], [batch[name][0].values.to_numpy() for batch in batches])
        texts = [np.frombuffer(batch["spec"][0].as_buffer(), np.uint8) for batch in batches]
        _fill(specs["text"], spec_bytes[span], texts)
        _fill_predictions(file, labels, dataset, places, rows, batches)


def _ragged(
    group: h5py.Group, offsets: NDArray[np.int64], arrays: dict[str, Any]
) -> dict[str, h5py.Dataset]:
    write_numbers(group, "offsets", offsets)
    return {
        name: create_numbers(group, name, (int(offsets[-1]),), kind)
        for name, kind in arrays.items()
    }


def _blocks(sizes: NDArray[np.int64]) -> Iterator[range]:
    """Consecutive runs whose records together are near BLOCK_BYTES."""
    block = np.cumsum(sizes) // BLOCK_BYTES
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    stops = [*starts[1:].tolist(), len(sizes)]
    yield from (range(int(start), stop) for start, stop in zip(starts, stops, strict=False))


def _read(columns: dict[str, NDArray[Any]], rows: range, paths: list[Path]) -> list[pa.RecordBatch]:
    """The batches of these runs, each journal opened once and read in the order of its bytes."""
    journal, offset, end = columns["journal"], columns["offset"], columns["end"]
    found: dict[int, pa.RecordBatch] = {}
    ordered = sorted(rows, key=lambda row: (journal[row], offset[row]))
    for number, members in groupby(ordered, key=lambda row: journal[row]):
        with paths[number].open("rb") as file:
            for row in members:
                frame = read_frame(file, int(offset[row]), int(end[row]), RECORD_VERSION)
                found[row] = frame.batch(SCHEMA)
    return [found[row] for row in rows]


def _fill(target: h5py.Dataset, offsets: NDArray[np.int64], parts: list[NDArray[Any]]) -> None:
    if offsets[-1] > offsets[0]:
        target[offsets[0] : offsets[-1]] = np.concatenate(parts)


def _fill_predictions(
    file: h5py.File,
    labels: list[str],
    dataset: NDArray[np.int32],
    places: NDArray[np.int64],
    rows: range,
    batches: list[pa.RecordBatch],
) -> None:
    by_dataset: dict[int, list[int]] = {}
    for row, batch in zip(rows, batches, strict=True):
        if len(batch["predictions"][0]):
            by_dataset.setdefault(int(dataset[row]), []).append(row)
    for code, members in by_dataset.items():
        target = file[prediction_group(labels[code])]["classes"]
        block = np.full((len(members), target.shape[1]), NO_PREDICTION, np.uint16)
        for line, row in enumerate(members):
            values = batches[row - rows.start]["predictions"][0].values.to_numpy()
            block[line, : len(values)] = values
        first = int(places[members[0]])
        target[first : first + len(members)] = block
