"""CIFAR-10 and CIFAR-100 in python form: pickled dictionaries, never unpickled as such."""

from pathlib import Path

from anynet_study.data.readers.cifar import PIXELS, examples
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.readers.safe_pickle import byte_rows, load_dictionary
from anynet_study.data.readers.scan import children
from anynet_study.errors import UserError

LAYOUT = "CIFAR (python)"


def recognises(root: Path) -> bool:
    """`data_batch_1` and `batches.meta`, or the files `train`, `test` and `meta`."""
    return _is_10(root) or all((root / name).is_file() for name in ("train", "test", "meta"))


def read(root: Path) -> Listing:
    """CIFAR-100 with its fine labels."""
    if _is_10(root):
        train = [root / f"data_batch_{number}" for number in range(1, 6)]
        train = [file for file in train if file.is_file()]
        test, meta, names, key = "test_batch", "batches.meta", b"label_names", b"labels"
    else:
        train, test, meta = [root / "train"], "test", "meta"
        names, key = b"fine_label_names", b"fine_labels"
    classes = _class_names(root / meta, names)
    training = [example for file in train for example in _read_file(file, key, classes)]
    testing = _read_file(root / test, key, classes)
    return Listing(LAYOUT, root, classes, training, testing, len(children(root)) - len(train) - 2)


def _is_10(root: Path) -> bool:
    return (root / "data_batch_1").is_file() and (root / "batches.meta").is_file()


def _class_names(path: Path, key: bytes) -> tuple[str, ...]:
    names = load_dictionary(path).get(key)
    if not isinstance(names, list) or not all(isinstance(name, bytes) for name in names):
        raise UserError(f"{path}: no list of class names under {key.decode()!r}")
    return tuple(name.decode("ascii", errors="replace") for name in names)


def _read_file(path: Path, key: bytes, classes: tuple[str, ...]) -> list[Example]:
    if not path.is_file():
        raise UserError(f"{path}: the file is missing")
    content = load_dictionary(path)
    rows = byte_rows(path, content.get(b"data"), PIXELS)
    labels = content.get(key)
    if not isinstance(labels, list) or not all(type(label) is int for label in labels):
        raise UserError(f"{path}: no list of labels under {key.decode()!r}")
    if len(labels) != len(rows):
        raise UserError(f"{path}: {len(labels)} labels for {len(rows)} images")
    return examples(path, rows, labels, classes)
