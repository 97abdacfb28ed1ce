"""CIFAR-10 and CIFAR-100 in binary form: records of label bytes and 3,072 pixel bytes."""

from fnmatch import filter as matching
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.readers.cifar import (
    KINDS,
    PIXELS,
    chosen_labels,
    examples,
    group_classes,
    no_choice_of_labels,
)
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "CIFAR (binary)"
CHOICES = ("labels",)
NAMES_10 = "batches.meta.txt"
FINE_NAMES, COARSE_NAMES = "fine_label_names.txt", "coarse_label_names.txt"


def recognises(source: Source, root: Folder) -> bool:
    """`data_batch_1.bin`, or `train.bin` and `test.bin`."""
    return _is_10(root) or {"train.bin", "test.bin"} <= set(root.files)


def read(source: Source, root: Folder) -> Listing:
    """CIFAR-100 with its fine labels (the second byte of a record) unless coarse is chosen."""
    if _is_10(root):
        no_choice_of_labels(source)
        names, test, layout = NAMES_10, "test_batch.bin", _Record(1, 0)
        train = matching(root.files, "data_batch_*.bin")
    else:
        kind = chosen_labels(source)
        names, test = f"{kind}_label_names.txt", "test.bin"
        train, layout = ["train.bin"], _Record(2, KINDS.index(kind))
    for name in (names, test):
        if name not in root.files:
            raise UserError(f"{source.where(root.join(name))}: the file is missing")
    classes = _class_names(source, root.join(names))
    training, testing = (
        [
            example
            for name in files
            for example in _read_file(source, root.join(name), layout, classes)
        ]
        for files in (train, [test])
    )
    ignored = root.count() - len(train) - 2
    superclasses = _superclasses(source, root, classes) if names == FINE_NAMES else {}
    return Listing(
        LAYOUT, root.path, classes, training, testing, ignored, superclasses=superclasses
    )


class _Record(NamedTuple):
    """What precedes the pixels of an image."""

    label_bytes: int
    #: Which of them is the label.
    place: int


def _superclasses(
    source: Source, root: Folder, classes: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """The fine classes of each coarse one; none where the names of the latter are not there."""
    if COARSE_NAMES not in root.files:
        return {}
    names = _class_names(source, root.join(COARSE_NAMES))
    records = _records(source, root.join("train.bin"), 2)
    return group_classes(records[:, 0].tolist(), records[:, 1].tolist(), names, classes)


def _is_10(root: Folder) -> bool:
    return "data_batch_1.bin" in root.files


def _class_names(source: Source, name: str) -> tuple[str, ...]:
    lines = source.member(name).read(1 << 20).decode("ascii", errors="replace").split("\n")
    return tuple(line.strip() for line in lines if line.strip())


def _read_file(
    source: Source, name: str, layout: _Record, classes: tuple[str, ...]
) -> list[Example]:
    records = _records(source, name, layout.label_bytes)
    labels = records[:, layout.place]
    return examples(source.where(name), records[:, layout.label_bytes :], labels, classes)


def _records(source: Source, name: str, label_bytes: int) -> NDArray[np.uint8]:
    """(N, label bytes + 3072), memory-mapped."""
    record = label_bytes + PIXELS
    member = source.member(name)
    length = member.length()
    if length == 0 or length % record:
        raise UserError(
            f"{source.where(name)}: {length} bytes are not a whole number of {record}-byte records"
        )
    shape = (length // record, record)
    # A plain view of the mapping: slices of a memmap object are much slower to make.
    return np.asarray(np.memmap(member.file, np.uint8, "r", member.offset, shape))
