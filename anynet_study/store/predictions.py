"""Where a results file keeps per-example predictions, and the true classes beside them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.store.hdf5 import get_text, read_texts
from anynet_study.store.layout import prediction_group, scores_file


@dataclass(frozen=True)
class Truth:
    """The true classes of a dataset's test images."""

    #: What the predictions are: "class", "correct" or "labels" (`layout`).
    kind: str
    #: (images,), or (images x words,) of kind "labels"; None where they are not known.
    labels: NDArray[np.uint16] | None


def read_scores(store: Path, run_id: str) -> NDArray[np.float32] | None:
    """The outputs of a run's network on its test images; None where they were not kept.

    Shape (images, classes), float32, in test order. Raises UserError for a file that is damaged.
    """
    path = scores_file(store, run_id)
    try:
        found: NDArray[np.float32] = np.load(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: no scores can be read from it ({error})") from None
    return found


def prediction_groups(file: h5py.File) -> Iterator[h5py.Group]:
    """The groups of all datasets. Raises KeyError if one is damaged; `values()` would give None."""
    return (file["predictions"][name] for name in file["predictions"])


def evaluation_prediction_groups(file: h5py.File) -> Iterator[h5py.Group]:
    """The groups of all evaluations of the runs on all datasets."""
    parent = file.get("evaluations/predictions", {})
    return (parent[dataset][name] for dataset in parent for name in parent[dataset])


def truths_in(file: h5py.File) -> dict[str, Truth]:
    """The true classes of every dataset that has predictions."""
    return {
        get_text(group, "dataset"): Truth(
            kind_of(group),
            group["labels"][()] if "labels" in group else None,
        )
        for group in prediction_groups(file)
    }


def kind_of(group: h5py.Group) -> str:
    """The kind of a group's predictions (`Truth`); the first stores have no kind but classes."""
    return get_text(group, "kind", "class")


def predictions_in(file: h5py.File, dataset: str, evaluation: str = "") -> h5py.Group:
    """The group of predictions on a dataset, or on an evaluation of the runs on it.

    Raises UserError where there is none.
    """
    group = file.get(prediction_group(dataset, evaluation))
    if group is not None:
        return group
    if evaluation:
        what = f"of evaluation {evaluation} on {dataset}"
        names = read_texts(file["labels/evaluation"]).to_pylist() if "evaluations" in file else []
        there = [name for name in names if prediction_group(dataset, name) in file]
    else:
        what = f"on {dataset}"
        there = [get_text(group, "dataset") for group in prediction_groups(file)]
    said = f"there are: {', '.join(there)}" if there else "there are none at all"
    raise UserError(f"no predictions {what}; {said}")
