"""Tables as CSV, in the dialects that spreadsheets and scripts write."""

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa

from anynet_study.errors import UserError
from anynet_study.store.importing.blocks import BLOCK_ROWS, Block, TableFile, clean

SEPARATORS = (",", ";", "\t")
#: Records that are looked at to find the separator.
LOOKED_AT = 20

_NAMED = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t"}


def read_csv(path: Path, separator: str = "", encoding: str = "") -> TableFile:
    """Open a CSV file; "" finds out its separator (, ; tab), and its encoding (UTF-8, UTF-16).

    Where the separator is not the comma, a comma in a number is a decimal comma.
    """
    encoding = encoding or _encoding(path)
    separator = _NAMED.get(separator, separator) or _separator(path, encoding)
    records = _records(path, separator, encoding)
    header = [name.strip() for name in next(records, [])]
    if len(header) < 2:
        raise UserError(
            f"{path}: {len(header)} columns; needed: a header row, and at least two columns "
            f"separated by , ; or tab (another separator: --separator)"
        )
    return TableFile(header, _blocks(path, header, records, decimal_comma=separator != ","))


def _encoding(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(2)
    return "utf-16" if start in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def _records(path: Path, separator: str, encoding: str) -> Iterator[list[str]]:
    """The records that are not blank."""
    try:
        with path.open(newline="", encoding=encoding) as file:
            yield from (row for row in csv.reader(file, delimiter=separator, strict=True) if row)
    except UnicodeError:
        raise UserError(
            f"{path}: not text in {encoding.removesuffix('-sig')}; say its encoding with "
            f"--encoding, such as latin-1"
        ) from None
    except LookupError:
        raise UserError(f"--encoding: no {encoding!r}; such as utf-8, latin-1, cp1252") from None
    except (csv.Error, TypeError) as error:
        raise UserError(f"{path}: not a readable CSV table ({error})") from None


def _separator(path: Path, encoding: str) -> str:
    """The separator that splits the first records into most columns, all into as many."""
    columns: dict[str, int] = {}
    for separator in SEPARATORS:
        try:
            rows = list(islice(_records(path, separator, encoding), LOOKED_AT))
        except UserError:
            continue
        even = len({len(row) for row in rows}) == 1
        columns[separator] = len(rows[0]) + 1_000_000 * even if rows and len(rows[0]) > 1 else 0
    return max(columns, key=lambda separator: columns[separator], default=",")


def _blocks(
    path: Path, header: list[str], records: Iterator[list[str]], decimal_comma: bool
) -> Iterator[Block]:
    first = 2
    while rows := list(islice(records, BLOCK_ROWS)):
        for number, row in enumerate(rows, first):
            if len(row) != len(header):
                raise UserError(
                    f"{path}: row {number} ({row[0]!r}) has {len(row)} cells, the header has "
                    f"{len(header)}"
                )
        columns = (pa.array(cells, pa.string()) for cells in zip(*rows, strict=True))
        cleaned = (_cells(column, decimal_comma) for column in columns)
        yield Block(first, dict(zip(header, cleaned, strict=True)))
        first += len(rows)


def _cells(column: pa.Array, decimal_comma: bool) -> pa.Array:
    if decimal_comma:
        column = pa.compute.replace_substring_regex(column, r"^\s*(-?\d+),(\d+)\s*$", r"\1.\2")
    return clean(column)
