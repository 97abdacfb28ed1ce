"""Populations as Parquet files: the table, with how it was drawn as metadata of its schema."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from anynet_study.design_space.populations.chosen import Chosen, from_columns
from anynet_study.design_space.populations.table import (
    FORMAT,
    METADATA_KEY,
    schema_of,
    stages_of,
    upgraded,
)
from anynet_study.errors import UserError
from anynet_study.files import replacing


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write atomically; equal populations give equal bytes."""
    with replacing(path) as temporary:
        pq.write_table(table.combine_chunks(), temporary)


def read_parquet(path: Path) -> pa.Table:
    """Read any Parquet file. Raises UserError for a missing or another one."""
    try:
        with path.open("rb") as file:
            # Threads would gain nothing, and one that starts while a command ends in an error
            # aborts the process.
            return pq.ParquetFile(file).read(use_threads=False)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such population file") from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path}: not a population's Parquet file ({reason})") from None


def is_foreign(table: pa.Table) -> bool:
    """Whether the table has depths and widths, but was not written as a population."""
    return METADATA_KEY not in (table.schema.metadata or {}) and "d1" in table.column_names


def foreign(table: pa.Table, path: Path) -> Chosen:
    """The networks of such a table: see `chosen.from_columns`."""
    if not table.num_rows:
        raise UserError(f"{path}: there is no architecture in it")
    return from_columns(table.to_pydict(), str(path), lambda row: f"{path}: row {row + 1}")


def checked(table: pa.Table, path: Path) -> pa.Table:
    """Return the table in the present format. Raises UserError for what is no population."""
    if METADATA_KEY not in (table.schema.metadata or {}):
        raise UserError(f"{path}: a Parquet file, but not a population")
    version = json.loads(table.schema.metadata[METADATA_KEY]).get("format")
    if version == 1 and "flops" in table.column_names:
        table = upgraded(table)
    elif version != FORMAT:
        raise UserError(f"{path}: format {version}, but this version reads formats 1 to {FORMAT}")
    if not table.schema.equals(schema_of(stages_of(table), "weight" in table.column_names)):
        raise UserError(f"{path}: a Parquet file, but not a population")
    return table
