"""Tables in files, CSV, JSON or Parquet: the one reader of them, of results and of images alike.

Cells are kept as they are written; what a cell means (a number, a name, nothing) is asked for.
"""

import csv
import gzip
import io
import json
import re
import unicodedata
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import compress, islice
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from anynet_study.core import arrow
from anynet_study.core.errors import UserError, first_line
from anynet_study.core.files import read_regular, within_memory

if TYPE_CHECKING:  # readers of images need no pandas, and it is slow to import
    import pandas as pd

JSON_LINES = (".jsonl", ".ndjson")
CSV_ENDINGS = (".csv", ".tsv", ".txt")
ENDINGS = (*CSV_ENDINGS, ".parquet", ".json", *JSON_LINES)
#: Of a table, in bytes, unpacked if it is compressed.
MOST_BYTES = 1 << 28
#: What a cell without a number may say, in lower case. As a name these are names.
MISSING = ("", "na", "n/a", "nan", "null", "none", "-", "–", "—")
SEPARATORS = (",", ";", "\t", "|")
#: The first line by which spreadsheets tell the separator.
SEPARATOR_LINE = re.compile(r"\s*sep=(.)\s*")
#: A number as people write it: with a decimal comma, a sign of percent, and a spread.
WRITTEN = re.compile(
    r"(?P<value>[-+]?[0-9]+(?:[.,][0-9]+)?)\s*%?(?:\s*(?:±|\+/?-|\$?\\pm\$?)\s*"
    r"(?P<spread>[0-9]+(?:[.,][0-9]+)?)\s*%?)?"
)
#: A number with thousands apart, and one that may be such or have a decimal comma.
THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:(?:,\d{3})+\.\d+|(?:,\d{3}){2,})")
ONE_COMMA = re.compile(r"[-+]?\d{1,3},\d{3}")
#: As programs print numbers: tensor(0.85, device='cuda:0'), np.float64(0.85).
PRINTED = re.compile(r"[A-Za-z_][\w.]*\(\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(?:,[^()]*)?\)")
#: With a unit of size: 11.7M, 1.8G.
SIZED = re.compile(r"([-+]?[0-9]+(?:\.[0-9]+)?)\s*([kKMGBT])")
SIZES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}
#: Characters that have no width.
NO_WIDTH = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))
#: A text that begins with a number with decimals, and goes on with another: 85.5 (0.2), or
#: \\textbf{85.5} $\\pm$ 0.2.
BEGINS_AS_NUMBER = re.compile(
    r"(?:\\[A-Za-z]+|\W)*\d{1,3}([.,]\d+)?\s*(?:\\[A-Za-z]+|\W|_)*(?:\\[A-Za-z]+|[^\w\s]|_)\s*[-+]?\d.*"
)
#: A number in marks that say something else: **85.5**, 85.5*, \\textbf{85.5}.
MARKED_NUMBER = re.compile(r"(?:\\[A-Za-z]+|[^\w-])*\d{1,3}(?:[.,]\d+)?(?:\\[A-Za-z]+|[^\w-])*")
#: Of a Parquet table: a few MB can hold billions of equal cells. Of a million runs, 50 columns.
MOST_CELLS = 50_000_000
#: Records that are looked at to find the separator.
LOOKED_AT = 20
#: How pandas calls the column of an index that has no name.
UNNAMED_INDEX = "__index_level_0__"
#: What a JSON file may hold.
LEGAL = "a list of records, a mapping of column names to lists, or a mapping of rows to mappings"

#: A cell of the line below the header of a table in Markdown, or beside it.
RULE = re.compile(r"\s*(:?-+:?)?\s*")

_NAMED = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t"}

#: Between several values in one cell of a table that has lists in its cells.
SEVERAL = "\ufdd0"

#: A cell is a number, a trimmed text, or None where it is missing.
Cell = int | float | str | None


