"""A variant applied to a packed dataset: which classes, images, labels and statistics."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import UserError, nearest
from anynet_study.core.metrics import Metric
from anynet_study.data.catalog import USUAL_METRICS
from anynet_study.data.packed.dataset import Labels, PackedDataset, class_counts
from anynet_study.data.packed.images import Images
from anynet_study.data.packed.manifest import training_groups
from anynet_study.data.packed.meta import Split
from anynet_study.data.seeded import seeded_order, seeded_uniform
from anynet_study.data.variants import ROUNDING, Variant

Indices = NDArray[np.int64]
#: The classes of the dataset that make up each class of a view, by its name and in its order.
Members = dict[str, tuple[str, ...]]
#: Names of the parts of a view that are not trained on, and of all parts.
Tested = Literal["test", "validation"]
Part = Literal["train", Tested]
#: Keys of a variant about validation images.
VALIDATION = {"validation", "fold"}


@dataclass(frozen=True)
class DatasetView:
    """The images that a run trains and tests on. Indices are rows of packed arrays, in order."""

    dataset: PackedDataset
    classes: tuple[str, ...]
    #: (classes of the dataset,) the number of each class in `classes`; -1: not in this view.
    numbers: Indices
    train_index: Indices
    #: In 0..len(classes)-1, like `test_labels`; (images, classes) uint8 where an image can have
    #: several classes.
    train_labels: Labels
    test_index: Indices
    test_labels: Labels
    #: (3,) in units of 0..1, of the training images of this view.
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    #: Everything that determines the data, and nothing else. JSON-able, and equal for equal data.
    identity: dict[str, Any]
    #: Rows of the training split that are held out for validation, and their labels.
    validation_index: Indices
    validation_labels: Labels

    @property
    def size(self) -> int:
        """Height and width in pixels."""
        return self.dataset.size

    @property
    def multi_label(self) -> bool:
        """Tell whether an image can have several classes."""
        return self.dataset.multi_label

    @property
    def metric(self) -> Metric | None:
        """The usual metric of this dataset, if it is not the accuracy; else None."""
        return USUAL_METRICS.get(self.dataset.meta.layout)

    def numbers_of(self, dataset: PackedDataset) -> Indices:
        """(classes of `other`,) the number in this view of each class of another dataset; -1: none.

        By name: that of a class of this view, or of a class in one of its groups. Those of a
        dataset that is part of a union are what they are there.
        """
        own = dict(zip(self.dataset.classes, self.numbers.tolist(), strict=True))
        number = {}
        for name, called in self.dataset.classes_called.items():
            meant = {own[one] for one in called} - {-1}
            number[name] = meant.pop() if len(meant) == 1 else -1
        number |= {name: place for place, name in enumerate(self.classes)}
        bases = [part.name for part in self.dataset.parts]
        if len(bases) > 1 and dataset.name in bases:
            number |= {name: own[f"{dataset.name}:{name}"] for name in dataset.classes}
        return np.array([number.get(name, -1) for name in dataset.classes], np.int64)

    def part(self, part: Part) -> tuple[Split, Indices, Labels]:
        """Some of the images: the packed split that they are in, its rows and their labels."""
        if part == "train":
            return "train", self.train_index, self.train_labels
        if part == "test":
            return "test", self.test_index, self.test_labels
        return "train", self.validation_index, self.validation_labels

    def captions(self) -> list[list[str]]:
        """The captions of each training image, none where it has none."""
        of_rows = self.dataset.captions()
        return [of_rows[row] for row in self.train_index.tolist()]

    def images(self, split: Split) -> Images:
        """All images of the packed dataset, memory-mapped: index them with this view's index."""
        return self.dataset.images(split)


