"""CIFAR-10 and CIFAR-100 in binary form: records of label bytes and 3,072 pixel bytes."""

from fnmatch import filter as matching

import numpy as np

from anynet_study.data.readers.cifar import PIXELS, examples
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.source import Source
from anynet_study.data.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "CIFAR (binary)"
NAMES_10, NAMES_100 = "batches.meta.txt", "fine_label_names.txt"


def recognises(root: Folder) -> bool:
    """`data_batch_1.bin`, or `train.bin` and `test.bin`."""
    return _is_10(root) or {"train.bin", "test.bin"} <= set(root.files)


def read(source: Source, root: Folder) -> Listing:
    """CIFAR-100 with its fine labels (the second label byte of a record)."""
    if _is_10(root):
        names, test, label_bytes = NAMES_10, "test_batch.bin", 1
        train = matching(root.files, "data_batch_*.bin")
    else:
        names, test, label_bytes = NAMES_100, "test.bin", 2
        train = ["train.bin"]
    for name in (names, test):
        if name not in root.files:
            raise UserError(f"{source.where(root.join(name))}: the file is missing")
    classes = _class_names(source, root.join(names))
    training, testing = (
        [
            example
            for name in files
            for example in _read_file(source, root.join(name), label_bytes, classes)
        ]
        for files in (train, [test])
    )
    ignored = root.count() - len(train) - 2
    return Listing(LAYOUT, root.path, classes, training, testing, ignored)


def _is_10(root: Folder) -> bool:
    return "data_batch_1.bin" in root.files


def _class_names(source: Source, name: str) -> tuple[str, ...]:
    lines = source.member(name).read(1 << 20).decode("ascii", errors="replace").split("\n")
    return tuple(line.strip() for line in lines if line.strip())


def _read_file(
    source: Source, name: str, label_bytes: int, classes: tuple[str, ...]
) -> list[Example]:
    record = label_bytes + PIXELS
    member = source.member(name)
    length = member.length()
    if length == 0 or length % record:
        raise UserError(
            f"{source.where(name)}: {length} bytes are not a whole number of {record}-byte records"
        )
    shape = (length // record, record)
    # A plain view of the mapping: slices of a memmap object are much slower to make.
    records = np.asarray(np.memmap(member.file, np.uint8, "r", member.offset, shape))
    labels = records[:, label_bytes - 1]
    return examples(source.where(name), records[:, label_bytes:], labels, classes)