class Texts(Sequence[Cell]):
    """Cells of which all are texts or missing, in a tenth of the memory that a list of them takes.

    They are listed anew whenever they are iterated over.
    """

    def __init__(self, cells: Iterable[str | None]) -> None:
        self.column = pa.array(cells, pa.string())

    def __len__(self) -> int:
        return len(self.column)

    def __getitem__(self, place: Any) -> Any:
        return self.column[place].as_py() if isinstance(place, int) else list(self)[place]

    def __iter__(self) -> Iterator[str | None]:
        return iter(self.column.to_pylist())


@dataclass(frozen=True)
class Sheet:
    """A table in a file."""

    path: Path
    #: The number of each row, as a message counts them: the header of a CSV file is row 1.
    rows: NDArray[np.int64]
    #: By name, all of one length.
    columns: dict[str, Sequence[Cell]]
    #: What was left out of the file, in words.
    notes: tuple[str, ...] = ()
    #: Columns that were asked for as numbers.
    _numbers: dict[str, NDArray[np.float64]] = field(default_factory=dict, compare=False)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def numbers(self, name: str, alike: Sequence[str] = ()) -> NDArray[np.float64]:
        """A column as numbers, NaN where it is empty. Raises UserError naming row and column, and
        how to leave it and those `alike` out.
        """
        numbers = self.read_as_numbers(name)
        bad = np.flatnonzero(np.isinf(numbers))
        if len(bad):
            raise UserError(
                f"{self.path}: row {self.rows[bad[0]]}, column {name}: "
                f"{self.columns[name][bad[0]]!r} is not a number; leave missing cells empty, or "
                f"leave the column out: --ignore {quoted([name, *alike])}"
            )
        return numbers

    def read_as_numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column as numbers, NaN where it is empty, infinite where a cell is no number."""
        if name not in self._numbers:
            self._numbers[name] = as_numbers(self.columns[name])
        return self._numbers[name]

    def is_text(self, name: str) -> bool:
        """Tell whether a column has cells and none is a number."""
        numbers = self.read_as_numbers(name)
        known = numbers[~np.isnan(numbers)]
        return bool(len(known)) and bool(np.isinf(known).all())

    def only(self, kept: NDArray[np.bool_]) -> "Sheet":
        """The rows that are kept."""
        columns: dict[str, Sequence[Cell]] = {
            name: list(compress(cells, kept)) for name, cells in self.columns.items()
        }
        return Sheet(self.path, self.rows[kept], columns, self.notes)

    def of(self, columns: dict[str, Sequence[Cell]]) -> "Sheet":
        """The table with other columns of its rows, or of all its rows again and again."""
        count = len(next(iter(columns.values()), ()))
        return Sheet(self.path, np.resize(self.rows, count), columns, self.notes)

    def renamed(self, names: Mapping[str, str]) -> "Sheet":
        """The table with other names of some columns."""
        columns = {names.get(name, name): cells for name, cells in self.columns.items()}
        numbers = {names.get(name, name): values for name, values in self._numbers.items()}
        return replace(self, columns=columns, _numbers=numbers)

    def names(self, name: str, missing: str | None = None) -> "pd.Categorical":
        """A column of names, its categories in the order in which they come.

        `missing` stands for an empty cell; without it, raises UserError where a cell is empty.
        """
        import pandas as pd

        cells = [missing if cell in (None, "") else cell for cell in self.columns[name]]
        if None in cells:
            row = self.rows[cells.index(None)]
            raise UserError(f"{self.path}: row {row} has nothing in column {name or '1'}")
        texts = [str(cell).removesuffix(".0" * isinstance(cell, float)) for cell in cells]
        return pd.Categorical(texts, list(dict.fromkeys(texts)))


def normal_form(name: str) -> str:
    """A name of a column, a file or a split as it is compared: without case and marks.

    >>> normal_form("Patient ID"), normal_form("patientId"), normal_form("test-set")
    ('patient_id', 'patient_id', 'test_set')
    """
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", unicodedata.normalize("NFC", name))
    return re.sub(r"[\W_]+", "_", apart.casefold()).strip("_")


def letters_of(name: str) -> str:
    """The letters and digits of a name alone, without case.

    >>> letters_of("COVID-19") == letters_of("Covid19")
    True
    """
    return normal_form(name).replace("_", "")


def words_of(name: str) -> list[str]:
    """The words and numbers of a name.

    >>> words_of("CIFAR10TestAccuracy200Epochs")
    ['cifar', '10', 'test', 'accuracy', '200', 'epochs']
    """
    return re.findall(r"[^\W\d_]+|\d+", normal_form(name))


def column_called(columns: Collection[str], names: Iterable[str]) -> str | None:
    """The first column that is called by one of `names`, the surest first, however it is written.

    >>> column_called(["x", "PatientID"], ["patient", "patient_id"])
    'PatientID'
    """
    by_letters: dict[str, str] = {}
    for name in columns:
        by_letters.setdefault(letters_of(name), name)
    found = (by_letters.get(name.replace("_", "")) for name in names)
    return next((name for name in found if name is not None), None)


def quoted(names: Iterable[str]) -> str:
    """Names with commas between them, as options take them, to be pasted into a shell.

    >>> quoted(["a", "b"]), quoted(["Acc, top 1", "b"])
    ('a,b', '\'"Acc, top 1",b\'')
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return quote(text.getvalue())


