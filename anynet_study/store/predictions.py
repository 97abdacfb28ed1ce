"""Per-example predictions, read as they are indexed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.store.hdf5 import get_text, read_column
from anynet_study.store.layout import evaluation_group, prediction_group
from anynet_study.store.opening import StoreFile

#: Whole runs of so many bytes are read at a time where only some images are asked for.
BLOCK_BYTES = 1 << 24


@dataclass(frozen=True)
class Truth:
    """The true classes of a dataset's test images."""

    #: What the predictions are: "class", "correct" or "labels" (`layout`).
    kind: str
    #: (images,), or (images x words,) of kind "labels"; None where they are not known.
    labels: NDArray[np.uint16] | None


def prediction_groups(file: h5py.File) -> Iterator[h5py.Group]:
    """The groups of all datasets. Raises KeyError where one is damaged, as `values` does not."""
    return (file["predictions"][name] for name in file["predictions"])


def truths_in(file: h5py.File) -> dict[str, Truth]:
    """The true classes of every dataset that has predictions."""
    return {
        get_text(group, "dataset"): Truth(
            get_text(group, "kind"),
            group["labels"][()] if "labels" in group else None,
        )
        for group in prediction_groups(file)
    }


def predictions_in(file: h5py.File, dataset: str) -> h5py.Group:
    """The group of a dataset's predictions. Raises UserError where it has none."""
    group = file.get(prediction_group(dataset))
    if group is None:
        there = [get_text(group, "dataset") for group in prediction_groups(file)]
        raise UserError(f"no predictions on {dataset}; there are: {', '.join(there)}")
    return group


@dataclass(frozen=True)
class PredictionRows:
    """Predictions on one test set in one file."""

    file: StoreFile
    #: Path of the group.
    group: str
    #: Rows of `classes` that belong to the array, in its order.
    rows: NDArray[np.int64]


class PredictionArray:
    """An array (runs, n_test) uint16 on disk. `array[rows]` and `array[rows, images]` are NumPy's.

    Index along runs to read little: compressed in whole runs, a few of them are read at a time
    even for one image. `np.asarray(array)` reads all.
    """

    dtype = np.dtype(np.uint16)
    ndim = 2

    def __init__(self, parts: Sequence[PredictionRows], images: int) -> None:
        self._parts = parts
        self.shape = (sum(len(part.rows) for part in parts), images)

    @classmethod
    def joined(cls, arrays: Sequence["PredictionArray"]) -> "PredictionArray":
        """Arrays of one width below each other."""
        return cls([part for array in arrays for part in array._parts], arrays[0].shape[1])

    def take(self, lines: NDArray[np.int64]) -> "PredictionArray":
        """These lines of it, ascending; nothing is read."""
        parts, first = [], 0
        for part in self._parts:
            mine = lines[(lines >= first) & (lines < first + len(part.rows))] - first
            parts.append(PredictionRows(part.file, part.group, part.rows[mine]))
            first += len(part.rows)
        return PredictionArray(parts, self.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("predictions on disk cannot be an array without being copied")
        return np.asarray(self[:], dtype)

    def __iter__(self) -> Iterator[NDArray[np.uint16]]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        rows_key, images_key = key if isinstance(key, tuple) else (key, slice(None))
        rows = np.arange(len(self))[rows_key]
        if isinstance(rows_key, slice) or np.ndim(rows):
            if isinstance(images_key, slice) or np.ndim(images_key) == 0:
                return self._rows(np.atleast_1d(rows), images_key)
            raise IndexError("index one of runs and images with a list, the other with a slice")
        return self._rows(np.atleast_1d(rows), slice(None))[0][images_key]

    def _rows(self, rows: NDArray[np.int64], images: Any) -> NDArray[np.uint16]:
        """These rows, in this order, neighbours read together."""
        width = np.empty(self.shape[1], np.bool_)[images].shape
        found = np.empty((len(rows), *width), np.uint16)
        first = 0
        for part in self._parts:
            mine = np.flatnonzero((rows >= first) & (rows < first + len(part.rows)))
            places = part.rows[rows[mine] - first]
            first += len(part.rows)
            with part.file.open() as file:
                classes = file[part.group]["classes"]
                for run in _neighbours(places, max(1, BLOCK_BYTES // (2 * self.shape[1]))):
                    span = slice(int(places[run[0]]), int(places[run[-1]]) + 1)
                    found[mine[run]] = classes[span][:, images]
        return found


def _neighbours(places: NDArray[np.int64], most: int) -> Iterator[NDArray[np.int64]]:
    """Positions of consecutive places, at most so many at a time."""
    breaks = np.flatnonzero(np.diff(places) != 1) + 1
    for run in np.split(np.arange(len(places)), breaks):
        yield from (run[start : start + most] for start in range(0, len(run), most))


def evaluation_predictions_in(file: h5py.File, dataset: str, evaluation: str) -> h5py.Group:
    """The group of predictions of an evaluation. Raises UserError where there is none."""
    group = file.get(evaluation_group(dataset, evaluation))
    if group is None:
        there = list(dict.fromkeys(evaluations_with_predictions(file, dataset)))
        said = f"there are: {', '.join(there)}" if there else "there are none at all"
        raise UserError(f"no predictions of evaluation {evaluation} on {dataset}; {said}")
    return group


def evaluations_with_predictions(file: h5py.File, dataset: str) -> list[str]:
    """Names of the evaluations of runs on a dataset of which there are predictions."""
    parent = evaluation_group(dataset, "x").rpartition("/")[0]
    if parent not in file:
        return []
    names = read_column(file["labels"], "evaluation").tolist()
    return [name for name in names if evaluation_group(dataset, name) in file]


def evaluation_prediction_groups(file: h5py.File) -> Iterator[h5py.Group]:
    """The groups of predictions of all evaluations."""
    parent = file["evaluations/predictions"]
    return (parent[dataset][name] for dataset in parent for name in parent[dataset])
