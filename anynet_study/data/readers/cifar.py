"""CIFAR-10 and CIFAR-100, in binary and in python form, and the test set CIFAR-10.1."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import filter as matching
from types import MappingProxyType
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.readers.listing import Example, Listing, Reader
from anynet_study.data.readers.safe_files import byte_rows, load_dictionary, read_npy
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

BINARY_LAYOUT, PYTHON_LAYOUT, NEW_LAYOUT = "CIFAR (binary)", "CIFAR (python)", "CIFAR-10.1"
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


def _chosen_labels(source: Source, is_10: bool) -> str:
    """Which of CIFAR-100's labels are to be read; CIFAR-10 has one kind."""
    chosen = source.choices.labels
    if is_10 and chosen is not None:
        raise UserError("--labels: CIFAR-10 has one kind of labels")
    if chosen not in (None, *KINDS):
        raise UserError(f"--labels {chosen!r}: legal: {', '.join(KINDS)}")
    return chosen or "fine"


def _group_classes(
    coarse: Sequence[int],
    fine: Sequence[int],
    coarse_names: tuple[str, ...],
    fine_names: tuple[str, ...],
) -> dict[str, tuple[str, ...]]:
    """The fine classes of each coarse one, by the labels of images; by name.

    Empty where the labels are not of such classes, or a fine class is in two coarse ones.
    """
    pairs = set(zip(coarse, fine, strict=True))
    if len({label for _, label in pairs}) < len(pairs):
        return {}
    groups: dict[str, list[str]] = {}
    for outer, inner in sorted(pairs):
        if not (0 <= outer < len(coarse_names) and 0 <= inner < len(fine_names)):
            return {}
        groups.setdefault(coarse_names[outer], []).append(fine_names[inner])
    return {name: tuple(members) for name, members in groups.items()}


def _examples(
    where: str,
    rows: NDArray[np.uint8],
    labels: NDArray[np.integer] | list[int],
    classes: tuple[str, ...],
) -> list[Example]:
    """Examples of the file `where`: `rows` (N, 3072) hold red, green and blue planes.

    They are named after file and row, alike in both forms.
    """
    stem = where.rpartition("/")[2].removesuffix(".bin")
    planes = rows.reshape(-1, 3, SIDE, SIDE)
    found = []
    for row, (image, label) in enumerate(zip(planes, labels, strict=True)):
        if not 0 <= label < len(classes):
            raise UserError(f"{where}: image {row} has label {label}; legal: 0..{len(classes) - 1}")
        pixels = image.transpose(1, 2, 0)
        found.append(Example(f"{stem}/{row:05d}", int(label), pixels=pixels))
    return found


def _require(source: Source, root: Folder, names: Iterable[str]) -> None:
    """UserError for the first file of `names` that is missing."""
    for name in names:
        if name not in root.files:
            raise UserError(f"{source.where(root.join(name))}: the file is missing")


def _is_binary(source: Source, root: Folder) -> bool:
    """`data_batch_1.bin`, or `train.bin` and `test.bin`."""
    return "data_batch_1.bin" in root.files or {"train.bin", "test.bin"} <= set(root.files)


def _read_binary(source: Source, root: Folder) -> Listing:
    """Records of label bytes and 3,072 pixel bytes.

    CIFAR-100 with its fine labels (the second byte of a record) unless coarse is chosen.
    """
    is_10 = "data_batch_1.bin" in root.files
    kind = _chosen_labels(source, is_10)
    if is_10:
        train, test = matching(root.files, "data_batch_*.bin"), "test_batch.bin"
        names, label_bytes, place = "batches.meta.txt", 1, 0
    else:
        train, test = ["train.bin"], "test.bin"
        names, label_bytes, place = f"{kind}_label_names.txt", 2, KINDS.index(kind)
    _require(source, root, (names, test))
    classes = _names_in_text(source, root.join(names))

    def examples(file: str) -> list[Example]:
        records = _records(source, root.join(file), label_bytes)
        where = source.where(root.join(file))
        return _examples(where, records[:, label_bytes:], records[:, place], classes)

    training = [example for file in train for example in examples(file)]
    superclasses: dict[str, tuple[str, ...]] = {}
    if not is_10 and kind == "fine" and "coarse_label_names.txt" in root.files:
        coarse = _names_in_text(source, root.join("coarse_label_names.txt"))
        labels = _records(source, root.join("train.bin"), 2)[:, :2]
        superclasses = _group_classes(labels[:, 0].tolist(), labels[:, 1].tolist(), coarse, classes)
    return Listing.found(
        BINARY_LAYOUT,
        root,
        classes,
        training,
        examples(test),
        files=len(train) + 2,
        superclasses=superclasses,
    )


def _names_in_text(source: Source, name: str) -> tuple[str, ...]:
    lines = source.member(name).read(1 << 20).decode("ascii", errors="replace").split("\n")
    return tuple(line.strip() for line in lines if line.strip())


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


def _is_python_10(root: Folder) -> bool:
    return {"data_batch_1", "batches.meta"} <= set(root.files)


def _is_python(source: Source, root: Folder) -> bool:
    """`data_batch_1` and `batches.meta`, or the files `train`, `test` and `meta`."""
    return _is_python_10(root) or {"train", "test", "meta"} <= set(root.files)