def is_missing(cell: Cell) -> bool:
    """Tell whether a cell that is no name says nothing."""
    return cell is None or (isinstance(cell, str) and cell.lower() in MISSING)


def number(cell: Cell) -> float:
    """A cell as a number: NaN where it is missing, an infinite one where it is none."""
    return written(cell)[0]


def written(cell: Cell) -> tuple[float, float]:
    """The number in a cell and its spread: of 85.5 ± 0.2% 85.5 and 0.2; 93,4 is 93.4.

    Also 1,013.01, 11.7M and tensor(0.85). NaN where there is none; infinite where the cell is no
    number. A lone comma before exactly three digits is neither decimal nor of thousands.
    """
    if not isinstance(cell, str) or is_missing(cell):
        return (float("nan") if is_missing(cell) else _float(cell)), float("nan")
    match = WRITTEN.fullmatch(cell)
    if match is None or re.search(r",\d{3}(?!\d)", cell):
        if printed := PRINTED.fullmatch(cell):
            return _float(printed[1]), float("nan")
        if sized := SIZED.fullmatch(cell):
            return float(sized[1]) * SIZES[sized[2]], float("nan")
        cell = cell.replace(",", "") if THOUSANDS.fullmatch(cell) else cell
        return (float("inf") if "_" in cell else _float(cell)), float("nan")
    value, spread = (text and float(text.replace(",", ".")) for text in match.group(1, 2))
    return float(value), float("nan") if spread is None else float(spread)


def _float(cell: Cell) -> float:
    try:
        return float(cell or 0)
    except (ValueError, OverflowError):
        return float("inf")


def as_numbers(cells: Sequence[Cell]) -> NDArray[np.float64]:
    """Cells as `number` reads them; the same at once where all are written plainly."""
    for kind in (pa.string(), pa.float64()):
        with suppress(pa.ArrowException):
            column = cells.column if isinstance(cells, Texts) else pa.array(cells, kind)
            numbers = arrow.to_numpy(column.cast(pa.float64()))
            if not np.isinf(numbers).any():
                return numbers
    found = np.array([number(cell) for cell in cells], np.float64)
    if np.isinf(found).any():  # 400M beside texts is a text
        sized = [isinstance(cell, str) and SIZED.fullmatch(cell) is not None for cell in cells]
        found[np.array(sized, bool)] = np.inf
    return found


def is_unclear_number(cells: Sequence[Cell]) -> bool:
    """Tell whether all cells of a column of texts may be numbers, with something else beside
    them.
    """
    there = [cell for cell in cells if not is_missing(cell)]
    if all(MARKED_NUMBER.fullmatch(str(cell)) for cell in there):
        return True
    matches = [BEGINS_AS_NUMBER.fullmatch(str(cell)) for cell in there]
    return all(matches) and any(match and match[1] for match in matches)


