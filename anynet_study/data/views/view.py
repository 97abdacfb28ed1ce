"""A variant applied to a packed dataset: which images, which labels, which statistics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.packed.dataset import PackedDataset
from anynet_study.data.packed.images import Images
from anynet_study.data.packed.meta import Split
from anynet_study.data.usual_metrics import USUAL
from anynet_study.data.views.classes import Members, view_classes
from anynet_study.data.views.images import Indices, of_classes, selected
from anynet_study.data.views.label_noise import with_noise
from anynet_study.data.views.labels import Labels
from anynet_study.data.views.variants import Variant
from anynet_study.errors import UserError
from anynet_study.metrics import Metric


@dataclass(frozen=True)
class DatasetView:
    """What a run trains and tests on. Indices are rows of the packed arrays, in order."""

    dataset: PackedDataset
    classes: tuple[str, ...]
    #: (dataset's classes,) the number of each in `classes`; -1: it is not in this view.
    numbers: Indices
    train_index: Indices
    #: In 0..len(classes)-1, like `test_labels`; of several classes an image (images, classes)
    #: uint8.
    train_labels: Labels
    test_index: Indices
    test_labels: Labels
    #: (3,) in units of 0..1, of the training images of this view.
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    #: All that determines the data and nothing else, JSON-able: equal for equal data.
    identity: dict[str, Any]

    @property
    def size(self) -> int:
        """Height and width in pixels."""
        return self.dataset.size

    @property
    def multi_label(self) -> bool:
        """Whether an image can have several classes."""
        return self.dataset.multi_label

    @property
    def metric(self) -> Metric | None:
        """On what networks are usually judged on this dataset; None: nothing special."""
        return USUAL.get(self.dataset.meta.layout)

    def numbers_of(self, names: Sequence[str]) -> Indices:
        """(names,) the number in this view of classes of the dataset, or of groups; -1: none."""
        number = dict(zip(self.dataset.classes, self.numbers.tolist(), strict=True))
        number |= {name: place for place, name in enumerate(self.classes)}
        return np.array([number.get(name, -1) for name in names], np.int64)

    def images(self, split: Split) -> Images:
        """All images of the packed dataset, memory-mapped: index them with this view's index."""
        return self.dataset.images(split)


def make_view(dataset: PackedDataset, variant: Variant) -> DatasetView:
    """Apply `variant` to `dataset`; its `base` is not looked at.

    UserError for classes that do not exist, for more classes or images than there are, and for
    what makes no sense where images have several classes.
    """
    if dataset.test_only:
        raise UserError(
            f"dataset {dataset.name!r} is a test set only, nothing can be trained on it; name it "
            "as test_set of an evaluation"
        )
    members = view_classes(dataset, variant)
    classes = tuple(members)
    numbers = _numbers(dataset, members)
    train_index, all_labels = of_classes(dataset.labels("train"), numbers)
    test_index, test_labels = of_classes(dataset.labels("test"), numbers)
    keep = selected(all_labels, classes, variant)
    train_labels = all_labels[keep]
    if variant.label_noise:
        train_labels = with_noise(all_labels, keep, classes, variant)
    mean, std = dataset.statistics("train", train_index[keep])
    identity: dict[str, Any] = {"content_hash": dataset.content_hash}
    identity |= _classes_identity(dataset, members)
    if len(keep) < len(train_index):
        selection = variant.model_dump(include={"balanced", "per_class", "fraction"})
        identity |= {key: value for key, value in selection.items() if value}
    if not np.array_equal(train_labels, all_labels[keep]):
        identity |= variant.model_dump(include={"label_noise", "noise_seed"})
    return DatasetView(
        dataset,
        classes,
        numbers,
        train_index[keep],
        train_labels,
        test_index,
        test_labels,
        mean,
        std,
        identity,
    )


def _numbers(dataset: PackedDataset, members: Members) -> Indices:
    number = {name: place for place, group in enumerate(members.values()) for name in group}
    return np.array([number.get(name, -1) for name in dataset.classes], np.int64)


def _classes_identity(dataset: PackedDataset, members: Members) -> dict[str, Any]:
    """What says which classes these are: nothing for all, names for some, or the groups."""
    if any(group != (name,) for name, group in members.items()):
        return {"groups": {name: list(group) for name, group in members.items()}}
    return {} if len(members) == len(dataset.classes) else {"classes": list(members)}
