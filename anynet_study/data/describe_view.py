"""A view of a dataset in words and as JSON-able values."""

from typing import Any

from anynet_study.data.views.labels import class_counts
from anynet_study.data.views.variants import Variant
from anynet_study.data.views.view import DatasetView

#: Rows of a table: class, members, training images, test images.
Row = tuple[str, str, int, int]


def view_details(view: DatasetView, variant: Variant) -> dict[str, Any]:
    """What `data info --variant --json` says."""
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
        "wrong_labels": wrong_labels(view),
        "mean": view.mean.tolist(),
        "std": view.std.tolist(),
    }


def view_summary(view: DatasetView) -> list[str]:
    """A view in a few lines."""
    mean, std = (" ".join(f"{value:.4f}" for value in each) for each in (view.mean, view.std))
    lines = [
        f"variant of {view.dataset.name}: {len(view.classes)} classes, {len(view.train_index)} "
        f"training and {len(view.test_index)} test images of {view.size}x{view.size} px",
        f"training mean {mean}, standard deviation {std}",
        f"content {view.dataset.content_hash}",
    ]
    wrong = wrong_labels(view)
    return [*lines, f"labels changed on purpose: {wrong} in training"] if wrong else lines


def view_rows(view: DatasetView) -> list[Row]:
    """One row a class; of a group with its members."""
    dataset = view.dataset
    members: list[list[str]] = [[] for _ in view.classes]
    for name, number in zip(dataset.classes, view.numbers.tolist(), strict=True):
        if number >= 0:
            members[number].append(name)
    counts = (
        class_counts(each, len(view.classes)) for each in (view.train_labels, view.test_labels)
    )
    train, test = (each.tolist() for each in counts)
    said = [
        "" if names == [own] else ", ".join(names)
        for own, names in zip(view.classes, members, strict=True)
    ]
    return list(zip(view.classes, said, train, test, strict=True))


def wrong_labels(view: DatasetView) -> int:
    """Training images whose label is not the dataset's."""
    if view.multi_label:
        return 0
    truth = view.numbers[view.dataset.labels("train")[view.train_index]]
    return int((truth != view.train_labels).sum())