def typed(values: list[Cell]) -> pa.Array:
    """Whole numbers, also those written as floats, numbers or text: the first that all are.

    Long whole numbers of which some are missing are text: a store has missing numbers as floats.
    """
    values = [None if is_missing(value) else value for value in values]
    texts = pa.array([None if value is None else str(value) for value in values], pa.string())
    numbers = as_numbers(values)
    if np.isinf(numbers).any():
        return texts
    known = numbers[~np.isnan(numbers)]
    if any(isinstance(value, str) and not _is_plain(value) for value in values):
        return pa.array(numbers, from_pandas=True)
    short = bool((np.abs(known) < 2.0**53).all())
    if not any(isinstance(value, float) for value in values):
        with suppress(ValueError, OverflowError, pa.ArrowInvalid):
            whole = pa.array([None if v is None else int(v) for v in values], pa.int64())
            return whole if short or not whole.null_count else texts
    whole = short and bool((known % 1 == 0).all())
    return pa.array(numbers, from_pandas=True).cast(pa.int64() if whole else pa.float64())


def _is_plain(cell: str) -> bool:
    try:
        return float(cell) is not None
    except ValueError:
        return False


def first_repeat(rows: "pd.DataFrame") -> tuple[int, int] | None:
    """The labels of the first row that was there before, and of that one: earlier, later."""
    again = rows.duplicated()
    if not again.any():
        return None
    later = int(again.idxmax())
    return int((rows == rows.loc[later]).all(axis=1).idxmax()), later


def is_table(path: Path) -> bool:
    """Tell whether a file is called like a table that is read."""
    return path.name.lower().removesuffix(".gz").endswith(ENDINGS)


