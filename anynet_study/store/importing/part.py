"""What one file brings to an imported store: runs with names, and arrays where it has them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.store.layout import CODED

#: Specifications that are hashed at a time.
HASHED = 1 << 16
#: Columns of `Part.runs`: texts as dictionaries, and numbers.
RUNS = pa.schema(
    [
        ("run_id", pa.string()),
        *((name, pa.dictionary(pa.int32(), pa.string())) for name in CODED),
        ("replicate", pa.int32()),
        ("error", pa.float64()),
        ("planned", pa.uint8()),
        ("epochs", pa.int32()),
        ("images", pa.int32()),
        ("seconds", pa.float64()),
        ("started", pa.float64()),
    ]
)


class Arrays(Protocol):
    """What belongs to a run beside its scalars; runs are rows of `Part.runs`."""

    def spec(self, row: int) -> bytes:
        """JSON in UTF-8."""
        ...

    def curve(self, name: str, row: int) -> NDArray[np.float32]:
        """(epochs,)"""
        ...

    def predictions(self, row: int) -> NDArray[np.uint16]:
        """(images,)"""
        ...


@dataclass(frozen=True)
class Truth:
    """The true classes of a dataset's test images."""

    #: "class", or "correct" where only that is known of predictions (`store.layout`).
    kind: str
    #: (images,); None where they are not known.
    labels: NDArray[np.uint16] | None


@dataclass(frozen=True)
class Part:
    """One file, read."""

    #: How messages call it.
    name: str
    runs: pa.Table
    arrays: Arrays
    #: `architecture` and what is known of it; `dataset` and what is known of it.
    architectures: pa.Table
    datasets: pa.Table
    #: Rows of /journals, and an entry of the provenance.
    journals: pa.Table
    provenance: Mapping[str, Any]
    #: By dataset, where there are predictions.
    truth: Mapping[str, Truth] = field(default_factory=dict)
    #: The store that has evaluations of its runs.
    evaluations: h5py.File | None = None
    #: Whether its values were taken for errors because nothing says what they are.
    assumed: bool = False


class NamedRuns:
    """Runs of which only names and an error are known: the names are their specification."""

    def __init__(self, runs: pa.Table, predictions: NDArray[np.uint16] | None = None) -> None:
        """`runs` has architecture, dataset, recipe and replicate; `predictions` (runs, images)."""
        texts = [runs[name].combine_chunks() for name in ("architecture", "dataset", "recipe")]
        self._quoted = [
            [json.dumps(text, ensure_ascii=False) for text in each.dictionary.to_pylist()]
            for each in texts
        ]
        self._codes = [np.asarray(text.indices) for text in texts]
        self._replicate = np.asarray(runs["replicate"])
        self._predictions = predictions

    def spec(self, row: int) -> bytes:
        """Canonical JSON, its keys in order."""
        (models, datasets, recipes), (model, dataset, recipe) = self._quoted, self._codes
        return (
            f'{{"architecture":{models[model[row]]},"dataset":{datasets[dataset[row]]},'
            f'"imported":true,"recipe":{recipes[recipe[row]]},'
            f'"replicate":{self._replicate[row]}}}'
        ).encode()

    def curve(self, name: str, row: int) -> NDArray[np.float32]:
        return np.empty(0, np.float32)

    def predictions(self, row: int) -> NDArray[np.uint16]:
        if self._predictions is None:
            return np.empty(0, np.uint16)
        return np.asarray(self._predictions[row])

    def ids(self) -> pa.ChunkedArray:
        """The run_id of every run: a hash of its specification."""
        count = len(self._replicate)
        blocks = (range(at, min(at + HASHED, count)) for at in range(0, count, HASHED))
        return pa.chunked_array([self._hashes(rows) for rows in blocks], pa.string())

    def _hashes(self, rows: range) -> pa.Array:
        digests = (hashlib.blake2b(self.spec(row), digest_size=8).hexdigest() for row in rows)
        return pa.array(digests, pa.string())


def named_runs(
    columns: Mapping[str, Any], predictions: NDArray[np.uint16] | None = None
) -> tuple[pa.Table, NamedRuns]:
    """Complete the columns of imported runs (`RUNS`), and name the runs.

    What is left out: completed, replicate 0, no curves, all else unknown.
    """
    count = len(columns["error"])
    images = 0 if predictions is None else predictions.shape[1]
    unknown = {"seconds": np.nan, "started": np.nan, "planned": 1, "replicate": 0, "epochs": 0}
    constants = {"status": "completed", "images": images, **unknown}
    arrays = []
    for name, kind in zip(RUNS.names[1:], RUNS.types[1:], strict=True):
        value = columns.get(name)
        if value is None:
            value = pa.repeat(pa.scalar(constants.get(name, ""), _plain(kind)), count)
        arrays.append(pa.array(value) if isinstance(value, np.ndarray) else value)
    runs = pa.table(
        [_as(array, kind) for array, kind in zip(arrays, RUNS.types[1:], strict=True)],
        RUNS.names[1:],
    )
    named = NamedRuns(runs, predictions)
    return runs.add_column(0, "run_id", named.ids()), named


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _as(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_dictionary(kind):
        return array.cast(kind)
    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices.cast(pa.int32()), array.dictionary)
    return array.dictionary_encode()
