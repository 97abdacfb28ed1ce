"""CIFAR-10 and CIFAR-100, in binary and in python form, and the test set CIFAR-10.1."""

import hashlib
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import UserError, first_line
from anynet_study.data.readers.listing import Example, Listing, Reader, require
from anynet_study.data.readers.safe_files import byte_rows, load_dictionary, read_npy
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder

NEW_LAYOUT = "CIFAR-10.1"
SIDE = 32
PIXELS = 3 * SIDE * SIDE
#: Of CIFAR-100: 20 coarse and 100 fine classes, in the order of the label bytes.
KINDS = ("coarse", "fine")
#: The largest official pickle has 155 MB.
PICKLE_BYTES = 256 << 20
#: MD5 of the pickles in the official archives, by name (CIFAR-10, then CIFAR-100).
OFFICIAL: Mapping[str, str] = MappingProxyType(
    {
        "data_batch_1": "c99cafc152244af753f735de768cd75f",
        "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
        "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
        "data_batch_4": "634d18415352ddfa80567beed471001a",
        "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
        "test_batch": "40351d587109b95175f43aff81a1287e",
        "batches.meta": "5ff9c542aee3614f3951f8cda6e48888",
        "train": "16019d7e3df5f24257cddd939b257f8d",
        "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
        "meta": "7973b15100ade9c7d40fb424638fde48",
    }
)
NEW_DATA = re.compile(r"cifar10\.1_(v\d+)_data\.npy")
#: In the order of CIFAR-10's labels.
NAMES = tuple("airplane automobile bird cat deer dog frog horse ship truck".split())  # noqa: SIM905


@dataclass(frozen=True)
class _Batch:
    """One file of images."""

    #: What messages call it.
    where: str
    #: (N, 3072): planes of red, green and blue.
    rows: NDArray[np.uint8]
    #: By kind, N each; whatever a pickle holds there.
    labels: Mapping[str, Any]


class _Form(NamedTuple):
    """A form in which CIFAR is published: how its files are called, and what reads them."""

    layout: str
    suffix: str
    #: The images and labels of a file; of CIFAR-10 or not.
    batch: Callable[[Source, str, bool], _Batch]
    #: Names of the classes of a kind in a folder; no kind: of CIFAR-10.
    names: Callable[[Source, Folder, str], tuple[str, ...]]

    def is_10(self, root: Folder) -> bool:
        """`data_batch_1`, with the suffix."""
        return f"data_batch_1{self.suffix}" in root.files

    def recognises(self, source: Source, root: Folder) -> bool:
        """The batches of CIFAR-10, or the files `train` and `test` of CIFAR-100."""
        files = {f"train{self.suffix}", f"test{self.suffix}", *(() if self.suffix else ("meta",))}
        return self.is_10(root) or files <= set(root.files)

    def read(self, source: Source, root: Folder) -> Listing:
        """All batches; CIFAR-100 with its fine labels unless coarse is chosen."""
        is_10 = self.is_10(root)
        kind = _chosen_labels(source, is_10)
        train, test = ["train"], "test"
        if is_10:
            numbered = (f"data_batch_{number}" for number in range(1, 6))
            train = [name for name in numbered if f"{name}{self.suffix}" in root.files]
            test = "test_batch"
        require(source, root, (f"{test}{self.suffix}",))
        classes = self.names(source, root, kind)
        batches = {
            name: self.batch(source, root.join(f"{name}{self.suffix}"), is_10)
            for name in (*train, test)
        }
        examples = {name: _examples(name, batch, kind, classes) for name, batch in batches.items()}
        superclasses = {}
        if kind == "fine":
            with suppress(UserError):  # nothing depends on them
                names = self.names(source, root, "coarse")
                superclasses = _group_classes(batches["train"], names, classes)
        return Listing.found(
            self.layout,
            root,
            classes,
            [example for name in train for example in examples[name]],
            examples[test],
            files=len(batches) + 1,
            superclasses=superclasses,
            notes=() if self.suffix else _note_on_hashes(source, root, [*batches]),
        )