def read_sheet(path: Path, separator: str = "", encoding: str = "") -> Sheet:
    """Read a table of results. Raises UserError for what is none, and for unclear columns.

    A CSV or JSON file may be compressed by gzip. `separator` and `encoding` are those of a CSV
    file; "" finds them out.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    with within_memory(path):
        return _sheet(path, separator, encoding)


def _sheet(path: Path, separator: str, encoding: str) -> Sheet:
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    ending, first_row, notes = plain.suffix.lower(), 1, list[str]()
    columns: Iterable[Any]
    if ending == ".parquet" and plain == path:
        names, columns = _read_parquet(path)
    elif ending == ".json" or ending in JSON_LINES:
        content, notes = _rows_alone(load_json(path))
        names, columns = json_table(str(path), content)
    elif ending in CSV_ENDINGS:
        separator = separator or "\t" * (ending == ".tsv")
        table = parse_csv(str(path), _content(path), separator, encoding)
        names, columns, first_row = table.names, table.columns(), table.first_row
    else:
        legal = f"{', '.join(ENDINGS)}, and .gz of those that are text"
        raise UserError(f"{path}: ending {path.suffix.lower() or '(none)'}; legal: {legal}")
    return sheet_of(path, names, columns, first_row, notes)


def _rows_alone(content: Any) -> tuple[Any, list[str]]:
    """A mapping of rows without what a file holds beside them, such as its date; and a note."""
    if not isinstance(content, Mapping) or {"data"} < content.keys() <= _FRAME:
        return content, []
    rows = {key: value for key, value in content.items() if isinstance(value, Mapping)}
    others = [key for key, value in content.items() if not isinstance(value, Mapping | list)]
    if len(rows) < 2 or not others or len(rows) + len(others) < len(content):
        return content, []
    told = f"{', '.join(others)}: left out, as the other keys hold rows"
    return rows, [told]


def sheet_of(
    path: Path,
    names: Sequence[str],
    columns: Iterable[Any],
    first_row: int = 1,
    notes: Sequence[str] = (),
) -> Sheet:
    """A table of these columns. Raises UserError where their names are unclear."""
    for place, name in enumerate(names, 1):
        if not name and place > 1:
            told = "needed is one row of names, with one for every column"
            raise UserError(f"{path}: column {place} has no name; {told}")
        if name in names[: place - 1]:
            raise UserError(
                f"{path}: column {name!r} is there twice; give each a name of its own (if names "
                "take two rows, join them into one)"
            )
    if not names:
        raise UserError(f"{path}: the table has no columns")
    cells = (_without_thousands(_cells(column)) for column in columns)
    table = dict(zip(names, cells, strict=True))
    rows = np.arange(first_row, first_row + len(table[names[0]]))
    return Sheet(path, rows, table, tuple(notes))


def _without_thousands(cells: Sequence[Cell]) -> Sequence[Cell]:
    """The cells without lone commas, where others of them show that they part thousands."""
    texts = [cell for cell in cells if type(cell) is str and "," in cell]
    if not any(map(ONE_COMMA.fullmatch, texts)):
        return cells
    texts = [cell for cell in cells if isinstance(cell, str)]
    others = [cell for cell in texts if not ONE_COMMA.fullmatch(cell)]
    if any(THOUSANDS.fullmatch(cell) or re.fullmatch(r"\d*\.\d+", cell) for cell in others):
        return [
            c.replace(",", "") if isinstance(c, str) and ONE_COMMA.fullmatch(c) else c
            for c in cells
        ]
    return cells


def _cells(column: Sequence[Any]) -> Sequence[Cell]:
    """The values of a column as cells; at once where all are plain numbers written in CSV."""
    with suppress(TypeError):
        if re.fullmatch(r"[0-9.\n]*", "\n".join(column)):
            return Texts(text or None for text in column)
    return [_cell(value) for value in column]


def _cell(value: Any) -> Cell:
    if type(value) is str and value.isascii() and value and value[0] > " " < value[-1]:
        return value
    if type(value) is int or value is None:
        return value
    if isinstance(value, float | Decimal):
        return None if value != value else float(value)
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode().translate(NO_WIDTH)
    return text.strip() or None


#: The names of the columns, and the columns.
Columns = tuple[list[str], list[Any]]


@dataclass(frozen=True)
class Csv:
    """The records of a CSV file, every one as long as its header."""

    names: list[str]
    rows: list[list[str]]
    #: The line of the first record, if no record has several.
    first_row: int
    #: Columns that the file itself says are classes.
    classes: tuple[str, ...] = ()

    def columns(self) -> Iterator[Sequence[str]]:
        """The cells of one column after the other."""
        return zip(*self.rows, strict=True) if self.rows else iter([()] * len(self.names))


def _content(path: Path) -> bytes:
    if path.suffix.lower() != ".gz":
        return read_regular(path, MOST_BYTES)
    try:
        with gzip.open(path) as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: not a whole gzip file ({first_line(error)})") from None
    if len(content) > MOST_BYTES:
        raise UserError(f"{path}: more than {MOST_BYTES:,} bytes when unpacked")
    return content


def parse_csv(
    where: str,
    content: bytes,
    separator: str = "",
    encoding: str = "",
    separators: Sequence[str] = SEPARATORS,
    fewest: int = 2,
) -> Csv:
    """A CSV table in the dialects that spreadsheets and scripts write; rows of nothing are skipped.

    Where the separator is not the comma, a comma in a number is a decimal comma. The apostrophe of
    `cell_of` is no part of a text. Raises UserError, beginning with `where`, for what is no table:
    of fewer columns than `fewest`, or with rows of unequal length.
    """
    encoding = encoding or _encoding_of(content)
    try:
        text = content.decode(encoding)
    except UnicodeError:
        raise UserError(
            f"{where}: not text in {encoding.removesuffix('-sig')}; save it as UTF-8 (import has "
            "--encoding, such as --encoding latin-1)"
        ) from None
    except LookupError:
        raise UserError(f"--encoding: no {encoding!r}; such as utf-8, latin-1, cp1252") from None
    told = SEPARATOR_LINE.fullmatch(text.partition("\n")[0])
    if told is not None:
        text = text.partition("\n")[2]
    separator = _NAMED.get(separator, separator) or (told[1] if told else "")
    try:
        separator = separator or _separator(text, separators)
        rows = list(_rows(text, separator, strict=True))
    except (csv.Error, TypeError) as error:
        raise UserError(f"{where}: not a readable CSV table ({error})") from None
    first = 3 if told else 2
    if rows[1:] and all(map(RULE.fullmatch, rows[1])):
        del rows[1]
        first += 1
    if rows[1:] and rows[0][0].startswith("#") and len(rows[0]) != len(rows[1]):
        raise UserError(
            f"{where}: row {first - 1} begins with #: a comment? Remove it, so that the row of "
            "names comes first"
        )
    rows = _filled(rows)
    rows = [[text_of(cell) for cell in row] for row in rows] if "'" in text else rows
    names = [name.strip() for name in rows[0]] if rows else []
    if len(names) < fewest:
        raise UserError(
            f"{where}: {len(names)} columns; needed: a header row, and at least two columns "
            "separated by , ; | or tab (another one: import it with --separator)"
        )
    _require_widths(where, rows, first - 1)
    if separator != ",":
        decimal = re.compile(r"^\s*(-?\d+),(\d+)\s*$")
        rows = [[decimal.sub(r"\1.\2", cell) for cell in row] for row in rows]
    return Csv(names, rows[1:], first)


def _require_widths(where: str, rows: Sequence[Sequence[str]], first: int) -> None:
    """UserError for a row, counted from `first`, that is not as long as the header."""
    for place, row in enumerate(rows):
        if len(row) != len(rows[0]):
            told = f"{len(row)} cells, the header has {len(rows[0])}"
            if rows[place + 1 :] and {*map(len, rows[place:])} == {len(row)}:
                told += ", and so have all rows below: another table? Keep one in a file"
            raise UserError(f"{where}: row {first + place}: {told}")


def _encoding_of(content: bytes) -> str:
    """UTF-16 where the first bytes are those of its mark, or of a letter in it; else UTF-8."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    return "utf-16-le" if content[1:2] == b"\0" else "utf-8-sig"


