"""The manifest of a packed dataset: every image, what it was made from, and where it belongs.

A CSV with one row an image in the order of the arrays, training images first. It says which split
was made, so that anybody with the same images can make it again.
"""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from anynet_study.data.packed.meta import SPLITS
from anynet_study.data.packing.encoded import CONTENT_BYTES
from anynet_study.errors import UserError, printable
from anynet_study.files import replacing

FILE = "split.csv"
COLUMNS = ("image", "blake3", "split", "class", "group")
#: Between the classes of an image that has several.
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
    #: Images of one group are on one side of the split; empty where there are no groups.
    group: str


def write_manifest(path: Path, rows: Iterable[Row]) -> None:
    """Write a manifest; names that are not UTF-8 keep their bytes."""
    with (
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file,
    ):
        plain = csv.writer(file, lineterminator="\n")
        # It does not quote a carriage return, which its own reader takes for the end of a line.
        quoting = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        plain.writerow(COLUMNS)
        for row in rows:
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
    except (OSError, ValueError, csv.Error) as error:
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
    row = Row(*cells)
    if row.split not in SPLITS:
        raise ValueError(f"line {number}: split {printable(row.split)!r}; legal: train, test")
    digits = row.content
    if len(digits) != 2 * CONTENT_BYTES or digits.strip("0123456789abcdef"):
        raise ValueError(f"line {number}: {printable(digits)[:40]!r} is not a content hash")
    return row
