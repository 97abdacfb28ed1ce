"""Tables of results in files, CSV, JSON or Parquet, read as columns of text and numbers."""

import csv
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from anynet_study.errors import UserError

JSON_LINES = (".jsonl", ".ndjson")
ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".json", *JSON_LINES)
#: What a missing cell may say, in lower case.
MISSING = ("", "na", "n/a", "nan", "null", "none")
SEPARATORS = (",", ";", "\t")
#: Records that are looked at to find the separator, and bytes of a CSV file that are read at a
#: time: a row has to be shorter.
LOOKED_AT, BLOCK_BYTES = 20, 1 << 24
#: How pandas calls the column of an index that has no name.
UNNAMED_INDEX = "__index_level_0__"
#: What a JSON file may hold.
LEGAL = (
    "a list of records, a mapping of column names to lists, or a mapping of models to mappings "
    "of datasets to values"
)

_NAMED = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t"}


@dataclass(frozen=True)
class Sheet:
    """A table in a file."""

    path: Path
    #: Number of the first row, as a message counts it: the header of a CSV file is row 1.
    first_row: int
    #: By name, all of one length; text (trimmed, null where missing) or numbers.
    columns: dict[str, pa.Array]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column as numbers, NaN where it is empty. Raises UserError naming row and column."""
        values = self.columns[name]
        try:
            numbers = np.array(pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False))
            bad = np.flatnonzero(np.isinf(numbers))
        except pa.ArrowInvalid:
            bad = np.array([next(i for i, cell in enumerate(values) if not is_number(cell))])
        if len(bad):
            raise UserError(
                f"{self.path}: row {self.first_row + bad[0]}, column {name}: "
                f"{values[int(bad[0])].as_py()!r} is not a number; leave missing cells empty"
            )
        return np.asarray(numbers, np.float64)

    def names(self, name: str, missing: str | None = None) -> pd.Categorical:
        """A column of names, its categories in the order in which they come.

        `missing` stands for an empty cell; without it, raises UserError where a cell is empty.
        """
        texts = pc.cast(self.columns[name], pa.string())
        if missing is not None:
            texts = texts.fill_null(missing)
        elif texts.null_count:
            row = self.first_row + int(np.asarray(texts.is_null()).argmax())
            raise UserError(f"{self.path}: row {row} has nothing in column {name or '1'}")
        coded = texts.dictionary_encode()
        return pd.Categorical.from_codes(np.asarray(coded.indices), coded.dictionary.to_pylist())


def first_repeat(rows: pd.DataFrame) -> tuple[int, int] | None:
    """The labels of the first row that was there before, and of that one: earlier, later."""
    again = rows.duplicated()
    if not again.any():
        return None
    later = int(again.idxmax())
    return int((rows == rows.loc[later]).all(axis=1).idxmax()), later


def is_number_type(kind: pa.DataType) -> bool:
    """Whether cells of this type are numbers without being asked to be."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(test(kind) for test in tests)


