"""Which images a variant has: those of its classes, and of the training images a selection."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.splits.ordering import seeded_order
from anynet_study.data.views.labels import Labels
from anynet_study.data.views.variants import Variant
from anynet_study.errors import UserError

Indices = NDArray[np.int64]


def of_classes(labels: Labels, numbers: Indices) -> tuple[Indices, Labels]:
    """Rows that have one of the classes of a view, and their labels as the view numbers them.

    `numbers` (dataset's classes,) is the number of each in the view, or -1. Where images have
    several classes, one that has any of a group's has the group.
    """
    if labels.ndim == 1:
        numbered = numbers[labels]
        rows = np.flatnonzero(numbered >= 0)
        return rows, numbered[rows]
    columns = [labels[:, numbers == number].any(axis=1) for number in range(numbers.max() + 1)]
    matrix = np.stack(columns, axis=1).astype(np.uint8)
    rows = np.flatnonzero(matrix.any(axis=1))
    return rows, matrix[rows]


def selected(labels: Labels, classes: Sequence[str], variant: Variant) -> Indices:
    """Positions of the training images to keep, ascending.

    In each class the images come in one seeded order of which a beginning is kept: a smaller
    selection is part of every larger one.
    """
    if labels.ndim == 2:
        return _share_of_all(len(labels), variant)
    counts = np.bincount(labels, minlength=len(classes))
    kept = [
        members[seeded_order(len(members), "images", name)[:count]]
        for members, name, count in zip(
            by_class(labels, counts), classes, _kept_counts(counts, classes, variant), strict=True
        )
    ]
    return np.sort(np.concatenate(kept))


def by_class(labels: Indices, counts: Indices) -> list[Indices]:
    """Positions of the images of each class, ascending; `counts` are how many."""
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(counts)[:-1])


def _kept_counts(counts: Indices, classes: Sequence[str], variant: Variant) -> Indices:
    if variant.balanced:
        counts = np.minimum(counts, np.sort(counts)[-2])
    if variant.per_class is not None:
        fewest = int(counts.argmin())
        if counts[fewest] < variant.per_class:
            raise UserError(
                f"per_class: {variant.per_class}, but class {classes[fewest]!r} has "
                f"{counts[fewest]} training images"
            )
        counts = np.full_like(counts, variant.per_class)
    if variant.fraction is not None:
        counts = np.maximum(1, np.rint(counts * variant.fraction).astype(np.int64))
    return counts


def _share_of_all(images: int, variant: Variant) -> Indices:
    """Of images with several classes: a share, not one of every class."""
    for key in ("balanced", "per_class", "label_noise"):
        if getattr(variant, key):
            raise UserError(f"{key}: the images of this dataset have several classes each")
    if variant.fraction is None:
        return np.arange(images)
    count = max(1, round(images * variant.fraction))
    return np.sort(seeded_order(images, "images")[:count])
