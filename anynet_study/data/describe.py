"""What is in the data directory and in a dataset, in words and as JSON-able values."""

from typing import Any

from anynet_study.data.builtin import BUILT_IN
from anynet_study.data.catalog import STUDY
from anynet_study.data.library import present
from anynet_study.data.packed import PackedDataset
from anynet_study.data.root import dataset_folder
from anynet_study.errors import UserError

#: Unreadable images shown by name; all of them are in the JSON.
SHOWN = 20


def inventory() -> list[dict[str, Any]]:
    """The study's datasets, the built-in ones and all others present, one dictionary each.

    `state` is present, missing, built-in (made on first use) or damaged; `source` says where to
    get a missing one. Counts of missing ones are None, their classes and size the study's.
    """
    there = present()
    names = [*STUDY, *BUILT_IN, *(name for name in there if name not in {*STUDY, *BUILT_IN})]
    return [_present_row(name) if name in there else _absent_row(name) for name in names]


def _absent_row(name: str) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "train": None, "test": None}
    if name in BUILT_IN:
        return row | {
            "state": "built-in",
            "classes": None,
            "size": None,
            "source": "made on first use",
            "licence": None,
        }
    entry = STUDY[name]
    return row | {
        "state": "missing",
        "classes": entry.classes,
        "size": entry.size,
        "source": entry.source,
        "licence": entry.licence,
    }


def _present_row(name: str) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "licence": STUDY[name].licence if name in STUDY else None}
    try:
        dataset = PackedDataset.open(dataset_folder(name))
    except UserError as error:
        unknown = dict.fromkeys(("classes", "train", "test", "size"))
        return row | unknown | {"state": "damaged", "source": str(error)}
    return row | {
        "state": "present",
        "classes": len(dataset.classes),
        "train": dataset.meta.train.images,
        "test": dataset.meta.test.images,
        "size": dataset.size,
        "source": dataset.meta.source,
    }


def details(dataset: PackedDataset) -> dict[str, Any]:
    """The meta data with folder and training statistics, JSON-able."""
    mean, std = dataset.statistics()
    return {
        "folder": str(dataset.folder),
        **dataset.meta.model_dump(mode="json"),
        "mean": mean.tolist(),
        "std": std.tolist(),
    }


def summary(dataset: PackedDataset) -> list[str]:
    """A dataset in a few lines."""
    meta = dataset.meta
    mean, std = dataset.statistics()
    lines = [
        f"{meta.name}: {len(meta.classes)} classes, {meta.train.images} training and "
        f"{meta.test.images} test images of {meta.size}x{meta.size} px",
        f"from {meta.source} ({meta.layout}), in {dataset.folder}",
        f"training mean {_numbers(mean)}, standard deviation {_numbers(std)}",
        f"content {meta.content_hash}",
    ]
    if meta.holdout is not None:
        grouped = ", whole groups" if meta.holdout.grouped else ""
        lines.append(
            f"test split: {meta.holdout.share:.0%} of each class held out with seed "
            f"{meta.holdout.seed}{grouped} (split.csv)"
        )
    if meta.limit is not None:
        per_class, fraction = meta.limit.per_class, meta.limit.fraction
        parts = [f"at most {per_class} images a class"] if per_class else []
        parts += [f"a share of {fraction:g} of each class"] if fraction else []
        lines.append(f"part of the source: {', '.join(parts)}, with seed {meta.limit.seed}")
    return lines + _warnings(dataset)


def _warnings(dataset: PackedDataset) -> list[str]:
    meta = dataset.meta
    lines = []
    duplicates = meta.duplicates
    if any((duplicates.test_in_train, duplicates.within_train, duplicates.within_test)):
        lines.append(
            f"duplicates: {duplicates.test_in_train} test images are also in train, "
            f"{duplicates.within_train} repeat within train, {duplicates.within_test} within test"
        )
    if meta.ignored:
        lines.append(f"ignored: {meta.ignored} files that are no labelled image")
    if meta.quarantined:
        lines.append(f"left out: {len(meta.quarantined)} unreadable images")
        lines += [f"  {broken.image}: {broken.reason}" for broken in meta.quarantined[:SHOWN]]
        if len(meta.quarantined) > SHOWN:
            lines.append(f"  and {len(meta.quarantined) - SHOWN} more, all in meta.json")
    entry = STUDY.get(meta.name)
    if entry is not None and len(meta.classes) != entry.classes:
        lines.append(f"note: the study's {meta.name} has {entry.classes} classes")
    return lines


def _numbers(values: Any) -> str:
    return " ".join(f"{value:.4f}" for value in values)
