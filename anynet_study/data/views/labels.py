"""Labels as they are stored: a class an image, or where there are several a matrix."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.readers.listing import Example

#: (N,) int64, the class of each image; or, multi-label, (N, classes) uint8, 1 where it has it.
Labels = NDArray[Any]


def label_array(examples: Sequence[Example], classes: int, multi_label: bool) -> Labels:
    """The labels of `examples` in their order."""
    first = np.array([example.label for example in examples], np.int64)
    if not multi_label:
        return first
    matrix = np.zeros((len(examples), classes), np.uint8)
    matrix[np.arange(len(examples)), first] = 1
    for row, example in enumerate(examples):
        matrix[row, list(example.also)] = 1
    return matrix


def label_layout(classes: int, multi_label: bool) -> tuple[tuple[int, ...], type]:
    """Shape of one image's label in the array on disk, and its type."""
    return ((classes,), np.uint8) if multi_label else ((), np.int64)


def class_counts(labels: Labels, classes: int) -> NDArray[np.int64]:
    """(classes,) images of each class; one of several classes counts for all of them."""
    if labels.ndim == 2:
        return np.asarray(labels.sum(axis=0, dtype=np.int64))
    return np.bincount(labels, minlength=classes)
