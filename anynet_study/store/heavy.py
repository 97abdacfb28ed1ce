"""The arrays of the runs, from where they are to HDF5, a block of runs at a time."""

from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.metrics import CURVES
from anynet_study.store.columns import create_numbers, write_numbers
from anynet_study.store.layout import prediction_group
from anynet_study.store.ragged import places_of
from anynet_study.store.record import NO_PREDICTION
from anynet_study.store.sources import Rows, Source
from anynet_study.store.writing import create_predictions, offsets_of

#: So many bytes of records are in memory at a time.
BLOCK_BYTES = 1 << 25


def write_heavy(
    file: h5py.File,
    runs: pa.Table,
    dataset: NDArray[np.int32],
    labels: list[str],
    source: Source,
) -> None:
    """Write /curves, /specs and /predictions of `runs` (of a catalogue, in store order).

    `dataset` is each run's index into `labels`.
    """
    lengths = lengths_of(runs)
    epochs, spec_bytes = offsets_of(lengths[CURVES[0]]), offsets_of(lengths["spec"])
    targets = _ragged(file.create_group("curves"), epochs, dict.fromkeys(CURVES, np.float32))
    texts = _ragged(file.create_group("specs"), spec_bytes, {"text": np.uint8})["text"]
    lines = create_predictions(file, dataset, labels, runs["images"].to_numpy())
    for rows in blocks_of(runs["end"].to_numpy() - runs["offset"].to_numpy()):
        arrays = source.arrays(rows)
        for name, target in targets.items():
            _fill(target, epochs, rows, arrays[name])
        _fill(texts, spec_bytes, rows, arrays["spec"])
        images, codes = lengths["predictions"][rows], dataset[rows]
        begin = offsets_of(images)[:-1]
        for code in np.unique(codes[images > 0]):
            mine = np.flatnonzero((codes == code) & (images > 0))
            values = arrays["predictions"][places_of(begin[mine], images[mine])]
            target = file[prediction_group(labels[code])]["classes"]
            first = lines[rows[mine[0]]]
            target[first : first + len(mine)] = padded(values, images[mine], target.shape[1])


def lengths_of(runs: pa.Table) -> dict[str, Rows]:
    """Number of values of every array of every run."""
    epochs = dict.fromkeys(CURVES, "epochs")
    columns = epochs | {"spec": "spec_bytes", "predictions": "images"}
    return {name: runs[column].to_numpy().astype(np.int64) for name, column in columns.items()}


def _ragged(group: h5py.Group, offsets: Rows, arrays: dict[str, Any]) -> dict[str, h5py.Dataset]:
    write_numbers(group, "offsets", offsets)
    return {
        name: create_numbers(group, name, (int(offsets[-1]),), kind)
        for name, kind in arrays.items()
    }


def blocks_of(sizes: Rows) -> Iterator[Rows]:
    """Consecutive rows whose records, of these sizes, together are near BLOCK_BYTES."""
    block = np.cumsum(sizes) // BLOCK_BYTES
    breaks = np.flatnonzero(np.diff(block)) + 1
    yield from (rows for rows in np.split(np.arange(len(sizes)), breaks) if rows.size)


def _fill(target: h5py.Dataset, offsets: Rows, rows: Rows, values: NDArray[Any]) -> None:
    begin, end = offsets[rows[0]], offsets[rows[-1] + 1]
    if end > begin:
        target[begin:end] = values


def padded(values: NDArray[np.uint16], lengths: Rows, width: int) -> NDArray[np.uint16]:
    """One line a run."""
    if (lengths == width).all():
        return values.reshape(-1, width)
    block = np.full((len(lengths), width), NO_PREDICTION, np.uint16)
    block[np.arange(width) < lengths[:, None]] = values
    return block
