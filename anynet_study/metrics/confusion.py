"""Metrics of one class an image, all from the matrix of true and predicted classes.

Each equals the function of scikit-learn that it names, on whatever classes are there.
"""

import numpy as np
from numpy.typing import NDArray

#: (classes, classes) images by true class and predicted class.
Confusion = NDArray[np.int64]


def confusion_matrix(
    truth: NDArray[np.integer], predictions: NDArray[np.integer], classes: int
) -> Confusion:
    """How often a class (row) was taken for another (column); both (images,) in 0..classes-1."""
    pairs = truth.astype(np.int64) * classes + predictions
    return np.bincount(pairs, minlength=classes**2).reshape(classes, classes)


def accuracy(confusion: Confusion) -> float:
    """Share of images that are right (`accuracy_score`)."""
    return float(np.trace(confusion) / confusion.sum())


def class_accuracy(confusion: Confusion) -> NDArray[np.float64]:
    """(classes,) share of each class's images that are right (`recall_score`); NaN without any."""
    images = confusion.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.diag(confusion) / images)


def balanced_accuracy(confusion: Confusion) -> float:
    """Mean accuracy of the classes that have images (`balanced_accuracy_score`)."""
    return float(np.nanmean(class_accuracy(confusion)))


def macro_f1(confusion: Confusion) -> float:
    """Mean F1 of the classes that have images or are predicted (`f1_score`, macro)."""
    right = np.diag(confusion)
    seen = confusion.sum(axis=0) + confusion.sum(axis=1)
    return float(np.mean(2 * right[seen > 0] / seen[seen > 0]))


def quadratic_kappa(confusion: Confusion) -> float:
    """Cohen's kappa with quadratic weights (`cohen_kappa_score`, all classes as labels).

    1 for perfect agreement, 0 for no better than by chance, below 0 for worse; 0 where there is
    one class alone, on which nothing can be said. The classes' order is their numbers'.
    """
    place = np.arange(len(confusion))
    weights = (place[:, None] - place) ** 2
    rows, columns = confusion.sum(axis=1), confusion.sum(axis=0)
    by_chance = float((weights * np.outer(rows, columns)).sum()) / confusion.sum()
    return 1.0 - float((weights * confusion).sum()) / by_chance if by_chance else 0.0