def is_number(cell: pa.Scalar) -> bool:
    """Whether one cell is missing or reads as a number."""
    try:
        pc.cast(cell, pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def clean(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column as text or as numbers: text trimmed, and null where it says that it is missing."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if is_number_type(values.type) or pa.types.is_null(values.type):
        return values
    text = pc.utf8_trim_whitespace(pc.cast(values, pa.string()))
    gone = pc.is_in(pc.utf8_lower(text), value_set=pa.array(MISSING))
    return pc.if_else(gone, pa.scalar(None, pa.string()), text)


def read_sheet(path: Path, separator: str = "", encoding: str = "") -> Sheet:
    """Read a table of results. Raises UserError for what is none, and for unclear columns.

    `separator` and `encoding` are those of a CSV file; "" finds them out.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    ending = path.suffix.lower()
    if ending == ".parquet":
        return _read_parquet(path)
    if ending == ".json" or ending in JSON_LINES:
        return _read_json(path)
    if ending in ENDINGS:
        return _read_csv(path, separator or "\t" * (ending == ".tsv"), encoding)
    raise UserError(f"{path}: ending {ending or '(none)'}; legal: {', '.join(ENDINGS)}")


def _check_names(path: Path, columns: list[str]) -> None:
    for place, name in enumerate(columns, 1):
        if name in columns[: place - 1]:
            raise UserError(f"{path}: column {name!r} is there twice")
        if not name and place > 1:
            raise UserError(f"{path}: column {place} has no name")
    if not columns:
        raise UserError(f"{path}: the table has no columns")


def _read_csv(path: Path, separator: str, encoding: str) -> Sheet:
    """In the dialects that spreadsheets and scripts write.

    Where the separator is not the comma, a comma in a number is a decimal comma.
    """
    encoding = encoding or _encoding(path)
    try:
        separator = _NAMED.get(separator, separator) or _separator(path, encoding)
        names = [name.strip() for name in next(iter(_start(path, encoding, separator)), [])]
        if len(names) < 2:
            raise UserError(
                f"{path}: {len(names)} columns; needed: a header row, and at least two columns "
                f"separated by , ; or tab (another separator: --separator)"
            )
        _check_names(path, names)
        rows = _csv_rows(path, encoding, separator, len(names))
    except UnicodeError:
        raise UserError(
            f"{path}: not text in {encoding.removesuffix('-sig')}; say its encoding with "
            f"--encoding, such as latin-1"
        ) from None
    except LookupError:
        raise UserError(f"--encoding: no {encoding!r}; such as utf-8, latin-1, cp1252") from None
    except (csv.Error, pa.ArrowInvalid, TypeError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{path}: not a readable CSV table ({reason})") from None
    columns = {}
    for name, column in zip(names, rows.columns, strict=True):
        if separator != ",":
            column = pc.replace_substring_regex(column, r"^\s*(-?\d+),(\d+)\s*$", r"\1.\2")
        columns[name] = clean(column)
    return Sheet(path, 2, columns)


def _encoding(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(2)
    return "utf-16" if start in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def _start(path: Path, encoding: str, separator: str) -> list[list[str]]:
    """The first records that are not blank."""
    with path.open(newline="", encoding=encoding) as file:
        return list(islice(filter(None, csv.reader(file, delimiter=separator)), LOOKED_AT))


def _separator(path: Path, encoding: str) -> str:
    """The separator that splits the first records into most columns, all into as many."""
    columns: dict[str, int] = {}
    for separator in SEPARATORS:
        rows = _start(path, encoding, separator)
        even = len({len(row) for row in rows}) == 1
        columns[separator] = len(rows[0]) + 1_000_000 * even if rows and len(rows[0]) > 1 else 0
    return max(columns, key=lambda separator: columns[separator])


def _csv_rows(path: Path, encoding: str, separator: str, width: int) -> pa.Table:
    """The rows below the header, all of them text. Raises ArrowInvalid for rows of other widths."""
    texts = {f"f{place}": pa.string() for place in range(width)}
    with pa.input_stream(str(path)) as file:
        return pacsv.read_csv(
            pa.transcoding_input_stream(file, encoding, "utf-8"),
            # Only without threads do messages name the row.
            pacsv.ReadOptions(
                use_threads=False, block_size=BLOCK_BYTES, autogenerate_column_names=True
            ),
            pacsv.ParseOptions(delimiter=separator, newlines_in_values=True),
            pacsv.ConvertOptions(column_types=texts, strings_can_be_null=False),
        ).slice(1)


def load_json(path: Path) -> Any:
    """What a JSON file holds; where it has one record in each line, the list of them.

    Raises UserError for what is no JSON, and for keys given twice.
    """
    number = 0
    try:
        with path.open(encoding="utf-8-sig") as file:
            if path.suffix.lower() not in JSON_LINES:
                return json.load(file, object_pairs_hook=_once)
            records = []
            for number, line in enumerate(file, 1):  # noqa: B007 - a message names it
                if line.strip():
                    records.append(json.loads(line, object_pairs_hook=_once))
            return records
    except (ValueError, RecursionError) as error:
        # Text is decoded ahead of the line that is looked at.
        by_line = number and not isinstance(error, UnicodeError)
        what = f"line {number} is not JSON" if by_line else "not readable JSON"
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise UserError(f"{path}: {what} ({reason})") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} twice")
    return found


def _read_json(path: Path) -> Sheet:
    content = load_json(path)
    by_model = isinstance(content, Mapping) and all(
        isinstance(v, Mapping) for v in content.values()
    )
    if by_model and content:
        content = [{"model": name, **row} for name, row in content.items()]
    if isinstance(content, list):
        for number, record in enumerate(content, 1):
            if not isinstance(record, Mapping):
                raise UserError(f"{path}: record {number} is no mapping of column names to values")
        names = dict.fromkeys(name for record in content for name in record)
        content = {name: [record.get(name) for record in content] for name in names}
    elif not isinstance(content, Mapping) or not _even_lists(content.values()):
        raise UserError(f"{path}: not a table; legal: {LEGAL}")
    _check_names(path, list(content))
    return Sheet(path, 1, {name: _json_column(cells) for name, cells in content.items()})


def _even_lists(columns: Collection[Any]) -> bool:
    return all(isinstance(cells, list) for cells in columns) and len(set(map(len, columns))) == 1


def _json_column(cells: list[Any]) -> pa.Array:
    kinds = {type(cell) for cell in cells} - {type(None)}
    if kinds <= {int, float}:
        try:
            return pa.array(cells, pa.float64(), from_pandas=True)
        except (pa.ArrowInvalid, OverflowError):
            pass
    texts = [None if cell is None else _text(cell) for cell in cells]
    return clean(pa.array(texts, pa.string()))


def _text(cell: Any) -> str:
    text = cell if isinstance(cell, str) else json.dumps(cell)
    return text.encode("utf-8", "backslashreplace").decode()


def _read_parquet(path: Path) -> Sheet:
    """An index that pandas wrote comes first, as it did in pandas."""
    try:
        table = pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path}: not a readable Parquet table ({reason})") from None
    described = (table.schema.pandas_metadata or {}).get("index_columns", [])
    stored = sorted(table.column_names, key=lambda name: name not in described)
    names = ["" if name == UNNAMED_INDEX else name for name in stored]
    _check_names(path, names)
    columns = {}
    for name, column in zip(names, (table[name] for name in stored), strict=True):
        try:
            columns[name] = clean(column)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            raise UserError(
                f"{path}: column {name}: {column.type} is neither text nor numbers"
            ) from None
    return Sheet(path, 1, columns)
