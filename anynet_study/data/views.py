"""A variant applied to a packed dataset: which images, which labels, which statistics."""

import difflib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.meta import Split
from anynet_study.data.ordering import seeded_order
from anynet_study.data.packed import PackedDataset
from anynet_study.data.variants import Variant
from anynet_study.errors import UserError

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class DatasetView:
    """What a run trains and tests on. Indices are rows of the packed arrays, in order."""

    dataset: PackedDataset
    classes: tuple[str, ...]
    train_index: Indices
    #: In 0..len(classes)-1, like `test_labels`.
    train_labels: Indices
    test_index: Indices
    test_labels: Indices
    #: (3,) in units of 0..1, of the training images of this view.
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    #: All that determines the data and nothing else, JSON-able: equal for equal data.
    identity: dict[str, Any]

    @property
    def size(self) -> int:
        """Height and width in pixels."""
        return self.dataset.size

    def images(self, split: Split) -> NDArray[np.uint8]:
        """All images of the packed dataset, memory-mapped: index them with this view's index."""
        return self.dataset.images(split)


def make_view(dataset: PackedDataset, variant: Variant) -> DatasetView:
    """Apply `variant` to `dataset`; its `base` is not looked at.

    Classes keep their order in the dataset, whatever the order they are listed in. UserError for
    classes that do not exist and for more classes or images than there are.
    """
    chosen = _chosen_classes(dataset, variant)
    classes = tuple(dataset.classes[label] for label in chosen)
    train_index, train_labels = _restrict(dataset.labels("train"), chosen)
    test_index, test_labels = _restrict(dataset.labels("test"), chosen)
    keep = _selected(train_labels, classes, variant)
    mean, std = dataset.statistics("train", train_index[keep])
    identity: dict[str, Any] = {"content_hash": dataset.content_hash}
    if len(classes) < len(dataset.classes):
        identity["classes"] = list(classes)
    if len(keep) < len(train_index):
        selection = variant.model_dump(include={"balanced", "per_class", "fraction"})
        identity |= {key: value for key, value in selection.items() if value}
    return DatasetView(
        dataset,
        classes,
        train_index[keep],
        train_labels[keep],
        test_index,
        test_labels,
        mean,
        std,
        identity,
    )


def _chosen_classes(dataset: PackedDataset, variant: Variant) -> list[int]:
    names = dataset.classes
    wanted = variant.classes
    if wanted is None:
        return list(range(len(names)))
    if isinstance(wanted, int):
        if wanted > len(names):
            raise UserError(f"classes: {wanted}, but {dataset.name!r} has {len(names)}")
        return sorted(seeded_order(len(names), "classes", variant.class_seed)[:wanted].tolist())
    for name in wanted:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1) or names[:1]
            raise UserError(
                f"classes: {dataset.name!r} has no class {name!r}, did you mean {near[0]!r}? "
                f"(all of them: anynet-study data info {dataset.name})"
            )
    return sorted(names.index(name) for name in wanted)


def _restrict(labels: Indices, chosen: list[int]) -> tuple[Indices, Indices]:
    """Rows whose label is one of `chosen`, and their labels as positions in it."""
    position = np.full(max(int(labels.max()), chosen[-1]) + 1, -1, np.int64)
    position[chosen] = np.arange(len(chosen))
    relabelled = position[labels]
    rows = np.flatnonzero(relabelled >= 0)
    return rows, relabelled[rows]


def _selected(labels: Indices, classes: tuple[str, ...], variant: Variant) -> Indices:
    """Positions of the training images to keep, ascending.

    In each class the images come in one seeded order of which a beginning is kept: a smaller
    selection is part of every larger one.
    """
    counts = np.bincount(labels, minlength=len(classes))
    by_class = np.split(np.argsort(labels, kind="stable"), np.cumsum(counts)[:-1])
    kept = [
        members[seeded_order(len(members), "images", name)[:count]]
        for members, name, count in zip(
            by_class, classes, _kept_counts(counts, classes, variant), strict=True
        )
    ]
    return np.sort(np.concatenate(kept))


def _kept_counts(counts: Indices, classes: tuple[str, ...], variant: Variant) -> Indices:
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
