"""Tables of results in files, CSV, JSON or Parquet: every one becomes columns of cells."""

import csv
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from anynet_study.errors import UserError, first_line

JSON_LINES = (".jsonl", ".ndjson")
ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".json", *JSON_LINES)
#: What a missing cell may say, in lower case.
MISSING = ("", "na", "n/a", "nan", "null", "none")
SEPARATORS = (",", ";", "\t")
#: Of a Parquet table: a few MB can hold billions of equal cells. Of a million runs, 50 columns.
MOST_CELLS = 50_000_000
#: Records that are looked at to find the separator.
LOOKED_AT = 20
#: How pandas calls the column of an index that has no name.
UNNAMED_INDEX = "__index_level_0__"
#: What a JSON file may hold.
LEGAL = (
    "a list of records, a mapping of column names to lists, or a mapping of models to mappings "
    "of datasets to values"
)

_NAMED = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t"}

#: A cell is a number, a trimmed text, or None where it is missing.
Cell = int | float | str | None


@dataclass(frozen=True)
class Sheet:
    """A table in a file."""

    path: Path
    #: Number of the first row, as a message counts it: the header of a CSV file is row 1.
    first_row: int
    #: By name, all of one length.
    columns: dict[str, list[Cell]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column as numbers, NaN where it is empty. Raises UserError naming row and column."""
        numbers = np.array([number(cell) for cell in self.columns[name]], np.float64)
        bad = np.flatnonzero(np.isinf(numbers))
        if len(bad):
            raise UserError(
                f"{self.path}: row {self.first_row + bad[0]}, column {name}: "
                f"{self.columns[name][bad[0]]!r} is not a number; leave missing cells empty"
            )
        return numbers

    def names(self, name: str, missing: str | None = None) -> pd.Categorical:
        """A column of names, its categories in the order in which they come.

        `missing` stands for an empty cell; without it, raises UserError where a cell is empty.
        """
        cells = [missing if cell is None else cell for cell in self.columns[name]]
        if None in cells:
            row = self.first_row + cells.index(None)
            raise UserError(f"{self.path}: row {row} has nothing in column {name or '1'}")
        texts = [str(cell).removesuffix(".0" * isinstance(cell, float)) for cell in cells]
        return pd.Categorical(texts, list(dict.fromkeys(texts)))


def number(cell: Cell) -> float:
    """A cell as a number: NaN where it is missing, an infinite one where it is none."""
    if cell is None:
        return float("nan")
    try:
        return float("inf") if isinstance(cell, str) and "_" in cell else float(cell)
    except (ValueError, OverflowError):
        return float("inf")


def is_text(cells: list[Cell]) -> bool:
    """Whether a column has cells and none is a number."""
    there = [cell for cell in cells if cell is not None]
    return bool(there) and all(np.isinf(number(cell)) for cell in there)


def typed(values: list[Cell]) -> pa.Array:
    """Whole numbers, also those written as floats, numbers or text: the first that all are.

    Long whole numbers of which some are missing are text: a store has missing numbers as floats.
    """
    texts = pa.array([None if value is None else str(value) for value in values], pa.string())
    numbers = np.array([number(value) for value in values], np.float64)
    if np.isinf(numbers).any():
        return texts
    known = numbers[~np.isnan(numbers)]
    short = bool((np.abs(known) < 2.0**53).all())
    if not any(isinstance(value, float) for value in values):
        with suppress(ValueError, OverflowError, pa.ArrowInvalid):
            whole = pa.array([None if v is None else int(v) for v in values], pa.int64())
            return whole if short or not whole.null_count else texts
    whole = short and bool((known % 1 == 0).all())
    return pa.array(numbers, from_pandas=True).cast(pa.int64() if whole else pa.float64())


def first_repeat(rows: pd.DataFrame) -> tuple[int, int] | None:
    """The labels of the first row that was there before, and of that one: earlier, later."""
    again = rows.duplicated()
    if not again.any():
        return None
    later = int(again.idxmax())
    return int((rows == rows.loc[later]).all(axis=1).idxmax()), later


def read_sheet(path: Path, separator: str = "", encoding: str = "") -> Sheet:
    """Read a table of results. Raises UserError for what is none, and for unclear columns.

    `separator` and `encoding` are those of a CSV file; "" finds them out.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    ending, first_row = path.suffix.lower(), 1
    if ending == ".parquet":
        names, columns = _read_parquet(path)
    elif ending == ".json" or ending in JSON_LINES:
        names, columns = _read_json(path)
    elif ending in ENDINGS:
        names, columns = _read_csv(path, separator or "\t" * (ending == ".tsv"), encoding)
        first_row = 2
    else:
        raise UserError(f"{path}: ending {ending or '(none)'}; legal: {', '.join(ENDINGS)}")
    for place, name in enumerate(names, 1):
        if name in names[: place - 1]:
            raise UserError(f"{path}: column {name!r} is there twice")
        if not name and place > 1:
            raise UserError(f"{path}: column {place} has no name")
    if not names:
        raise UserError(f"{path}: the table has no columns")
    cells = ([_cell(cell) for cell in column] for column in columns)
    return Sheet(path, first_row, dict(zip(names, cells, strict=True)))


def _cell(value: Any) -> Cell:
    if type(value) is int or value is None:
        return value
    if isinstance(value, float | Decimal):
        return None if value != value else float(value)
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    text = text.encode("utf-8", "backslashreplace").decode().strip()
    return None if text.lower() in MISSING else text


#: The names of the columns, and the columns.
Columns = tuple[list[str], list[Any]]


def _read_csv(path: Path, separator: str, encoding: str) -> Columns:
    """In the dialects that spreadsheets and scripts write.

    Where the separator is not the comma, a comma in a number is a decimal comma.
    """
    with path.open("rb") as start:
        wide = start.read(2) in (b"\xff\xfe", b"\xfe\xff")
    encoding = encoding or ("utf-16" if wide else "utf-8-sig")
    try:
        with path.open(newline="", encoding=encoding) as file:
            separator = _NAMED.get(separator, separator) or _separator(file)
            rows = list(_rows(file, separator, strict=True))
    except UnicodeError:
        raise UserError(
            f"{path}: not text in {encoding.removesuffix('-sig')}; import it with its "
            "encoding, such as --encoding latin-1"
        ) from None
    except LookupError:
        raise UserError(f"--encoding: no {encoding!r}; such as utf-8, latin-1, cp1252") from None
    except (csv.Error, TypeError) as error:
        raise UserError(f"{path}: not a readable CSV table ({error})") from None
    names = [name.strip() for name in rows[0]] if rows else []
    if len(names) < 2:
        raise UserError(
            f"{path}: {len(names)} columns; needed: a header row, and at least two columns "
            "separated by , ; or tab (another one: import it with --separator)"
        )
    for line, row in enumerate(rows[1:], 2):
        if len(row) != len(names):
            raise UserError(f"{path}: row {line}: {len(row)} cells, the header has {len(names)}")
    columns = list(map(list, zip(*rows[1:], strict=True))) or [[] for _ in names]
    if separator != ",":
        decimal = re.compile(r"^\s*(-?\d+),(\d+)\s*$")
        columns = [[decimal.sub(r"\1.\2", cell) for cell in column] for column in columns]
    return names, columns


def _rows(file: TextIO, separator: str, strict: bool) -> Any:
    """The records that are not blank."""
    file.seek(0)
    return filter(None, csv.reader(file, delimiter=separator, strict=strict))


def _separator(file: TextIO) -> str:
    """The separator that splits the first records into most columns, all into as many."""
    columns: dict[tuple[bool, int], str] = {}
    for separator in SEPARATORS:
        widths = [len(row) for row in islice(_rows(file, separator, strict=False), LOOKED_AT)] or [
            0
        ]
        columns.setdefault((len(set(widths)) == 1 and widths[0] > 1, widths[0]), separator)
    return columns[max(columns)]


def load_json(path: Path) -> Any:
    """What a JSON file holds; where it has one record in each line, the list of them.

    Raises UserError for what is no JSON, and for keys given twice.
    """
    line = 0
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() not in JSON_LINES:
            return json.loads(text, object_pairs_hook=_once)
        records = []
        for line, record in enumerate(text.splitlines(), 1):  # noqa: B007 - a message names it
            if record.strip():
                records.append(json.loads(record, object_pairs_hook=_once))
        return records
    except (ValueError, RecursionError) as error:
        what = f"line {line} is not JSON" if line else "not readable JSON"
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise UserError(f"{path}: {what} ({reason})") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} twice")
    return found