def _filled(rows: list[list[str]]) -> list[list[str]]:
    """The rows without columns that have neither a name nor any cell."""
    nameless = [place for place, name in enumerate(rows[0] if rows else ()) if not name.strip()]
    empty = {n for n in nameless if not any("".join(row[n : n + 1]).strip() for row in rows)}
    return [[cell for n, cell in enumerate(row) if n not in empty] for row in rows if empty] or rows


def _rows(text: str, separator: str, strict: bool) -> Any:
    """The records that have anything in them."""
    rows = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=separator,
        skipinitialspace=separator == " ",
        strict=strict,
    )
    return (row for row in rows if any(map(str.strip, row)))


def _separator(text: str, separators: Sequence[str]) -> str:
    """The separator that splits the first records into most columns, all into as many."""
    columns: dict[tuple[bool, int], str] = {}
    for separator in separators:
        some = islice(_rows(text, separator, strict=False), LOOKED_AT)
        widths = [len(row) for row in some] or [0]
        columns.setdefault((len(set(widths)) == 1 and widths[0] > 1, widths[0]), separator)
    return columns[max(columns)]


def load_json(path: Path) -> Any:
    """Return what a JSON file holds; where it has one record in each line, the list of them.

    Raises UserError for what is no JSON, and for keys given twice.
    """
    lines = path.name.lower().removesuffix(".gz").endswith(JSON_LINES)
    return parse_json(str(path), _content(path), lines)


def parse_json(where: str, content: bytes, lines: bool) -> Any:
    """Parse the content of a JSON file that messages call `where`."""
    line = 0
    try:
        text = content.decode("utf-8-sig")
        if not lines:
            return json.loads(text, object_pairs_hook=_once)
        records = []
        for line, record in enumerate(text.splitlines(), 1):  # noqa: B007 - a message names it
            if record.strip():
                records.append(json.loads(record, object_pairs_hook=_once))
        return records
    except (ValueError, RecursionError) as error:
        what = f"line {line} is not JSON" if line else "not readable JSON"
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise UserError(f"{where}: {what} ({reason})") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} twice")
    return found


#: Keys of what pandas writes of a frame with its orient "split" or "table".
_FRAME = {"data", "columns", "index", "schema"}