def make_view(
    dataset: PackedDataset, variant: Variant, like: DatasetView | None = None
) -> DatasetView:
    """Apply `variant` to `dataset`; its `base` is not looked at.

    `like`: of each class as many training images are taken as this view has of it, by name.

    UserError for classes that do not exist, for more classes or images than there are, and for
    what makes no sense where images have several classes.
    """
    if dataset.test_only:
        raise UserError(
            f"dataset {dataset.name!r} is a test set only, nothing can be trained on it; name it "
            "as test_set of an evaluation"
        )
    if variant.test_share is not None:
        for part in dataset.parts:
            _check_held_out(part, variant.test_share)
    members = _view_classes(dataset, variant)
    classes = tuple(members)
    numbers = _numbers(dataset, members)
    train_index, all_labels = of_classes(dataset.labels("train"), numbers)
    test_index, test_labels = of_classes(dataset.labels("test"), numbers)
    tested = np.arange(len(test_index))
    if variant.balanced == "both":
        tested = _selected(test_labels, classes, Variant(base=variant.base, balanced=True))
    keep = _selected(all_labels, classes, variant, _counts_like(like, classes))
    keep = keep[_in_all(variant.images, dataset, train_index[keep], all_labels[keep], classes)]
    is_whole = len(keep) == len(train_index) and len(tested) == len(test_index)
    identity: dict[str, Any] = {"content_hash": dataset.content_hash}
    identity |= _classes_identity(dataset, members)
    if not is_whole:
        identity |= _selection_identity(variant, like, all_labels[keep], len(classes))
    validated = np.zeros(0, np.int64)
    if variant.validation is not None:
        is_validated = _validated(dataset, train_index[keep], all_labels[keep], classes, variant)
        keep, validated = keep[~is_validated], keep[is_validated]
    train_labels = all_labels[keep]
    if variant.label_noise:
        train_labels = _with_noise(all_labels, keep, classes, variant)
    mean, std = dataset.statistics("train", train_index[keep])
    if not np.array_equal(train_labels, all_labels[keep]):
        identity |= variant.model_dump(include={"label_noise", "noise_seed"})
    if variant.validation is not None:
        # Groups are no part of the content's hash, so the rows themselves are.
        rows = hashlib.sha256(train_index[validated].astype("<i8").tobytes()).hexdigest()
        identity |= {"validation": {**variant.model_dump(include=VALIDATION), "rows": rows}}
    return DatasetView(
        dataset,
        classes,
        numbers,
        train_index[keep],
        train_labels,
        test_index[tested],
        test_labels[tested],
        mean,
        std,
        identity,
        train_index[validated],
        all_labels[validated],
    )


def _check_held_out(dataset: PackedDataset, share: float) -> None:
    holdout = dataset.meta.holdout
    if holdout is None:
        raise UserError(
            f"test_share: {dataset.name!r} has a test split of its own; leave test_share out"
        )
    if holdout.share != share:
        raise UserError(
            f"test_share: {share:g}, but {dataset.name!r} was packed with {holdout.share:g}; pack "
            f"it again: anynet-study data add {dataset.name} --from SOURCE --test-share {share:g} "
            "--force"
        )


def _numbers(dataset: PackedDataset, members: Members) -> Indices:
    number = {name: place for place, group in enumerate(members.values()) for name in group}
    return np.array([number.get(name, -1) for name in dataset.classes], np.int64)


def _classes_identity(dataset: PackedDataset, members: Members) -> dict[str, Any]:
    """The part of the identity for the classes: empty for all, names for some, or groups."""
    if len(dataset.parts) > 1:  # names of datasets are no part of their content
        place = {name: number for number, name in enumerate(dataset.classes)}
        return {"groups": {name: [place[own] for own in group] for name, group in members.items()}}
    if any(group != (name,) for name, group in members.items()):
        return {"groups": {name: list(group) for name, group in members.items()}}
    return {} if len(members) == len(dataset.classes) else {"classes": list(members)}


def _selection_identity(
    variant: Variant, like: DatasetView | None, labels: Labels, classes: int
) -> dict[str, Any]:
    """The part of the identity that tells which images of these classes are chosen."""
    if like is not None:
        return {"counts": class_counts(labels, classes).tolist()}
    selection = variant.model_dump(include={"balanced", "per_class", "fraction", "images"})
    return {key: value for key, value in selection.items() if value}


def _view_classes(dataset: PackedDataset, variant: Variant) -> Members:
    """The classes of `variant`: groups first, then the choice among them.

    In the order of the dataset, a group's being that of its first class, whatever the order they
    are listed in. UserError for classes that do not exist, and for more than there are.
    """
    groups = _groups(dataset, variant)
    return {name: groups[name] for name in _chosen(list(groups), dataset.name, variant)}