def _read_python(source: Source, root: Folder) -> Listing:
    """Pickled dictionaries, never unpickled as such; CIFAR-100 with fine labels unless chosen.

    A note says which files are not the official ones. They are read all the same: nothing that a
    pickle asks for is run.
    """
    is_10 = _is_python_10(root)
    kind = _chosen_labels(source, is_10)
    if is_10:
        train = [f"data_batch_{n}" for n in range(1, 6) if f"data_batch_{n}" in root.files]
        test, meta, names, key = "test_batch", "batches.meta", "label_names", "labels"
    else:
        train, test, meta = ["train"], "test", "meta"
        names, key = f"{kind}_label_names", f"{kind}_labels"
    _require(source, root, (test,))
    notes = _note_on_hashes(source, root, [*train, test, meta])
    classes = _names_in_pickle(source, root.join(meta), names)
    training, testing = (
        [example for name in files for example in _batch(source, root.join(name), key, classes)]
        for files in (train, [test])
    )
    superclasses = _superclasses(source, root, classes) if key == "fine_labels" else {}
    return Listing.found(
        PYTHON_LAYOUT,
        root,
        classes,
        training,
        testing,
        files=len(train) + 2,
        superclasses=superclasses,
        notes=notes,
    )


def _note_on_hashes(source: Source, root: Folder, names: Sequence[str]) -> tuple[str, ...]:
    """A note on the files that are not the official ones; they are hashed, not opened."""
    others = []
    for name in names:
        try:
            content = source.member(root.join(name)).read(PICKLE_BYTES)
        except ValueError as error:
            raise UserError(f"{source.where(root.path)}: not CIFAR's pickles ({error})") from error
        if hashlib.md5(content, usedforsecurity=False).hexdigest() != OFFICIAL[name]:
            others.append(name)
    return (f"not the official files, by their MD5: {', '.join(others)}",) if others else ()


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
    names = _names_in_pickle(source, root.join("meta"), "coarse_label_names")
    return _group_classes(coarse, fine, names, classes)


def _is_labels(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(label) is int for label in value)


def _load(source: Source, name: str) -> dict[bytes, Any]:
    try:
        return load_dictionary(source.member(name).read(PICKLE_BYTES))
    except ValueError as error:
        raise UserError(f"{source.where(name)}: not a CIFAR pickle ({error})") from error


def _names_in_pickle(source: Source, name: str, key: str) -> tuple[str, ...]:
    names = _load(source, name).get(key.encode())
    if not isinstance(names, list) or not all(isinstance(name, bytes) for name in names):
        raise UserError(f"{source.where(name)}: no list of class names under {key!r}")
    return tuple(name.decode("ascii", errors="replace") for name in names)


def _batch(source: Source, name: str, key: str, classes: tuple[str, ...]) -> list[Example]:
    content = _load(source, name)
    where = source.where(name)
    try:
        rows = byte_rows(content.get(b"data"), PIXELS)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error
    labels = content.get(key.encode())
    if not _is_labels(labels):
        raise UserError(f"{where}: no list of labels under {key!r}")
    if len(labels) != len(rows):
        raise UserError(f"{where}: {len(labels)} labels for {len(rows)} images")
    return _examples(where, rows, labels, classes)


def _new_folder(root: Folder) -> Folder | None:
    """The folder with `cifar10.1_v4_data.npy` or `cifar10.1_v6_data.npy`: this, or one in it."""
    folders = (folder for folder in root.walk() if any(map(NEW_DATA.fullmatch, folder.files)))
    return next(folders, None)


def _read_new(source: Source, root: Folder) -> Listing:
    """Test images only, of the newest version there is unless another is chosen."""
    folder = _new_folder(root)
    assert folder is not None
    versions = sorted(match[1] for match in map(NEW_DATA.fullmatch, folder.files) if match)
    version = source.choices.test_part or versions[-1]
    if version not in versions:
        raise UserError(f"--test-part {version!r}: there are {', '.join(versions)}")
    data, labels = (f"cifar10.1_{version}_{part}.npy" for part in ("data", "labels"))
    _require(source, folder, (labels,))
    images = read_npy(source, folder.join(data), ("|u1",), (SIDE, SIDE, 3)).astype(np.uint8)
    numbers = read_npy(source, folder.join(labels), ("<i4", "<i8", "|u1"), ()).astype(np.int64)
    where = source.where(folder.join(labels))
    if len(numbers) != len(images):
        raise UserError(f"{where}: {len(numbers)} labels for {len(images)} images")
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(NAMES):
        raise UserError(f"{where}: labels {numbers.min()} to {numbers.max()}; legal: 0 to 9")
    test = [
        Example(f"{version}/{row:05d}", int(label), pixels=image)
        for row, (image, label) in enumerate(zip(images, numbers, strict=True))
    ]
    notes = (f"version {version}; there are {', '.join(versions)} (--test-part)",)
    return Listing(NEW_LAYOUT, folder.path, NAMES, [], test, root.count() - 2, notes=notes)


BINARY = Reader("cifar-binary", BINARY_LAYOUT, _is_binary, _read_binary, ("labels",))
PYTHON = Reader("cifar-python", PYTHON_LAYOUT, _is_python, _read_python, ("labels",))
CIFAR10_1 = Reader(
    "cifar10-1",
    NEW_LAYOUT,
    lambda source, root: _new_folder(root) is not None,
    _read_new,
    ("test_part",),
)
