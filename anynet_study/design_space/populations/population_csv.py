"""Populations as CSV files: the table alone, without how it was drawn."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from anynet_study.design_space.populations.chosen import Chosen, from_columns
from anynet_study.design_space.populations.population_json import from_entries
from anynet_study.errors import UserError
from anynet_study.files import replacing


def write_csv(table: pa.Table, path: Path) -> None:
    """Write a header and a line a row, atomically; nulls are empty cells."""
    columns = [table[name].to_pylist() for name in table.column_names]
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.column_names)
        writer.writerows(zip(*columns, strict=True))


def read_csv(path: Path) -> Chosen:
    """Read columns d1, w1, ... (see `chosen.from_columns`), or a column `architecture` alone.

    The latter names published networks, or holds the fields of an `Architecture` as JSON.
    Raises UserError naming the line.
    """
    header, rows, lines = _cells(path)
    if not header:
        raise UserError(f"{path}: the file is empty")
    for name in header:
        if header.count(name) > 1:
            raise UserError(f"{path}: column {name!r} is there twice")
    if not rows:
        raise UserError(f"{path}: there is no architecture in it, only a header")

    def name_of(row: int) -> str:
        return f"{path}: line {lines[row]}"

    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    if header == ["architecture"]:
        return from_entries([_entry(cell) for cell in columns["architecture"]], name_of)
    if "d1" not in columns:
        raise UserError(
            f"{path}: there is no column d1; needed: d1, w1, d2, w2, ..., separated by commas, or "
            "nothing but a column architecture that names published networks"
        )
    return from_columns(columns, str(path), name_of)


def _cells(path: Path) -> tuple[list[str], list[list[str]], Sequence[int]]:
    """Return the header, the rows, and the line that each row ends on."""
    rows, lines = [], []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            for row in reader:
                if any(cell.strip() for cell in row):
                    rows.append(row)
                    lines.append(reader.line_num)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such population file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: not a readable CSV table ({error})") from None
    header = [name.strip() for name in rows[0]] if rows else []
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            raise UserError(
                f"{path}: line {line} has {len(row)} cells, the header has {len(header)}"
            )
    return header, rows[1:], lines[1:]


def _entry(cell: str) -> object:
    """A name, or what a cell of JSON holds."""
    if not cell.lstrip().startswith("{"):
        return cell.strip()
    try:
        return json.loads(cell)
    except ValueError:
        return cell
