"""New labels for the images of a packed dataset, and folds of it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import UserError
from anynet_study.core.files import updating_folder
from anynet_study.core.progress import progress_if_long
from anynet_study.data import (
    Example,
    Listing,
    Origin,
    PackedDataset,
    add_images,
    image_names,
    read_manifest,
    seeded_order,
    write_manifest,
)

BATCH = 256

Indices = NDArray[np.int64]


def predicted_labels(
    dataset: PackedDataset, logits: Callable[[NDArray[np.uint8]], NDArray[np.float32]]
) -> tuple[Indices, NDArray[np.float32]]:
    """The class (images,) that a network predicts for each training image, and its probability.

    `logits` maps (images, size, size, 3) uint8 to (images, classes); the probability is the
    softmax.
    """
    images = dataset.images("train")
    classes, sure = [], []
    with progress_if_long(f"labels of {dataset.name}", len(images)) as report:
        for start in range(0, len(images), BATCH):
            found = logits(np.asarray(images[start : start + BATCH])).astype(np.float64)
            shares = np.exp(found - found.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            classes.append(found.argmax(axis=1))
            sure.append(shares.max(axis=1).astype(np.float32))
            report(start + len(found))
    return np.concatenate(classes), np.concatenate(sure)


def pack_labelled(
    dataset: PackedDataset,
    labels: Mapping[str, tuple[str, ...]],
    name: str,
    note: str,
    force: bool = False,
) -> PackedDataset:
    """Make the dataset `name` of the training images of `dataset` that have new `labels`.

    `labels` are the classes of each image, by its path in the manifest. Training images without a
    label are left out. Test images keep their classes, and those of classes that no label names are
    left out. The new dataset is multi-label if any image has several classes. UserError if no class
    is left.
    """
    if dataset.multi_label:
        raise UserError(f"dataset {dataset.name!r}: its images have several classes each already")
    used = {one for given in labels.values() for one in given}
    classes = tuple(sorted(used))
    if len(classes) < 2:
        raise UserError(f"labels of {len(classes)} classes make no dataset; 2 are needed")
    number = {one: place for place, one in enumerate(classes)}
    train = []
    pixels = dataset.images("train")
    for row, image in enumerate(image_names(dataset, "train")):
        if given := labels.get(image, ()):
            first, *also = (number[one] for one in given)
            train.append(Example(image, first, pixels=np.array(pixels[row]), also=tuple(also)))
    several = any(example.also for example in train)
    pixels, truth = dataset.images("test"), dataset.labels("test")
    test = [
        Example(image, number[dataset.classes[truth[row]]], pixels=np.array(pixels[row]))
        for row, image in enumerate(image_names(dataset, "test"))
        if dataset.classes[truth[row]] in number
    ]
    listing = Listing("relabelled", "", classes, train, test, multi_label=several, notes=(note,))
    return add_images(listing, Origin(name, dataset.name), force)


def fold_numbers(
    labels: Sequence[object], groups: Sequence[str], count: int, seed: int = 0
) -> Indices:
    """(images,) the fold of each image, 0 to `count` - 1, stratified by class.

    Images of one group (not "") are in one fold. UserError for a class with fewer images, or groups
    of images, than folds.
    """
    members: dict[object, list[list[int]]] = {}
    whole: dict[object, list[int]] = {}
    for place, (label, group) in enumerate(zip(labels, groups, strict=True)):
        whole.setdefault(group or place, []).append(place)
        if whole[group or place][0] == place:
            members.setdefault(label, []).append(whole[group or place])
    folds = np.zeros(len(labels), np.int64)
    for label, parts in sorted(members.items(), key=lambda item: str(item[0])):
        if len(parts) < count:
            raise UserError(f"--count {count}: class {label} has {len(parts)} images or groups")
        sizes = np.zeros(count, np.int64)
        order = seeded_order(len(parts), "folds", seed, label)
        turn = seeded_order(count, "first fold", seed, label)
        for part in sorted((parts[place] for place in order), key=len, reverse=True):
            fold = turn[sizes[turn].argmin()]  # the smallest so far
            folds[part] = fold
            sizes[fold] += len(part)
    return folds


def write_folds(dataset: PackedDataset, count: int, seed: int, folder: Path) -> list[Path]:
    """Write the manifest of each fold, in which it is the test split: fold-1.csv, ...

    All of them or none, in place of those of an earlier call.
    `data add --split-from` makes the datasets of them from the dataset's source.
    """
    rows = read_manifest(dataset.folder / "split.csv")
    folds = fold_numbers([row.label for row in rows], [row.group for row in rows], count, seed)
    names = [f"fold-{fold + 1}.csv" for fold in range(count)]
    with updating_folder(folder, ["fold-*.csv"]) as made:
        for fold, name in enumerate(names):
            split = [
                row._replace(split="test" if number == fold else "train")
                for row, number in zip(rows, folds, strict=True)
            ]
            write_manifest(made / name, sorted(split, key=lambda row: row.split == "test"))
    return [folder / name for name in names]
