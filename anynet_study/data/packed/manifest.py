"""The manifest of a packed dataset, `split.csv`: every image, its content, and where it belongs.

A CSV with one row per image in the order of the arrays, training images first. It says which split
was made, so that anybody with the same images can make it again; and it names the images that a
dataset has more than once.
"""

import csv
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import UnreadableError, UserError, printable
from anynet_study.core.files import replacing
from anynet_study.core.sheets import cell_of, text_of
from anynet_study.data.packed.dataset import PackedDataset
from anynet_study.data.packed.form import image_digest
from anynet_study.data.packed.images import Images
from anynet_study.data.packed.meta import SPLITS, Duplicates, Split
from anynet_study.data.source.encoded import CONTENT_BYTES

FILE = "split.csv"
COLUMNS = ("image", "blake3", "split", "class", "group")
#: Separator between the classes of an image that has several.
BETWEEN = "|"
MAX_BYTES = 2 << 30


class Row(NamedTuple):
    """One image."""

    #: Its path from the folder that was recognised.
    image: str
    #: Hexadecimal, the first 16 bytes of the BLAKE3 hash of its file, or of what the source has
    #: in place of one.
    content: str
    split: str
    #: Its class; several are in the order of the listing, `BETWEEN` them.
    label: str
    #: Images of the same group are on the same side of the split; empty if there are no groups.
    group: str


def write_manifest(path: Path, rows: Iterable[Row]) -> None:
    """Write a manifest; names that are not UTF-8 keep their bytes, cells are as `cell_of`."""
    with (
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file,
    ):
        plain = csv.writer(file, lineterminator="\n")
        # It does not quote a carriage return, which its own reader takes for the end of a line.
        quoting = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        plain.writerow(COLUMNS)
        for row in (tuple(map(cell_of, each)) for each in rows):
            writer = quoting if any("\r" in cell for cell in row) else plain
            writer.writerow(row)


def read_manifest(path: Path) -> list[Row]:
    """The rows of a manifest; UserError naming the file if it is not a whole one."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"more than {MAX_BYTES} bytes")
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = tuple(next(reader, ()))
            if header != COLUMNS:
                raise ValueError(f"its columns must be {', '.join(COLUMNS)}")
            rows = [_row(number, cells) for number, cells in enumerate(reader, start=2)]
    except FileNotFoundError:
        raise UserError(f"{path}: no such manifest") from None
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, csv.Error) as error:
        raise UserError(f"{path}: not a manifest ({error})") from error
    names = {row.image for row in rows}
    if len(names) < len(rows):
        raise UserError(f"{path}: not a manifest (an image is listed twice)")
    if not rows:
        raise UserError(f"{path}: not a manifest (no image in it)")
    return rows


def _row(number: int, cells: list[str]) -> Row:
    if len(cells) != len(COLUMNS):
        raise ValueError(f"line {number} has {len(cells)} columns")
    row = Row(*map(text_of, cells))
    if row.split not in SPLITS:
        raise ValueError(f"line {number}: split {printable(row.split)!r}; legal: train, test")
    digits = row.content
    if len(digits) != 2 * CONTENT_BYTES or digits.strip("0123456789abcdef"):
        raise ValueError(f"line {number}: {printable(digits)[:40]!r} is not a content hash")
    return row


def image_names(dataset: PackedDataset, split: Split) -> list[str]:
    """The path of each image of a split in its source, in the order of the arrays.

    `train/0`, ... in a dataset of an older version, whose manifest is another or is not there.
    UnreadableError where the disk fails.
    """
    count = dataset.counts(split).images
    try:
        names = [row.image for row in read_manifest(dataset.folder / FILE) if row.split == split]
    except UnreadableError:
        raise
    except UserError:
        names = []
    return names if len(names) == count else [f"{split}/{place}" for place in range(count)]


def training_groups(dataset: PackedDataset) -> list[str]:
    """The group of each training image; "" if it is in no group."""
    groups: list[str] = []
    for number, part in enumerate(dataset.parts):
        names = [""] * part.counts("train").images
        if part.meta.grouped:
            rows = read_manifest(part.folder / FILE)
            names = [row.group for row in rows if row.split == "train"]
        groups += [name and f"{number}:{name}" for name in names]
    return groups


def copy_manifest(dataset: PackedDataset, path: Path) -> None:
    """Write the manifest of `dataset` to `path`, byte for byte; UserError if it is damaged."""
    own = dataset.folder / FILE
    read_manifest(own)
    with replacing(path) as temporary:
        shutil.copyfile(own, temporary)


def count_duplicates(
    moments: Mapping[Split, NDArray[np.int64]], images: Mapping[Split, Images]
) -> Duplicates:
    """Count images whose pixels are equal to those of an earlier one.

    Only images with equal `moments` (N, 2, 3) are looked at.
    """
    train, test = first_equals(moments, images)
    return Duplicates(
        test_in_train=int(np.isin(test, train).sum()),
        within_train=len(train) - len(np.unique(train)),
        within_test=len(test) - len(np.unique(test)),
    )


def first_equals(
    moments: Mapping[Split, NDArray[np.int64]], images: Mapping[Split, Images]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each image of train and test the number of the first that equals it.

    Numbers are rows of train, and behind them rows of test.
    """
    trained = len(moments["train"])
    rows = np.concatenate([moments["train"], moments["test"]])
    keys = rows.reshape(-1, 6).view(np.dtype((np.void, 48))).ravel()  # compared as bytes
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    first = np.arange(len(keys))
    seen: dict[bytes, int] = {}
    for row in np.flatnonzero(counts[inverse] > 1).tolist():
        image = images["train"][row] if row < trained else images["test"][row - trained]
        digest = image_digest(np.ascontiguousarray(image).data)
        first[row] = seen.setdefault(digest, row)
    return first[:trained], first[trained:]


class Repeat(NamedTuple):
    """An image whose packed pixels are those of an earlier one."""

    split: str
    image: str
    first_split: str
    first: str
    same_class: bool


def repeated_images(dataset: PackedDataset) -> list[Repeat]:
    """Every image that equals an earlier one, train before test.

    None of a dataset of an older version whose manifest is another, or is not there.
    """
    if not dataset.meta.duplicates:
        return []
    try:
        rows = read_manifest(dataset.folder / FILE)
    except UnreadableError:
        raise
    except UserError:
        return []
    moments = {split: dataset.moments(split) for split in SPLITS}
    images = {split: dataset.images(split) for split in SPLITS}
    firsts = [first for part in first_equals(moments, images) for first in part.tolist()]
    return [
        Repeat(
            rows[place].split,
            printable(rows[place].image),
            rows[first].split,
            printable(rows[first].image),
            rows[place].label == rows[first].label,
        )
        for place, first in enumerate(firsts)
        if place != first
    ]
