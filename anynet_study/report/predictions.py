"""Predictions of a store's runs on single images, with the true classes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anynet_study.apr import correctness
from anynet_study.errors import UserError
from anynet_study.store import ResultStore

#: The name of a dataset's own test set.
OWN = "test"


@dataclass(frozen=True)
class Predicted:
    """What architectures took the images of one test set for."""

    architectures: list[str]
    #: (architectures, images) class numbers.
    classes: NDArray[np.uint16]
    #: (images,) true ones; 65535 where unknown.
    labels: NDArray[np.uint16]

    def correct(self) -> pd.DataFrame:
        """Which images are classified rightly: bool, architectures x images."""
        return correctness(self.classes, self.labels, self.architectures)


def predicted_of(
    store: ResultStore, recipe: str, dataset: str, test_set: str, architectures: Sequence[str]
) -> Predicted:
    """Predictions of the first replicates of these architectures, as far as they are stored.

    `test_set` is "test", or an evaluation on the dataset's own test images, such as turned ones.
    Raises UserError where there are no predictions, or no true classes.
    """
    labels = _labels(store, dataset)
    try:
        if test_set == OWN:
            runs, predictions = store.predictions(dataset)
        else:
            _check_own_images(store, dataset, test_set)
            runs, predictions = store.evaluation_predictions(dataset, test_set)
    except UserError as error:
        if str(error).startswith("no predictions"):
            raise UserError(f"no predictions on {_named(dataset, test_set)} are stored") from None
        raise
    chosen = runs.reset_index(drop=True)
    chosen = chosen[(chosen["recipe"] == recipe) & chosen["architecture"].isin(architectures)]
    first = chosen.sort_values("replicate", kind="stable").drop_duplicates("architecture")
    if len(first) < 2:
        raise UserError(
            f"predictions on {_named(dataset, test_set)} are stored of {len(first)} architectures"
        )
    places = np.sort(first.index.to_numpy())
    return Predicted(list(runs["architecture"].iloc[places]), predictions[places], labels)


def choices_of(store: ResultStore) -> dict[str, dict[str, int]]:
    """By dataset, the evaluations that let networks choose among fewer of its classes: how many."""
    found: dict[str, dict[str, int]] = {}
    for dataset, evaluation, identity in _identities(store):
        classes = identity.get("classes")
        row = _row(store, dataset)
        whole = identity.get("content_hash") == row["content_hash"] and "transform" not in identity
        if whole and classes and len(classes) < row["classes"]:
            found.setdefault(dataset, {})[evaluation] = len(classes)
    return found


def _labels(store: ResultStore, dataset: str) -> NDArray[np.uint16]:
    try:
        labels = store.labels(dataset)
    except UserError:
        raise UserError(f"no predictions on {dataset} are stored") from None
    if labels is None:
        raise UserError(f"the true classes of {dataset}'s test images are not stored")
    images = _row(store, dataset)["test_images"]
    if not np.isnan(images) and len(labels) > images:
        raise UserError(f"the images of {dataset} have several classes each")
    return labels


def _check_own_images(store: ResultStore, dataset: str, evaluation: str) -> None:
    row = _row(store, dataset)
    for where, name, identity in _identities(store):
        if (where, name) == (dataset, evaluation):
            own = identity.get("content_hash") == row["content_hash"]
            if not own or len(identity.get("classes") or []) not in (0, row["classes"]):
                raise UserError(
                    f"{_named(dataset, evaluation)} has other images than the own test set: "
                    "their true classes are not stored"
                )


def _identities(store: ResultStore) -> list[tuple[str, str, dict[str, Any]]]:
    """Dataset, evaluation and what determines it, of each that there is."""
    found = store.evaluations(["dataset", "evaluation", "identity"]).drop_duplicates()
    return [
        (str(dataset), str(evaluation), json.loads(identity or "{}"))
        for dataset, evaluation, identity in found.itertuples(index=False)
    ]


def _row(store: ResultStore, dataset: str) -> Mapping[str, Any]:
    rows = store.datasets()
    chosen = rows[rows["dataset"] == dataset]
    if chosen.empty:
        raise UserError(f"no dataset {dataset} in the store")
    row: dict[str, Any] = chosen.iloc[0].to_dict()
    return row


def _named(dataset: str, test_set: str) -> str:
    return dataset if test_set == OWN else f"{test_set} of {dataset}"
