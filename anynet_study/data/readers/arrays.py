"""Images and their labels as arrays: .npz as MedMNIST's, .npy, .mat as SVHN's, idx as MNIST's.

Whatever the format, each part of the dataset (train, test, validation, by the words in the names)
is one array of images and one of as many labels. Nothing in such a file is run.
"""

import gzip
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import UserError, first_line
from anynet_study.data.readers import names
from anynet_study.data.readers.listing import Listing, Reader
from anynet_study.data.readers.safe_files import read_npy
from anynet_study.data.readers.table_rows import (
    UNLABELLED,
    Row,
    Rows,
    listing_of,
    with_no_class,
)
from anynet_study.data.source.archives import OF_HDF5
from anynet_study.data.source.member import Member, Window
from anynet_study.data.source.source import Choices, Source
from anynet_study.data.source.tree import Folder

LAYOUT = "arrays"
#: Bytes of all arrays of a file that are read into memory; those of .npy files stay on the disk.
MOST_BYTES = 4 << 30
#: Unpacked over packed bytes, once more than the second are unpacked.
RATIO, FREE_BYTES = 200, 256 << 20
#: idx: two zero bytes, the type, the number of dimensions; all sizes are big-endian.
IDX_NAME = re.compile(r"idx\d|-ubyte", re.IGNORECASE)
IDX_TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
#: How files of MATLAB begin that are HDF5.
NEW_MATLAB = b"MATLAB 7.3"
#: Where a channel can be, and the images, in arrays of four dimensions.
CHANNELS = (1, 3)

Array = NDArray[Any]


class _Part(NamedTuple):
    """One part of a dataset."""

    #: Paths of its two arrays.
    images_from: str
    labels_from: str
    #: (N, height, width, 3) uint8, a view, and of each image its classes.
    images: NDArray[np.uint8]
    labels: list[tuple[str, ...]]


def _recognises(source: Source, root: Folder) -> bool:
    """Files of arrays, and no images."""
    return any(_is_array_file(n) for _, _, n in root.below()) and not root.holds_images()


def _is_array_file(name: str) -> bool:
    return name.lower().endswith((".npy", ".mat")) or IDX_NAME.search(name) is not None


def _read(source: Source, root: Folder) -> Listing:
    """Every part; validation is the test split where there is no other.

    UserError, naming every array that was seen, where it is unclear which is what.
    """
    prefix = len(root.join(""))
    paths = [root.join(path) for path, _, name in root.below() if _is_array_file(name)]
    arrays = {p[prefix:]: a for path in paths for p, a in _arrays_in(source, path)}
    parts = _parts(source.where(root.path), arrays, source.choices)
    rows = Rows(
        {
            f"{name}/{place:07d}": Row(labels, "", name, {"pixels": image})
            for name, part in parts.items()
            for place, (image, labels) in enumerate(zip(part.images, part.labels, strict=True))
            if labels
        },
        [],
    )
    used = {path for part in parts.values() for path in (part.images_from, part.labels_from)}
    idle = [path for path in arrays if path not in used]
    listing = listing_of(
        source,
        root,
        LAYOUT,
        rows,
        files=len(paths),
        classes_from=", ".join(part.labels_from for part in parts.values()),
        splits_from="the names of the arrays",
    )
    notes = [f"not read: {', '.join(idle)}"] if idle else []
    return replace(listing, notes=(*listing.notes, *notes))


def _parts(where: str, arrays: Mapping[str, Array], choices: Choices) -> dict[str, _Part]:
    """The arrays of images and of labels of each part, and what their names say it is."""
    by_part: dict[str | None, dict[str, Array]] = {}
    for path, array in arrays.items():
        by_part.setdefault(names.part_in(path), {})[path] = array
    told = {part: found for part, found in by_part.items() if part is not None}
    chosen = told or {"train": by_part.get(None, {})}
    parts = {}
    for part, found in chosen.items():
        pairs = [
            (image, label, views[0])
            for image in found
            for label in found
            if image != label and _are_labels(found[label])
            if (views := _views(image, found[image], _count(found[label])))
        ]
        if len(pairs) != 1:
            seen = "; ".join(f"{path} {a.dtype} {a.shape}" for path, a in found.items())
            raise UserError(
                f"{where}: {len(pairs)} pairs of images and labels for {part}, needed is one: "
                "uint8 (N, height, width) or (N, height, width, 3), and whole numbers or texts "
                f"(N,), or 0 and 1 (N, classes); seen: {seen}; --ignore leaves files out"
            )
        image, label, view = pairs[0]
        labels = _labels(f"{where}: {label}", found[label], choices)
        parts[part] = _Part(image, label, view, labels)
    return parts


def _are_labels(array: Array) -> bool:
    return array.ndim in (1, 2) and array.dtype.kind in "iufUSb"


def _count(labels: Array) -> int:
    """Return how many images they are of: MATLAB has rows or columns of labels."""
    return max(labels.shape) if 1 in labels.shape else len(labels)


