"""CIFAR-10 and CIFAR-100 in python form: pickled dictionaries, never unpickled as such."""

from typing import Any, TypeGuard

from anynet_study.data.readers.cifar import (
    PIXELS,
    chosen_labels,
    examples,
    group_classes,
    no_choice_of_labels,
)
from anynet_study.data.readers.cifar_official import note_on_hashes
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.readers.safe_pickle import byte_rows, load_dictionary
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "CIFAR (python)"
CHOICES = ("labels",)
#: The largest official file has 155 MB.
MAX_BYTES = 256 << 20


def recognises(source: Source, root: Folder) -> bool:
    """`data_batch_1` and `batches.meta`, or the files `train`, `test` and `meta`."""
    return _is_10(root) or {"train", "test", "meta"} <= set(root.files)


def read(source: Source, root: Folder) -> Listing:
    """CIFAR-100 with its fine labels unless coarse is chosen.

    A note says which files are not the official ones. They are read all the same: nothing that a
    pickle asks for is run.
    """
    if _is_10(root):
        no_choice_of_labels(source)
        train = [f"data_batch_{n}" for n in range(1, 6) if f"data_batch_{n}" in root.files]
        test, meta, names, key = "test_batch", "batches.meta", b"label_names", b"labels"
    else:
        train, test, meta = ["train"], "test", "meta"
        kind = chosen_labels(source).encode()
        names, key = kind + b"_label_names", kind + b"_labels"
    if test not in root.files:
        raise UserError(f"{source.where(root.join(test))}: the file is missing")
    notes = _note_on_hashes(source, root, [*train, test, meta])
    classes = _class_names(source, root.join(meta), names)
    training, testing = (
        [example for name in files for example in _read_file(source, root.join(name), key, classes)]
        for files in (train, [test])
    )
    ignored = root.count() - len(train) - 2
    superclasses = _superclasses(source, root, classes) if key == b"fine_labels" else {}
    return Listing(
        LAYOUT,
        root.path,
        classes,
        training,
        testing,
        ignored,
        superclasses=superclasses,
        notes=notes,
    )


def _note_on_hashes(source: Source, root: Folder, names: list[str]) -> tuple[str, ...]:
    try:
        return note_on_hashes(source, root.path, names, MAX_BYTES)
    except ValueError as error:
        raise UserError(f"{source.where(root.path)}: not CIFAR's pickles ({error})") from error


def _superclasses(
    source: Source, root: Folder, classes: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """The fine classes of each coarse one; none where the file does not say."""
    content, meta = _load(source, root.join("train")), _load(source, root.join("meta"))
    coarse, fine = content.get(b"coarse_labels"), content.get(b"fine_labels")
    if b"coarse_label_names" not in meta or not (_is_labels(coarse) and _is_labels(fine)):
        return {}
    if len(coarse) != len(fine):
        return {}
    names = _class_names(source, root.join("meta"), b"coarse_label_names")
    return group_classes(coarse, fine, names, classes)


def _is_labels(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(label) is int for label in value)


def _is_10(root: Folder) -> bool:
    return {"data_batch_1", "batches.meta"} <= set(root.files)


def _load(source: Source, name: str) -> dict[bytes, Any]:
    try:
        return load_dictionary(source.member(name).read(MAX_BYTES))
    except ValueError as error:
        raise UserError(f"{source.where(name)}: not a CIFAR pickle ({error})") from error


def _class_names(source: Source, name: str, key: bytes) -> tuple[str, ...]:
    names = _load(source, name).get(key)
    if not isinstance(names, list) or not all(isinstance(name, bytes) for name in names):
        raise UserError(f"{source.where(name)}: no list of class names under {key.decode()!r}")
    return tuple(name.decode("ascii", errors="replace") for name in names)


def _read_file(source: Source, name: str, key: bytes, classes: tuple[str, ...]) -> list[Example]:
    content = _load(source, name)
    where = source.where(name)
    try:
        rows = byte_rows(content.get(b"data"), PIXELS)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error
    labels = content.get(key)
    if not _is_labels(labels):
        raise UserError(f"{where}: no list of labels under {key.decode()!r}")
    if len(labels) != len(rows):
        raise UserError(f"{where}: {len(labels)} labels for {len(rows)} images")
    return examples(where, rows, labels, classes)
