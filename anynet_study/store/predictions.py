"""The place of per-example predictions in a results file, and of the true classes beside them."""

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import DoesNotApplyError, UserError, first_line
from anynet_study.core.files import read_regular
from anynet_study.store.hdf5 import get_text, read_texts
from anynet_study.store.layout import prediction_group, scores_file

#: In bytes: a million images of a thousand classes.
MOST_SCORES = 4 << 30


@dataclass(frozen=True)
class Truth:
    """The true classes of a dataset's test images."""

    #: What the predictions are: "class", "correct" or "labels" (`layout`).
    kind: str
    #: (images,), or (images x words,) of kind "labels"; None where they are not known.
    labels: NDArray[np.uint16] | None


def read_scores(store: Path, run_id: str, digest: str) -> NDArray[np.float32] | None:
    """The outputs of a run's network on its test images; None where they were not kept.

    Shape (images, classes), float32, in test order. `digest` is the record's, "" in records of
    before there was one. A copy of a store has no folder of scores beside it, and so keeps none.
    Raises UserError for a file that is damaged, changed or gone.
    """
    path = scores_file(store, run_id)
    try:
        content = read_regular(path, MOST_SCORES)
    except FileNotFoundError:
        if not digest or not path.parent.is_dir():
            return None
        raise UserError(f"{path}: is gone; it has the scores of run {run_id}") from None
    except OSError as error:
        raise UserError(f"{path}: no scores can be read from it ({error.strerror})") from None
    if digest and hashlib.sha256(content).hexdigest() != digest:
        raise UserError(f"{path}: is not what was written for run {run_id}")
    try:
        found: NDArray[np.float32] = np.load(io.BytesIO(content), allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: no scores can be read from it ({first_line(error)})") from None
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

    Raises DoesNotApplyError where there is none.
    """
    group: Any = file
    for part in prediction_group(dataset, evaluation).strip("/").split("/"):
        # Listed, as h5py's `in` and `get` take what cannot be read for what is not there.
        group = group[part] if group is not None and part in [*group] else None
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
    raise DoesNotApplyError(f"no predictions {what}; {said}")
