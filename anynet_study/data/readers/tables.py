"""Reading the CSV files that come with some datasets."""

import csv
from pathlib import Path

from anynet_study.errors import UserError


def read_table(path: Path, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """The rows of a comma- or tab-separated file, reduced to `columns`; UserError if damaged."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = file.readline()
            file.seek(0)
            rows = csv.DictReader(file, delimiter="\t" if "\t" in header else ",", strict=True)
            missing = [column for column in columns if column not in (rows.fieldnames or [])]
            if missing:
                raise UserError(f"{path}: no column {missing[0]!r}; needed: {', '.join(columns)}")
            table = [{column: row[column] or "" for column in columns} for row in rows]
    except (csv.Error, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a readable table ({error})") from error
    if not table:
        raise UserError(f"{path}: the table has no rows")
    return table


def checked_id(path: Path, identifier: str) -> str:
    """Return an image id of the table at `path`; UserError if it could name another folder."""
    if not identifier or identifier in (".", "..") or any(mark in identifier for mark in "/\\\0"):
        raise UserError(f"{path}: {identifier!r} is not an image id")
    return identifier