def _chosen_labels(source: Source, is_10: bool) -> str:
    """Tell which of CIFAR-100's labels are to be read; CIFAR-10 has one kind."""
    chosen = source.choices.labels
    if is_10 and chosen is not None:
        raise UserError("--labels: CIFAR-10 has one kind of labels")
    if chosen not in (None, *KINDS):
        raise UserError(f"--labels {chosen!r}: legal: {', '.join(KINDS)}")
    return "" if is_10 else chosen or "fine"


def _labels(batch: _Batch, kind: str, classes: int) -> list[int]:
    """The labels of a kind; UserError if they are not one for each image, of so many classes."""
    key = f"{kind}_labels" if kind else "labels"
    labels = batch.labels.get(key)
    if not isinstance(labels, list) or not all(type(label) is int for label in labels):
        raise UserError(f"{batch.where}: no list of labels under {key!r}")
    if len(labels) != len(batch.rows):
        raise UserError(f"{batch.where}: {len(labels)} labels for {len(batch.rows)} images")
    wrong = next((row for row, label in enumerate(labels) if not 0 <= label < classes), None)
    if wrong is not None:
        told = f"image {wrong} has label {labels[wrong]}; legal: 0..{classes - 1}"
        raise UserError(f"{batch.where}: {told}")
    return labels


def _examples(name: str, batch: _Batch, kind: str, classes: tuple[str, ...]) -> list[Example]:
    """Examples named after file and row, alike in both forms."""
    images = batch.rows.reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1)
    labels = _labels(batch, kind, len(classes))
    return [
        Example(f"{name}/{row:05d}", label, pixels=image)
        for row, (image, label) in enumerate(zip(images, labels, strict=True))
    ]