def _read_json(path: Path) -> Columns:
    content = load_json(path)
    values = list(content.values()) if isinstance(content, Mapping) else []
    if values and all(isinstance(value, Mapping) for value in values):
        content = [{"model": name, **row} for name, row in content.items()]
    if isinstance(content, list):
        for place, record in enumerate(content, 1):
            if not isinstance(record, Mapping):
                raise UserError(f"{path}: record {place} is no mapping of column names to values")
        names = list(dict.fromkeys(name for record in content for name in record))
        return names, [[record.get(name) for record in content] for name in names]
    lists = isinstance(content, Mapping) and all(isinstance(cells, list) for cells in values)
    if not lists or len(set(map(len, values))) != 1:
        raise UserError(f"{path}: not a table; legal: {LEGAL}")
    return list(content), values


def read_parquet(path: Path) -> pa.Table:
    """A Parquet table. UserError where there is none, or one of more than MOST_CELLS cells."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    try:
        file = pq.ParquetFile(path)
        groups = map(file.metadata.row_group, range(file.num_row_groups))
        cells = sum(
            group.column(place).num_values for group in groups for place in range(group.num_columns)
        )
        if cells > MOST_CELLS:
            raise UserError(f"{path}: {cells:,} cells; at most {MOST_CELLS:,} are read")
        return file.read()
    except (pa.ArrowException, OSError, MemoryError) as error:
        raise UserError(f"{path}: not a readable Parquet table ({first_line(error)})") from None


def _read_parquet(path: Path) -> Columns:
    """An index that pandas wrote comes first, as it did in pandas."""
    table = read_parquet(path)
    described = (table.schema.pandas_metadata or {}).get("index_columns", [])
    stored = sorted(table.column_names, key=lambda name: name not in described)
    names = ["" if name == UNNAMED_INDEX else name for name in stored]
    return names, [table[name].to_pylist() for name in stored]
