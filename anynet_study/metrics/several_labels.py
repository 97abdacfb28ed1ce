"""Metrics of images that have several classes."""

import numpy as np
from numpy.typing import NDArray

#: (images, classes), 1 or true where an image has (or is said to have) the class.
Matrix = NDArray[np.uint8] | NDArray[np.bool_]


def macro_f1_of_labels(truth: Matrix, predictions: Matrix) -> float:
    """Mean F1 of all classes; 0 for one that no image has or is said to have.

    `f1_score` of scikit-learn, macro, with `zero_division=0`.
    """
    right = (truth.astype(bool) & predictions.astype(bool)).sum(axis=0)
    seen = truth.sum(axis=0, dtype=np.int64) + predictions.sum(axis=0, dtype=np.int64)
    return float(np.mean(2 * right / np.maximum(seen, 1)))