def _group_classes(
    batch: _Batch, coarse: tuple[str, ...], fine: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """The fine classes of each coarse one, by the labels of images.

    Empty where a fine class is in two coarse ones.
    """
    outer, inner = (_labels(batch, *of) for of in (("coarse", len(coarse)), ("fine", len(fine))))
    pairs = sorted(set(zip(outer, inner, strict=True)))
    if len({label for _, label in pairs}) < len(pairs):
        return {}
    groups: dict[str, tuple[str, ...]] = {}
    for group, label in pairs:
        groups[coarse[group]] = (*groups.get(coarse[group], ()), fine[label])
    return groups


def _binary_batch(source: Source, name: str, is_10: bool) -> _Batch:
    """Records of label bytes (coarse, fine) and 3,072 pixel bytes."""
    where, member = source.where(name), source.member(name)
    kinds = ("labels",) if is_10 else ("coarse_labels", "fine_labels")
    record, length = len(kinds) + PIXELS, member.length()
    if length == 0 or length % record:
        told = f"{length} bytes are not a whole number of {record}-byte records"
        raise UserError(f"{where}: {told}")
    shape = (length // record, record)
    # A plain view of the mapping: slices of a memmap object are much slower to make.
    records = np.asarray(np.memmap(member.file, np.uint8, "r", member.offset, shape))
    labels = {kind: records[:, place].tolist() for place, kind in enumerate(kinds)}
    return _Batch(where, records[:, len(kinds) :], labels)


def _names_in_text(source: Source, root: Folder, kind: str) -> tuple[str, ...]:
    name = f"{kind}_label_names.txt" if kind else "batches.meta.txt"
    require(source, root, (name,))
    lines = source.member(root.join(name)).read(1 << 20).decode("ascii", errors="replace")
    return tuple(line.strip() for line in lines.split("\n") if line.strip())


def _python_batch(source: Source, name: str, is_10: bool) -> _Batch:
    """A pickled dictionary, never unpickled as such."""
    content, where = _load(source, name), source.where(name)
    try:
        rows = byte_rows(content.get(b"data"), PIXELS)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error
    keys = ("labels", "coarse_labels", "fine_labels")
    return _Batch(where, rows, {key: content.get(key.encode()) for key in keys})


def _names_in_pickle(source: Source, root: Folder, kind: str) -> tuple[str, ...]:
    name, key = ("meta", f"{kind}_label_names") if kind else ("batches.meta", "label_names")
    require(source, root, (name,))
    names = _load(source, root.join(name)).get(key.encode())
    if not isinstance(names, list) or not all(isinstance(name, bytes) for name in names):
        raise UserError(f"{source.where(root.join(name))}: no list of class names under {key!r}")
    return tuple(name.decode("ascii", errors="replace") for name in names)


def _load(source: Source, name: str) -> dict[bytes, Any]:
    try:
        return load_dictionary(source.member(name).read(PICKLE_BYTES))
    except ValueError as error:
        raise UserError(f"{source.where(name)}: not a CIFAR pickle ({error})") from error


def _note_on_hashes(source: Source, root: Folder, batches: list[str]) -> tuple[str, ...]:
    """A note on the pickles that are not the official ones.

    They are read all the same: nothing that a pickle asks for is run.
    """
    names = [*batches, "meta" if "train" in batches else "batches.meta"]
    members = {name: source.member(root.join(name)).read(PICKLE_BYTES) for name in names}
    hashes = {
        name: hashlib.md5(content, usedforsecurity=False) for name, content in members.items()
    }
    others = [name for name in names if hashes[name].hexdigest() != OFFICIAL[name]]
    return (f"not the official files, by their MD5: {', '.join(others)}",) if others else ()


def _new_folder(root: Folder) -> Folder | None:
    """The folder with `cifar10.1_v4_data.npy` or `cifar10.1_v6_data.npy`: this, or one in it."""
    folders = (folder for folder in root.walk() if any(map(NEW_DATA.fullmatch, folder.files)))
    return next(folders, None)


def _new_array(source: Source, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """The (N, *shape) array of a file: whole numbers, pixels uint8; UserError for another."""
    try:
        array = np.asarray(read_npy(source.member(name)))
        if array.shape[1:] != shape or array.dtype.kind not in ("u" if shape else "iu"):
            raise ValueError(f"shape {array.shape} and type {array.dtype}")
        return array.astype(np.uint8) if shape else array
    except Exception as error:  # NumPy's parser of headers raises nearly anything
        told = f"not an .npy array (N{''.join(f', {side}' for side in shape)})"
        raise UserError(f"{source.where(name)}: {told} ({first_line(error)})") from error


def _read_new(source: Source, root: Folder) -> Listing:
    """Test images only, of the newest version there is unless another is chosen."""
    folder = _new_folder(root)
    assert folder is not None
    versions = sorted(match[1] for match in map(NEW_DATA.fullmatch, folder.files) if match)
    version = source.choices.test_part or versions[-1]
    if version not in versions:
        raise UserError(f"--test-part {version!r}: there are {', '.join(versions)}")
    data, labels = (f"cifar10.1_{version}_{part}.npy" for part in ("data", "labels"))
    require(source, folder, (labels,))
    images = _new_array(source, folder.join(data), (SIDE, SIDE, 3))
    numbers = _new_array(source, folder.join(labels), ())
    where = source.where(folder.join(labels))
    if len(numbers) != len(images):
        raise UserError(f"{where}: {len(numbers)} labels for {len(images)} images")
    if not 0 <= numbers.min() <= numbers.max() < len(NAMES):
        raise UserError(f"{where}: labels {numbers.min()} to {numbers.max()}; legal: 0 to 9")
    test = [
        Example(f"{version}/{row:05d}", int(label), pixels=image)
        for row, (image, label) in enumerate(zip(images, numbers, strict=True))
    ]
    notes = (f"version {version}; there are {', '.join(versions)} (--test-part)",)
    return Listing(NEW_LAYOUT, folder.path, NAMES, [], test, root.count() - 2, notes=notes)


_BINARY = _Form("CIFAR (binary)", ".bin", _binary_batch, _names_in_text)
_PYTHON = _Form("CIFAR (python)", "", _python_batch, _names_in_pickle)
BINARY = Reader("cifar-binary", _BINARY.layout, _BINARY.recognises, _BINARY.read, ("labels",))
PYTHON = Reader("cifar-python", _PYTHON.layout, _PYTHON.recognises, _PYTHON.read, ("labels",))
CIFAR10_1 = Reader(
    "cifar10-1",
    NEW_LAYOUT,
    lambda source, root: _new_folder(root) is not None,
    _read_new,
    ("test_part",),
)
