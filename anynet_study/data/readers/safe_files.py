"""Reading tables, JSON, arrays and pickles that may be hostile.

Nothing is taken at its word: memory is bounded by what a file holds, not by what it claims.
"""

import io
import json
import math
import pickle
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.core.errors import UserError, first_line, keeps_from_reading
from anynet_study.core.sheets import (
    JSON_LINES,
    NO_WIDTH,
    SEPARATORS,
    SEVERAL,
    Csv,
    json_table,
    parse_csv,
    parse_json,
)
from anynet_study.data.source import parquet
from anynet_study.data.source.archives import Budget, archive_stem
from anynet_study.data.source.member import Member, Window
from anynet_study.data.source.source import Source

#: Most bytes of a table, and of a JSON file: parsed they take several times as much memory.
TABLE_BYTES, JSON_BYTES = 128 << 20, 64 << 20
#: Most rows of a table: no source has more files.
MAX_ROWS = 3_000_000
#: The first line of a table is shorter.
HEADER_BYTES = 64 << 10


def read_records(source: Source, name: str, separators: Sequence[str] = SEPARATORS) -> Csv:
    """The cells of a CSV, JSON or Parquet file as texts; UserError if it is none, or too long.

    Lists in cells are texts with `SEVERAL` between their values.
    """
    where, member = source.where(name), source.member(name)
    try:
        if name.lower().endswith(parquet.ENDING):
            most = Budget(member.length()).total_bytes
            with Window(member).buffered() as file:
                return parquet.records_of(file, archive_stem(name), most)
        content = member.read(TABLE_BYTES)
    except (ValueError, OSError, MemoryError, pa.ArrowException) as error:
        raise UserError(f"{where}: not a readable table ({first_line(error)})") from error
    lines = name.lower().endswith(JSON_LINES)
    if lines or name.lower().endswith(".json"):
        table = _json_records(where, parse_json(where, content, lines))
    else:
        table = parse_csv(where, content, separators=separators, fewest=1)
    if len(table.rows) > MAX_ROWS:
        raise UserError(f"{where}: not a readable table (more than {MAX_ROWS} rows)")
    rows = [[_plain(cell) for cell in row] for row in table.rows]
    return Csv(table.names, rows, table.first_row)


def _plain(cell: str) -> str:
    """A cell without blanks around it, and without characters that have no width."""
    return (cell if cell.isascii() else cell.translate(NO_WIDTH)).strip()


def _json_records(where: str, content: Any) -> Csv:
    """A table in JSON; also a mapping of images to classes, and COCO's annotations."""
    first = content[0] if isinstance(content, list) and content else None
    if isinstance(first, dict) and {"data", "annotations"} <= first.keys():
        raise UserError(f"{where}: Label Studio's full export: export JSON-MIN or CSV instead")
    if isinstance(content, dict) and {"images", "annotations"} <= content.keys():
        content = _annotated(where, content)
    elif isinstance(content, dict) and content:
        scalars = [not isinstance(value, dict | list) for value in content.values()]
        if all(scalars):
            content = [{"image": key, "label": value} for key, value in content.items()]
    names, columns = json_table(where, content, key="image")
    if len(names) < 2:
        raise UserError(f"{where}: {len(names)} columns; needed are at least two")
    rows = zip(*([as_text(cell) for cell in column] for column in columns), strict=True)
    return Csv(names, list(map(list, rows)), 1)


