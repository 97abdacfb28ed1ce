"""What stored predictions say of single classes."""

import json

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.metrics import class_accuracy, confusion_matrix, from_words
from anynet_study.store.hdf5 import get_text
from anynet_study.store.predictions import predictions_in
from anynet_study.store.records import NO_PREDICTION
from anynet_study.store.results import ResultStore

Matrix = NDArray[np.uint8]


def class_accuracies(store: ResultStore, dataset: str) -> pd.DataFrame:
    """Percent of each class's test images that each run is right on: runs x classes.

    Index run_id, as in `runs()`; columns the names of the classes, or their numbers where the store
    does not say. NaN for classes without images. Raises UserError where predictions or true classes
    are not stored, and where images have several classes (see `label_matrices`).
    """
    runs, predictions = store.predictions(dataset)
    truth = store.labels(dataset)
    if truth is None:
        raise UserError(f"the true classes of {dataset}'s test images are not stored")
    known = truth != NO_PREDICTION
    names = class_names(store, dataset) or [str(n) for n in range(1 + int(truth[known].max()))]
    rows = []
    for guessed in predictions:
        there = known & (guessed != NO_PREDICTION)
        classes = max(len(names), 1 + int(guessed[there].max(initial=0)))
        rows.append(class_accuracy(confusion_matrix(truth[there], guessed[there], classes)))
    table = [100.0 * row[: len(names)] for row in rows]
    return pd.DataFrame(table, index=pd.Index(runs["run_id"], name="run_id"), columns=names)


def label_matrices(store: ResultStore, dataset: str) -> tuple[pd.DataFrame, Matrix, Matrix | None]:
    """Predictions on images that have several classes, and the truth.

    The runs (rows of `runs()`), (runs, images, classes) and (images, classes) uint8, 1 where an
    image has the class; the last is None where it is not stored. Raises UserError for datasets of
    one class an image.
    """
    with store.file.open() as file:
        group = predictions_in(file, dataset)
        if get_text(group, "kind") != "labels":
            raise UserError(f"{dataset}: its images have one class each; see predictions")
        truth = group["labels"][()] if "labels" in group else None
    runs, predictions = store.predictions(dataset)
    table = store.datasets().set_index("dataset")
    classes = int(table.loc[dataset, "classes"])
    matrices = np.stack([from_words(words, classes) for words in predictions])
    return runs, matrices, None if truth is None else from_words(truth, classes)


def class_names(store: ResultStore, dataset: str) -> list[str]:
    """In the order of their numbers; none where the store does not say."""
    table = store.datasets()
    if "class_names" not in table:
        return []
    said = table.set_index("dataset")["class_names"].get(dataset)
    return list(map(str, json.loads(said))) if isinstance(said, str) and said else []
