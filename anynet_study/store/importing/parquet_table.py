"""Tables as Parquet."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from anynet_study.errors import UserError
from anynet_study.store.importing.blocks import BLOCK_ROWS, Block, TableFile, clean

#: How pandas calls the column of an index that has no name.
UNNAMED_INDEX = "__index_level_0__"


def read_parquet(path: Path) -> TableFile:
    """Open a Parquet file; an index that pandas wrote comes first, as it did in pandas."""
    try:
        file = pq.ParquetFile(path)
        stored = list(file.schema_arrow.names)
    except pa.ArrowException as error:
        raise UserError(f"{path}: not a readable Parquet table ({_line(error)})") from None
    index = _index(file.schema_arrow)
    order = [name for name in stored if name in index] + [n for n in stored if n not in index]
    columns = ["" if name == UNNAMED_INDEX else name for name in order]
    return TableFile(columns, _blocks(path, file, order, columns))


def _index(schema: pa.Schema) -> list[str]:
    described = schema.pandas_metadata or {}
    return [name for name in described.get("index_columns", []) if isinstance(name, str)]


def _blocks(
    path: Path, file: pq.ParquetFile, stored: list[str], columns: list[str]
) -> Iterator[Block]:
    first = 1
    try:
        with file:
            for batch in file.iter_batches(BLOCK_ROWS):
                cells = [_cells(path, name, batch[name]) for name in stored]
                yield Block(first, dict(zip(columns, cells, strict=True)))
                first += batch.num_rows
    except pa.ArrowException as error:
        raise UserError(f"{path}: not a readable Parquet table ({_line(error)})") from None


def _cells(path: Path, name: str, column: pa.Array) -> pa.Array:
    try:
        return clean(column)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise UserError(
            f"{path}: column {name}: {column.type} is neither text nor numbers"
        ) from None


def _line(error: Exception) -> str:
    return str(error).splitlines()[0]
