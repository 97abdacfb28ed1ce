"""Reading the CSV files that come with some datasets."""

import csv
import io
from itertools import islice

from anynet_study.data.source.member import Member
from anynet_study.data.source.source import Source
from anynet_study.errors import UserError

#: Parsed it takes several times as much memory.
MAX_BYTES = 128 << 20
#: No source has more files.
MAX_ROWS = 3_000_000
#: The first line of a table is shorter.
HEADER_BYTES = 64 << 10


def read_table(source: Source, name: str, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """The rows of a comma- or tab-separated file, reduced to `columns`; UserError if damaged."""
    where = source.where(name)
    try:
        text = source.member(name).read(MAX_BYTES).decode("utf-8-sig")
        delimiter = _delimiter(text.partition("\n")[0])
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        missing = [column for column in columns if column not in (rows.fieldnames or [])]
        if missing:
            raise UserError(f"{where}: no column {missing[0]!r}; needed: {', '.join(columns)}")
        some = islice(rows, MAX_ROWS + 1)
        table = [{column: row[column] or "" for column in columns} for row in some]
        if len(table) > MAX_ROWS:
            raise ValueError(f"more than {MAX_ROWS} rows")
    except (csv.Error, ValueError) as error:
        raise UserError(f"{where}: not a readable table ({error})") from error
    if not table:
        raise UserError(f"{where}: the table has no rows")
    return table


def columns_of(source: Source, name: str) -> list[str]:
    """The column names of a comma- or tab-separated file; none if it is not one."""
    member = source.member(name)
    try:
        start = Member(member.file, member.offset, min(HEADER_BYTES, member.length()))
        line = start.read(HEADER_BYTES).decode("utf-8-sig", errors="replace").partition("\n")[0]
        return next(csv.reader([line.rstrip("\r")], delimiter=_delimiter(line)), [])
    except (OSError, csv.Error):
        return []


def _delimiter(line: str) -> str:
    return "\t" if "\t" in line else ","


def checked_id(where: str, identifier: str) -> str:
    """Return an image id of the table `where`; UserError if it could name another folder."""
    if not identifier or identifier in (".", "..") or any(mark in identifier for mark in "/\\\0"):
        raise UserError(f"{where}: {identifier!r} is not an image id")
    return identifier