def json_table(where: str, content: Any, key: str = "model") -> Columns:
    """The columns of what a JSON file holds; `key` is what the keys of a mapping of rows name.

    Those of a data frame that pandas wrote are as in the frame. UserError, beginning with `where`,
    for what is no table.
    """
    if isinstance(content, Mapping) and {"data"} < content.keys() <= _FRAME:
        content = _of_frame(content, key)
    values = list(content.values()) if isinstance(content, Mapping) else []
    if values and all(isinstance(value, Mapping) for value in values):
        content = _of_mappings(content, key)
    if isinstance(content, list):
        for place, record in enumerate(content, 1):
            if not isinstance(record, Mapping):
                raise UserError(f"{where}: record {place} is no mapping of column names to values")
        names = list(dict.fromkeys(name for record in content for name in record))
        return names, [[record.get(name) for record in content] for name in names]
    values = list(content.values()) if isinstance(content, Mapping) else []
    lists = isinstance(content, Mapping) and all(isinstance(cells, list) for cells in values)
    if not lists or len(set(map(len, values))) != 1:
        raise UserError(f"{where}: not a table; legal: {LEGAL}")
    return list(content), values


#: What spreadsheets take for a formula where a cell begins with it; and such a cell of `cell_of`.
FORMULA = re.compile(r"'*[=+\-@\t\r]")


def cell_of(text: str) -> str:
    """A text as a cell of CSV: with an apostrophe before what a spreadsheet would execute.

    Names may come from anybody. Numbers stay as they are, also negative ones. See `text_of`.
    """
    if not FORMULA.match(text):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def text_of(cell: str) -> str:
    """The text of which `cell_of` made this cell."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def csv_text(table: "pd.DataFrame") -> str:
    """A data frame as CSV, without its index; texts as `cell_of`."""
    clean = table.rename(columns=lambda name: cell_of(name) if isinstance(name, str) else name)
    for place in range(clean.shape[1]):
        column = clean.iloc[:, place]
        if column.dtype.kind not in "biufcmM":
            clean.isetitem(
                place, [cell_of(it) if isinstance(it, str) else it for it in column.astype(object)]
            )
    text: str = clean.to_csv(index=False, lineterminator="\n")
    return text


def _of_frame(content: Mapping[str, Any], key: str) -> Any:
    """The records of pandas' orient "table", or the columns of "split"."""
    rows, names = content["data"], content.get("columns")
    if not isinstance(names, list):
        return rows
    index = content.get("index")
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        return None
    counted = index is None or index == [*range(len(rows))]
    columns = dict(zip(map(str, names), map(list, zip(*rows, strict=False)), strict=False))
    return columns if counted else {key: index, **columns}


def _of_mappings(content: Mapping[str, Mapping[str, Any]], key: str) -> Any:
    """A mapping of rows to mappings as records; or of columns to mappings of row numbers or names.

    The second is what pandas writes. It shows in rows that are counted, or in values: a mapping of
    texts beside one of numbers is a column.
    """
    first, *others = ({*value} for value in content.values())
    kinds = {
        name: {isinstance(cell, str) for cell in value.values() if cell is not None}
        for name, value in content.items()
    }
    apart = {True} in kinds.values() and {False} in kinds.values()
    if len(first) > 1 and all(other == first for other in others):
        rows = list(next(iter(content.values())))
        columns = {name: [value[row] for row in rows] for name, value in content.items()}
        if all(row.isdigit() for row in rows) and not all(name.isdigit() for name in content):
            return columns
        if apart and all(len(kind) < 2 for kind in kinds.values()):
            return {key: rows, **columns}
    return [{key: name, **row} for name, row in content.items()]


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
        with within_memory(path):
            return file.read()
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path}: not a readable Parquet table ({first_line(error)})") from None


def _read_parquet(path: Path) -> Columns:
    """An index that pandas wrote comes first, as it did in pandas."""
    table = read_parquet(path)
    try:
        described = table.schema.pandas_metadata
    except ValueError as error:  # no JSON, or no UTF-8
        raise UserError(f"{path}: damaged: what pandas says of it ({first_line(error)})") from None
    index = described.get("index_columns") if isinstance(described, Mapping) else None
    first = index if isinstance(index, list) else []
    stored = sorted(table.column_names, key=lambda name: name not in first)
    names = ["" if name == UNNAMED_INDEX else name for name in stored]
    return names, [table[name].to_pylist() for name in stored]
