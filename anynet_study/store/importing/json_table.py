"""Tables as JSON: records, columns, or a mapping of models; and records a line."""

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from anynet_study.errors import UserError
from anynet_study.store.importing.blocks import BLOCK_ROWS, Block, TableFile, clean

LEGAL = (
    "a list of records, a mapping of column names to lists, or a mapping of models to mappings "
    "of datasets to values"
)


def load(path: Path) -> Any:
    """What a JSON file holds. Raises UserError for what is none, and for keys given twice."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            return json.load(file, object_pairs_hook=_once)
    except RecursionError:
        raise UserError(f"{path}: not readable JSON (nested too deeply)") from None
    except ValueError as error:
        raise UserError(f"{path}: not readable JSON ({error})") from None


def read_json(path: Path) -> TableFile:
    """Open a table in a JSON file, which is read as a whole: one of LEGAL."""
    content = load(path)
    if isinstance(content, list):
        return _of_records(path, content)
    if isinstance(content, Mapping) and content:
        inner = list(content.values())
        if all(isinstance(one, Mapping) for one in inner):
            return _of_records(path, [{"model": name, **row} for name, row in content.items()])
        if all(isinstance(one, list) for one in inner) and len(set(map(len, inner))) == 1:
            block = Block(1, {name: _column(cells) for name, cells in content.items()})
            return TableFile(list(content), iter([block]))
    raise UserError(f"{path}: not a table; legal: {LEGAL}")


def read_json_lines(path: Path) -> TableFile:
    """Open a file of one JSON record a line; all have the keys of the first ones."""
    records = _lines(path)
    first = list(islice(records, BLOCK_ROWS))
    columns = _columns(path, first)
    return TableFile(columns, _line_blocks(path, columns, first, records))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} twice")
    return found


def _of_records(path: Path, records: list[Any]) -> TableFile:
    columns = _columns(path, records)
    return TableFile(columns, iter([_block(1, columns, records)]))


def _columns(path: Path, records: list[Any]) -> list[str]:
    for number, record in enumerate(records, 1):
        if not isinstance(record, Mapping):
            raise UserError(f"{path}: record {number} is no mapping of column names to values")
    return list(dict.fromkeys(name for record in records for name in record))


def _block(first: int, columns: list[str], records: list[Any]) -> Block:
    cells = {name: _column([record.get(name) for record in records]) for name in columns}
    return Block(first, cells)


def _column(cells: list[Any]) -> pa.Array:
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


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(_decoded(path, file), 1):
            if line.strip():
                try:
                    yield json.loads(line, object_pairs_hook=_once)
                except (ValueError, RecursionError) as error:
                    raise UserError(f"{path}: line {number} is not JSON ({error})") from None


def _decoded(path: Path, lines: Iterator[str]) -> Iterator[str]:
    try:
        yield from lines
    except UnicodeError as error:
        raise UserError(f"{path}: not text in UTF-8 ({error})") from None


def _line_blocks(
    path: Path, columns: list[str], records: list[Any], rest: Iterator[Any]
) -> Iterator[Block]:
    first = 1
    while records:
        if more := set(_columns(path, records)) - set(columns):
            raise UserError(f"{path}: the first records have no {min(more)!r}; later ones do")
        yield _block(first, columns, records)
        first += len(records)
        records = list(islice(rest, BLOCK_ROWS))