def _annotated(where: str, content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what COCO's annotations say of each image, and their categories in `category`."""
    found: dict[Any, dict[str, None]] = defaultdict(dict)
    try:
        names = {row["id"]: str(row["name"]) for row in content["categories"]}
        for row in content["annotations"]:
            found[row["image_id"]][names[row["category_id"]]] = None
        return [
            {**row, "file_name": str(row["file_name"]), "category": [*found[row["id"]]]}
            for row in content["images"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{where}: not annotations in COCO's format ({error})") from error


def as_text(cell: Any) -> str:
    """A value of a JSON file as a table of texts has it."""
    if isinstance(cell, list):
        return SEVERAL.join(map(as_text, cell))
    return "" if cell is None else str(int(cell) if isinstance(cell, bool) else cell)


def read_table(source: Source, name: str, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """The rows of a CSV file, reduced to `columns`; UserError if damaged."""
    table, where = read_records(source, name), source.where(name)
    missing = [column for column in columns if column not in table.names]
    if missing:
        raise UserError(f"{where}: no column {missing[0]!r}; needed: {', '.join(columns)}")
    if not table.rows:
        raise UserError(f"{where}: the table has no rows")
    places = [(column, table.names.index(column)) for column in columns]
    return [{column: row[place] for column, place in places} for row in table.rows]


def columns_of(source: Source, name: str) -> list[str]:
    """The column names of a CSV file; none if it is not one."""
    member = source.member(name)
    try:
        start = Member(member.file, member.offset, min(HEADER_BYTES, member.length()))
        return parse_csv(name, start.read(HEADER_BYTES).partition(b"\n")[0]).names
    except (OSError, UserError) as error:
        if keeps_from_reading(error):
            raise
        return []


def checked_id(where: str, identifier: str) -> str:
    """Return an image id of the table `where`; UserError if it could name another folder."""
    if not identifier or identifier in (".", "..") or any(mark in identifier for mark in "/\\\0"):
        raise UserError(f"{where}: {identifier!r} is not an image id")
    return identifier


def read_json(source: Source, name: str) -> Any:
    """Return what the file `name`, a path from the source, holds; UserError if it is not whole
    JSON.
    """
    try:
        return json.loads(source.member(name).read(JSON_BYTES))
    except (ValueError, RecursionError) as error:
        told = f"not a readable JSON file ({first_line(error)})"
        raise UserError(f"{source.where(name)}: {told}") from error


def read_texts(source: Source, name: str) -> dict[str, str]:
    """The JSON object of texts that the file `name` holds; UserError if it is not one."""
    content = read_json(source, name)
    if not isinstance(content, dict) or not all(isinstance(v, str) for v in content.values()):
        raise UserError(f"{source.where(name)}: not an object of texts")
    return content


def read_npy(member: Member) -> NDArray[Any]:
    """The array of an .npy file, which stays in it; ValueError for one of objects.

    NumPy's parser of headers raises nearly anything.
    """
    with Window(member).buffered() as file:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        if version not in read:
            raise ValueError(f"version {version}")
        shape, fortran, dtype = read[version](file)
        start = file.tell()
    size = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or size > member.length() - start:
        raise ValueError("it has objects" if dtype.hasobject else "it is not whole")
    if size == 0:
        raise ValueError("it is empty")
    order: Literal["F", "C"] = "F" if fortran else "C"
    held: NDArray[Any] = np.memmap(
        member.file, dtype=dtype, mode="r", offset=member.offset + start, shape=shape, order=order
    )
    return held


class _Inert:
    """Stands for `numpy.ndarray` and `numpy.dtype`: keeps its state, does nothing.

    The real NumPy functions in a pickle let a tiny file allocate gigabytes.
    """

    state: object = None

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments

    def __setstate__(self, state: object) -> None:
        self.state = state


#: All that a pickle may ask for; it gets inert stand-ins.
_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}


class _Unpickler(pickle._Unpickler):
    """In pure Python: the compiled one grows its memo table to any index that the file names."""

    #: Without the one instruction that allocates what the file merely claims to hold.
    dispatch: ClassVar[dict[int, Any]] = {
        code: run
        for code, run in pickle._Unpickler.dispatch.items()
        if code != pickle.BYTEARRAY8[0]
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"asks for {module}.{name}")
        return _Inert


def load_dictionary(content: bytes) -> dict[bytes, Any]:
    """The dictionary with keys of bytes that a pickle holds; ValueError if it is anything else."""
    try:
        loaded = _Unpickler(io.BytesIO(content), encoding="bytes").load()
    except Exception as error:  # a hostile pickle can raise nearly anything
        raise ValueError(str(error)) from error
    if not isinstance(loaded, dict):
        raise ValueError("no dictionary")
    return loaded


def byte_rows(value: object, columns: int) -> NDArray[np.uint8]:
    """The (N, columns) uint8 array that a pickle describes; ValueError if it describes another."""
    state = value.state if isinstance(value, _Inert) else None
    if isinstance(state, tuple) and len(state) == 5:
        _, shape, kind, fortran, data = state
        described = (
            isinstance(kind, _Inert) and kind.arguments[:1] in ((b"u1",), ("u1",))
        ) and not fortran
        if described and isinstance(data, bytes) and len(data) % columns == 0 and data:
            rows = np.frombuffer(data, np.uint8).reshape(-1, columns)
            if rows.shape == shape:
                return rows
    raise ValueError(f"the pixels are not a whole (N, {columns}) array of bytes")
