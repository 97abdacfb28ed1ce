"""Accuracy of a many-class model on subsets of its classes (Feuer et al. 2023, paper 5, 5.2).

One model can be judged on all classes, on a broad subset of them, or on a fine-grained one.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from anynet_study.apr.binomial import binomial_interval
from anynet_study.apr.mcnemar import UNKNOWN, correctness
from anynet_study.errors import UserError

Classes = NDArray[np.int64]


def label_set_accuracy(
    predictions: ArrayLike,
    labels: ArrayLike,
    label_sets: Mapping[str, Collection[int]],
    names: Sequence[str] | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Accuracy on the images of each label set's classes, per architecture.

    `predictions` (architectures, images) and `labels` (images,) are class numbers, `names` the
    architectures'. Returns DataFrame[architecture, label_set, classes, images, accuracy, low, high]
    in percent with Clopper-Pearson intervals. The predictions are taken as they are: where they
    were made among all classes, a model is wrong that prefers a class outside the set; for a choice
    within the set make them by `restrict` first, as the paper does. Images without a label (65535)
    count nowhere. Raises UserError for a set without images, or classes that no image has.
    """
    truth = np.asarray(labels)
    right = correctness(predictions, truth, names)
    known = truth[truth != UNKNOWN]
    parts = []
    for name, members in label_sets.items():
        chosen = np.isin(known, _classes(name, members, known))
        accuracy = 100 * right.to_numpy()[:, chosen].mean(axis=1)
        low, high = binomial_interval(100 - accuracy, int(chosen.sum()), level)
        columns = {"architecture": right.index, "label_set": name, "classes": len(set(members))}
        columns |= {"images": int(chosen.sum()), "accuracy": accuracy}
        parts.append(pd.DataFrame({**columns, "low": 100 - high, "high": 100 - low}))
    if not parts:
        raise UserError("label_sets: at least one is needed")
    return pd.concat(parts, ignore_index=True)


def restrict(scores: ArrayLike, label_set: Collection[int]) -> Classes:
    """(images,) the class of the highest score among a label set's, of scores (images, classes)."""
    table = np.asarray(scores)
    members = np.array(sorted(set(label_set)), dtype=np.int64)
    if table.ndim != 2 or not len(members) or members[0] < 0 or members[-1] >= table.shape[1]:
        raise UserError(
            f"label_set: legal are classes of scores (images, classes), here {table.shape}"
        )
    chosen: Classes = members[np.argmax(table[:, members], axis=1)]
    return chosen


def nested_label_sets(
    classes: int, sizes: Sequence[int], seed: int = 0
) -> dict[str, tuple[int, ...]]:
    """Random label sets of these sizes, "10 classes" a part of "100 classes" for the same seed."""
    if not sizes or min(sizes) < 1 or max(sizes) > classes:
        raise UserError(f"sizes: {list(sizes)}; legal: from 1 to {classes} classes")
    order = np.random.default_rng(seed).permutation(classes)
    return {f"{size} classes": tuple(sorted(order[:size].tolist())) for size in sizes}


def _classes(name: str, members: Collection[int], labels: Classes) -> Classes:
    wanted = np.array(sorted(set(members)), dtype=np.int64)
    absent = wanted[~np.isin(wanted, labels)]
    if not len(wanted):
        raise UserError(f"label_sets: {name} has no class")
    if len(absent):
        raise UserError(f"label_sets: {name}: no image has class {absent[0]}")
    return wanted