def _groups(dataset: PackedDataset, variant: Variant) -> Members:
    called = dataset.classes_called
    if variant.groups is None:
        return called
    wanted: Mapping[str, tuple[str, ...]]
    if variant.groups == "superclasses":
        if not dataset.meta.superclasses:
            raise UserError(
                f"groups: {dataset.name!r} has no superclasses of its own; list the classes of "
                "each group: {animal: [cat, dog], vehicle: [car, truck]}"
            )
        wanted = dataset.meta.superclasses
    else:
        wanted = variant.groups
    place = {name: number for number, name in enumerate(dataset.classes)}
    groups: Members = {}
    for group, names in wanted.items():
        for name in names:
            if name not in called and name not in place:
                raise _no_such_class("groups", name, [*called, *place], dataset.name)
        members = [own for name in names for own in called.get(name, (name,))]
        groups[group] = tuple(sorted(members, key=place.__getitem__))
    listed = [own for members in groups.values() for own in members]
    for own in listed:  # of a union, by its name and by its dataset's and its name
        if listed.count(own) > 1:
            raise UserError(f"groups: class {own!r} is in a group twice, or in two")
    return dict(sorted(groups.items(), key=lambda group: place[group[1][0]]))


def _chosen(names: Sequence[str], dataset: str, variant: Variant) -> list[str]:
    wanted = variant.classes
    if wanted is None:
        return list(names)
    if isinstance(wanted, int):
        if wanted > len(names):
            raise UserError(f"classes: {wanted}, but {dataset!r} has {len(names)}")
        order = seeded_order(len(names), "classes", variant.class_seed)
        return [names[number] for number in sorted(order[:wanted].tolist())]
    for name in wanted:
        if name not in names:
            raise _no_such_class("classes", name, names, dataset)
    return [name for name in names if name in wanted]


def _no_such_class(key: str, name: str, names: Sequence[str], dataset: str) -> UserError:
    return UserError(
        f"{key}: {dataset!r} has no class {name!r}{nearest(name, names)}; all of them: "
        f"anynet-study data info {dataset}"
    )


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


def _selected(
    labels: Labels, classes: Sequence[str], variant: Variant, wanted: Indices | None = None
) -> Indices:
    """Positions of the training images to keep, ascending: `wanted` images of each class.

    Each class has one seeded order of images, and the first ones are kept: so a smaller selection
    is part of every larger one.
    """
    if labels.ndim == 2:
        if wanted is not None:
            raise UserError("match: the images of this dataset have several classes each")
        return _share_of_all(len(labels), variant)
    counts = np.bincount(labels, minlength=len(classes))
    kept = [
        members[seeded_order(len(members), "images", name)[:count]]
        for members, name, count in zip(
            _by_class(labels, counts),
            classes,
            _kept_counts(counts, classes, variant, wanted),
            strict=True,
        )
    ]
    return np.sort(np.concatenate(kept))


def _by_class(labels: Indices, counts: Indices) -> list[Indices]:
    """Positions of the images of each class, ascending; `counts` are how many."""
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(counts)[:-1])


def _counts_like(like: DatasetView | None, classes: Sequence[str]) -> Indices | None:
    """(classes,) training images that another view has of these classes, by name."""
    if like is None:
        return None
    if like.multi_label:
        raise UserError("match: images there have several classes each")
    there = class_counts(like.train_labels, len(like.classes))
    counts = dict(zip(like.classes, there.tolist(), strict=True))
    for name in classes:
        if name not in counts:
            raise UserError(f"match: there is no class {name!r}; there are {', '.join(counts)}")
    return np.array([counts[name] for name in classes], np.int64)


def _in_all(
    images: int | None,
    dataset: PackedDataset,
    rows: Indices,
    labels: Labels,
    classes: Sequence[str],
) -> Indices:
    """Positions of so many of the training images at `rows` (N,), ascending; None: of all.

    An equal part from each dataset of a union, and of each the classes in proportion to their
    sizes. A smaller selection is part of every larger one of the same images.
    """
    if images is None:
        return np.arange(len(rows))
    kept, start = [], 0
    for number, part in enumerate(dataset.parts):
        end = start + part.counts("train").images
        here = np.flatnonzero((rows >= start) & (rows < end))
        start = end
        wanted = images // len(dataset.parts) + (number < images % len(dataset.parts))
        if wanted > len(here):
            raise UserError(
                f"images: {images}, so {wanted} of {part.name!r}, which has {len(here)} training "
                "images of these classes"
            )
        # The images of each class, in a seeded order, at even distances from 0 to 1.
        places = np.zeros(len(here))
        strata = labels[here] if labels.ndim == 1 else np.zeros(len(here), np.int64)
        for stratum in np.unique(strata):
            members = np.flatnonzero(strata == stratum)
            order = seeded_order(len(members), "images in all", number, classes[stratum])
            places[members[order]] = (np.arange(len(members)) + 0.5) / len(members)
        kept.append(here[np.argsort(places, kind="stable")[:wanted]])
    return np.sort(np.concatenate(kept))


