"""A dataset, or a view of one, in words and as JSON-able values."""

from typing import Any

from anynet_study.core.errors import counted, size_of
from anynet_study.data.catalog import CATALOG
from anynet_study.data.library import stored_bytes
from anynet_study.data.packed.dataset import PackedDataset, class_counts
from anynet_study.data.packed.manifest import Repeat, repeated_images
from anynet_study.data.packed.meta import Split
from anynet_study.data.variants import Variant
from anynet_study.data.views import DatasetView

#: Unreadable images shown by name; all of them are in the JSON.
SHOWN = 20
#: Repeated images shown by name.
REPEATS_SHOWN = 5


def details(dataset: PackedDataset) -> dict[str, Any]:
    """Meta data, folder, statistics and names of repeated images, as JSON-able values."""
    mean, std = dataset.statistics(_described(dataset))
    return {
        "folder": str(dataset.folder),
        "bytes": stored_bytes(dataset),
        "split": split_kind(dataset),
        **dataset.meta.model_dump(mode="json"),
        "mean": mean.tolist(),
        "std": std.tolist(),
        "repeated": [repeat._asdict() for repeat in repeated_images(dataset)],
    }


def summary(dataset: PackedDataset) -> list[str]:
    """A dataset in a few lines."""
    meta = dataset.meta
    split = _described(dataset)
    mean, std = dataset.statistics(split)
    images = counted(meta.test.images, "test image")
    if not dataset.test_only:
        images = f"{meta.train.images} training and {images}"
    lines = [
        f"{meta.name}: {len(meta.classes)} classes, {images} of {meta.size}x{meta.size} px",
        f"from {meta.source} ({meta.layout}), in {dataset.folder}",
        f"{'training' if split == 'train' else split} mean {_numbers(mean)}, standard deviation "
        f"{_numbers(std)}",
        f"content {meta.content_hash}, {size_of(stored_bytes(dataset))}",
        split_kind(dataset),
    ]
    if meta.resize is not None:
        lines.append(f"the shorter side scaled to {meta.resize} px, the centre cut out")
    if meta.store == "jpeg":
        lines.append("stored as JPEG files, decoded when they are read")
    if meta.limit is not None:
        per_class, fraction = meta.limit.per_class, meta.limit.fraction
        parts = [f"at most {per_class} images per class"] if per_class else []
        parts += [f"a share of {fraction:g} of each class"] if fraction else []
        lines.append(f"part of the source: {', '.join(parts)}, with seed {meta.limit.seed}")
    return lines + [f"note: {note}" for note in meta.notes] + _warnings(dataset)


def _described(dataset: PackedDataset) -> Split:
    """The split whose statistics are shown."""
    return "test" if dataset.test_only else "train"


def split_kind(dataset: PackedDataset) -> str:
    """Say where the split comes from."""
    meta = dataset.meta
    if dataset.test_only:
        return "test set only: nothing to train on (evaluations take it as test_set)"
    if meta.split_from is not None:
        return f"test split: as in the manifest {meta.split_from}"
    if meta.holdout is None:
        return "test split: official"
    grouped = ", whole groups" if meta.holdout.grouped else ""
    return (
        f"test split: {meta.holdout.share:.0%} of each class held out with seed "
        f"{meta.holdout.seed}{grouped} (split.csv)"
    )


def _warnings(dataset: PackedDataset) -> list[str]:
    meta = dataset.meta
    lines = []
    duplicates = meta.duplicates
    if not duplicates:
        lines.append("duplicates: none")
    else:
        lines.append(
            f"duplicates: {counted(duplicates.test_in_train, 'test image')} also in train, "
            f"{counted(duplicates.within_train, 'repeat')} within train, "
            f"{duplicates.within_test} within test"
        )
        repeats = repeated_images(dataset)
        lines += [
            f"  {repeat.image} is {repeat.first}{_whose(repeat)}"
            for repeat in repeats[:REPEATS_SHOWN]
        ]
        if len(repeats) > REPEATS_SHOWN:
            lines.append(f"  and {len(repeats) - REPEATS_SHOWN} more, all in --json")
    if meta.ignored:
        are = "that is" if meta.ignored == 1 else "that are"
        files = counted(meta.ignored, "file")
        lines.append(f"ignored: {files} {are} no labelled training or test image")
    if meta.quarantined:
        lines.append(f"left out: {counted(len(meta.quarantined), 'unreadable image')}")
        lines += [f"  {broken.image}: {broken.reason}" for broken in meta.quarantined[:SHOWN]]
        if len(meta.quarantined) > SHOWN:
            lines.append(f"  and {len(meta.quarantined) - SHOWN} more, all in meta.json")
    entry = CATALOG.get(meta.name)
    if entry is not None and len(meta.classes) != entry.classes:
        owner = "the study's" if entry.kind == "study" else "the known"
        lines.append(f"note: {owner} {meta.name} has {entry.classes} classes")
    return lines


def _whose(repeat: Repeat) -> str:
    across = " in train" if (repeat.split, repeat.first_split) == ("test", "train") else ""
    return across + ("" if repeat.same_class else ", of another class")


def _numbers(values: Any) -> str:
    return " ".join(f"{value:.4f}" for value in values)


#: Rows of a table: class, members, training images, test images.
Row = tuple[str, str, int, int]


def view_details(view: DatasetView, variant: Variant) -> dict[str, Any]:
    """The output of `data info --variant --json`."""
    return {
        "name": view.dataset.name,
        "variant": variant.model_dump(mode="json", exclude_defaults=True),
        "identity": view.identity,
        "classes": [
            {"class": name, "train": train, "test": test}
            for name, _, train, test in view_rows(view)
        ],
        "train_images": len(view.train_index),
        "test_images": len(view.test_index),
        "validation_images": len(view.validation_index),
        "wrong_labels": wrong_labels(view),
        "mean": view.mean.tolist(),
        "std": view.std.tolist(),
    }


def view_summary(view: DatasetView) -> list[str]:
    """A view in a few lines."""
    lines = [
        f"variant of {view.dataset.name}: {len(view.classes)} classes, {len(view.train_index)} "
        f"training and {len(view.test_index)} test images of {view.size}x{view.size} px",
        f"training mean {_numbers(view.mean)}, standard deviation {_numbers(view.std)}",
        f"content {view.dataset.content_hash}",
    ]
    if len(view.validation_index):
        lines.append(f"held out of training for validation: {len(view.validation_index)} images")
    wrong = wrong_labels(view)
    return [*lines, f"labels changed on purpose: {wrong} in training"] if wrong else lines


def view_rows(view: DatasetView) -> list[Row]:
    """One row per class; a group also lists its members."""
    dataset = view.dataset
    members: list[list[str]] = [[] for _ in view.classes]
    for name, number in zip(dataset.classes, view.numbers.tolist(), strict=True):
        if number >= 0:
            members[number].append(name)
    train, test = (
        class_counts(labels, len(view.classes)).tolist()
        for labels in (view.train_labels, view.test_labels)
    )
    said = [
        "" if names == [own] else ", ".join(names)
        for own, names in zip(view.classes, members, strict=True)
    ]
    return list(zip(view.classes, said, train, test, strict=True))


def wrong_labels(view: DatasetView) -> int:
    """Number of training images whose label differs from the dataset's."""
    if view.multi_label:
        return 0
    truth = view.numbers[view.dataset.labels("train")[view.train_index]]
    return int((truth != view.train_labels).sum())