def _views(path: str, array: Array, count: int) -> list[NDArray[np.uint8]]:
    """The array as (N, height, width, 3), if it can be N images; the likelier view first.

    The images come first, in files of MATLAB last; channels, 1 or 3, are where they can be.
    """
    if array.dtype != np.uint8 or array.ndim not in (3, 4):
        return []
    last = ".mat/" in path.lower()
    views = []
    for axis in (-1, 0) if last else (0, -1):
        if array.shape[axis] != count:
            continue
        moved = np.moveaxis(array, axis, 0)
        moved = moved[..., None] if array.ndim == 3 else moved
        places = [place for place in (3, 1, 2) if moved.shape[place] in CHANNELS][:1]
        views += [
            np.broadcast_to(colour, (*colour.shape[:3], 3))
            for colour in (np.moveaxis(moved, place, 3) for place in places)
        ]
    return views


def _labels(where: str, array: Array, choices: Choices) -> list[tuple[str, ...]]:
    """The classes of each image; UserError for numbers that are none."""
    if array.ndim == 2 and 1 not in array.shape:
        if not np.isin(array, (0, 1)).all():
            raise UserError(f"{where}: {array.shape}, but not 0 and 1 alone: one column per class?")
        found = [tuple(map(str, np.flatnonzero(row))) for row in array]
        return with_no_class(f"{where}: a row of 0 is of no class", found, choices)
    flat = array.ravel()
    if flat.dtype.kind in "US":
        texts = np.char.decode(flat, errors="backslashreplace") if flat.dtype.kind == "S" else flat
        return [(str(text),) for text in texts]
    if not (np.isfinite(flat) & (flat == np.floor(flat))).all():
        raise UserError(f"{where}: labels that are no whole numbers")
    numbers = [str(int(label)) for label in flat]
    unlabelled = UNLABELLED in numbers and "0" in numbers
    found = [() if unlabelled and number == UNLABELLED else (number,) for number in numbers]
    return with_no_class(f"{where}: -1 is of no class", found, choices)


def _arrays_in(source: Source, path: str) -> Iterator[tuple[str, Array]]:
    """The arrays of one file, by path; UserError for a file that is damaged or too large."""
    member, where = source.member(path), source.where(path)
    with Window(member).buffered() as file:
        if path.lower().endswith(".mat") and file.read(len(NEW_MATLAB)) == NEW_MATLAB:
            raise UserError(f"{where}: {OF_HDF5}")
    try:
        if path.lower().endswith(".npy"):
            yield path, read_npy(member)
        elif path.lower().endswith(".mat"):
            yield from ((f"{path}/{name}", array) for name, array in _mat(member).items())
        else:
            yield path, _idx(_unzipped(path, member))
    except Exception as error:  # parsers of hostile bytes raise nearly anything
        raise UserError(f"{where}: not a readable array ({first_line(error)})") from error


def _mat(member: Member) -> dict[str, Array]:
    """The variables of numbers and texts of a file of MATLAB up to 7.2."""
    from scipy.io import loadmat, whosmat  # slow to import

    limit = _most_unpacked(member.length())
    with Window(member).buffered() as file:
        there = whosmat(file)
        kinds = ("uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
        wanted = [v for v in there if v[2] in (*kinds, "double", "single", "logical")]
        size = sum(math.prod(shape) * 8 ** (kind == "double") for _, shape, kind in wanted)
        if size > limit:
            raise ValueError(f"{size:,} bytes, more than {limit:,} are not read")
        file.seek(0)
        found = loadmat(file, variable_names=[name for name, _, _ in wanted])
    return {name: np.asarray(found[name]) for name, _, _ in wanted}


def _most_unpacked(length: int) -> int:
    return min(MOST_BYTES, max(FREE_BYTES, RATIO * length))


def _unzipped(path: str, member: Member) -> bytes:
    limit = _most_unpacked(member.length())
    if not path.lower().endswith(".gz"):
        return member.read(limit)
    with gzip.open(io.BytesIO(member.read(limit))) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"more than {limit:,} bytes when unpacked")
    return content


def _idx(content: bytes) -> Array:
    """The array of an idx file; ValueError for what is none, or not whole."""
    kind, dimensions = content[2], content[3]
    if content[:2] != b"\0\0" or kind not in IDX_TYPES or not 1 <= dimensions <= 4:
        raise ValueError("not an idx file")
    start = 4 + 4 * dimensions
    shape: Sequence[int] = np.frombuffer(content[4:start], ">u4").tolist()
    dtype = np.dtype(IDX_TYPES[kind])
    if math.prod(shape) * dtype.itemsize != len(content) - start:
        raise ValueError(f"{len(content) - start} bytes, its header says {shape}")
    return np.frombuffer(content, dtype, offset=start).reshape(shape)


ARRAYS = Reader("arrays", LAYOUT, _recognises, _read, ("no_class",))
