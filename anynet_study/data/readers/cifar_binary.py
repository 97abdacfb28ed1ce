"""CIFAR-10 and CIFAR-100 in binary form: records of label bytes and 3,072 pixel bytes."""

from pathlib import Path

import numpy as np

from anynet_study.data.readers.cifar import PIXELS, examples
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.readers.scan import children
from anynet_study.errors import UserError

LAYOUT = "CIFAR (binary)"
NAMES_10, NAMES_100 = "batches.meta.txt", "fine_label_names.txt"


def recognises(root: Path) -> bool:
    """`data_batch_1.bin`, or `train.bin` and `test.bin`."""
    return _is_10(root) or all((root / name).is_file() for name in ("train.bin", "test.bin"))


def read(root: Path) -> Listing:
    """CIFAR-100 with its fine labels (the second label byte of a record)."""
    if _is_10(root):
        names, train, test, label_bytes = (
            NAMES_10,
            sorted(root.glob("data_batch_*.bin")),
            "test_batch.bin",
            1,
        )
    else:
        names, train, test, label_bytes = NAMES_100, [root / "train.bin"], "test.bin", 2
    classes = _class_names(root / names)
    training = [example for file in train for example in _read_file(file, label_bytes, classes)]
    testing = _read_file(root / test, label_bytes, classes)
    ignored = len(children(root)) - len(train) - 2
    return Listing(LAYOUT, root, classes, training, testing, ignored)


def _is_10(root: Path) -> bool:
    return (root / "data_batch_1.bin").is_file()


def _class_names(path: Path) -> tuple[str, ...]:
    if not path.is_file():
        raise UserError(f"{path}: the file of class names is missing")
    lines = path.read_text(encoding="ascii", errors="replace").split("\n")
    return tuple(line.strip() for line in lines if line.strip())


def _read_file(path: Path, label_bytes: int, classes: tuple[str, ...]) -> list[Example]:
    record = label_bytes + PIXELS
    size = path.stat().st_size if path.is_file() else 0
    if size == 0 or size % record:
        raise UserError(f"{path}: {size} bytes are not a whole number of {record}-byte records")
    records = np.memmap(path, np.uint8, mode="r").reshape(-1, record)
    # A plain view of the mapping: slices of a memmap object are much slower to make.
    plain = np.asarray(records)
    return examples(path, plain[:, label_bytes:], plain[:, label_bytes - 1], classes)