def _kept_counts(
    counts: Indices, classes: Sequence[str], variant: Variant, wanted: Indices | None
) -> Indices:
    if wanted is not None:
        for name, there, asked in zip(classes, counts, wanted, strict=True):
            if asked > there:
                raise UserError(
                    f"match: {asked} training images of class {name!r}, but it has {there}"
                )
        return wanted
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


def _validated(
    dataset: PackedDataset,
    rows: Indices,
    labels: Labels,
    classes: Sequence[str],
    variant: Variant,
) -> NDArray[np.bool_]:
    """(N,) which of the training images at `rows` (N,) are of the variant's fold.

    The groups of a class come in one seeded order, which is cut into folds of the share's size:
    folds are disjoint, and all of them together are all images. Where groups have images of
    several classes, or images have several classes, the order is of all images at once.
    """
    assert variant.validation is not None
    names = training_groups(dataset)
    groups = [names[row] or f"row {row}" for row in rows.tolist()]
    strata = labels if labels.ndim == 1 else np.zeros(len(rows), np.int64)
    if len(set(zip(groups, strata.tolist(), strict=True))) > len(set(groups)):
        strata = np.zeros(len(rows), np.int64)
    held = np.zeros(len(rows), np.bool_)
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        by_group: dict[str, list[int]] = {}
        for place in members.tolist():
            by_group.setdefault(groups[place], []).append(place)
        of_groups, done = list(by_group.values()), 0
        for number in seeded_order(len(of_groups), "validation", classes[stratum]):
            fold = int(done / (variant.validation * len(members)) + ROUNDING)
            held[of_groups[number]] = fold == variant.fold
            done += len(of_groups[number])
    left = labels[~held]
    missing = ~(left > 0).any(axis=0) if labels.ndim == 2 else ~np.isin(range(len(classes)), left)
    if missing.any() or not held.any():
        which = f"class {classes[int(missing.argmax())]!r}" if missing.any() else "validation"
        raise UserError(f"validation: {variant.validation:g} leaves no image to {which}")
    return held


def _share_of_all(images: int, variant: Variant) -> Indices:
    """A share of all images, not of each class: for images that have several classes."""
    for key in ("balanced", "per_class", "label_noise"):
        if getattr(variant, key):
            raise UserError(f"{key}: the images of this dataset have several classes each")
    if variant.fraction is None:
        return np.arange(images)
    count = max(1, round(images * variant.fraction))
    return np.sort(seeded_order(images, "images")[:count])


def _with_noise(
    labels: Indices, kept: Indices, classes: Sequence[str], variant: Variant
) -> Indices:
    """The labels of the images at `kept`, with a share of each class replaced by wrong ones.

    `labels` (N,) are those of all training images of the view's classes. An order and a wrong label
    are drawn for all of them, so that they do not depend on the selection: the first images of each
    class in that order are replaced, among those that are kept.
    """
    changed = labels.copy()
    is_kept = np.zeros(len(labels), bool)
    is_kept[kept] = True
    others = len(classes) - 1
    for members, name in zip(
        _by_class(labels, np.bincount(labels, minlength=len(classes))), classes, strict=True
    ):
        key = (variant.noise_seed, name)
        order = members[seeded_order(len(members), "noise", *key)]
        order = order[is_kept[order]]
        wrong = order[: round(variant.label_noise * len(order))]
        draws = np.zeros(len(labels))
        draws[members] = seeded_uniform((len(members),), "noisy label", *key)
        another = (draws[wrong] * others).astype(np.int64)
        changed[wrong] = another + (another >= labels[wrong])
    return changed[kept]
