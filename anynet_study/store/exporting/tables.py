"""A store's tables as Parquet: the same bytes from the same rows."""

from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from anynet_study.design_space.population import Population
from anynet_study.design_space.population_table import METADATA_KEY, schema_of, stages_of
from anynet_study.metrics import CURVES
from anynet_study.store.hdf5 import get_text
from anynet_study.store.results import ResultStore
from anynet_study.store.tables import CURVE_KEYS, EVALUATIONS_SHOWN, curves_table

#: Runs whose curves are in memory at a time, and make a row group of the file.
CURVES_AT_ONCE = 1 << 14
EVALUATIONS = (*EVALUATIONS_SHOWN, "identity", "started", "host")


def write_tables(store: ResultStore, folder: Path) -> dict[str, tuple[pa.Schema, int]]:
    """Write the tables, evaluations where there are any; schema and rows of each file."""
    written: dict[str, tuple[pa.Schema, int]] = {}
    for name in ("runs", "errors", "architectures", "datasets"):
        table = plain(store.table(name))
        pq.write_table(table, folder / f"{name}.parquet")
        written[f"{name}.parquet"] = table.schema, len(table)
    evaluated = plain(store.table("evaluations", EVALUATIONS))
    if len(evaluated):
        pq.write_table(evaluated, folder / "evaluations.parquet")
        written["evaluations.parquet"] = evaluated.schema, len(evaluated)
    with store.file.open() as file:
        written["curves.parquet"] = _write_curves(file, folder / "curves.parquet")
    return written


def plain(table: pa.Table) -> pa.Table:
    """Coded text as text, which every reader of Parquet knows; no metadata."""
    columns = {
        name: column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pa.table(columns)


def population_of(store: ResultStore) -> Population | None:
    """The population that was drawn for a study; None where its columns are not all there."""
    with store.file.open() as file:
        sampling = get_text(file["architectures"], "sampling", "")
    table = store.table("architectures")
    schema = schema_of(stages_of(table), "weight" in table.column_names)
    if not sampling or schema.names != table.column_names:
        return None
    metadata = {METADATA_KEY: sampling.encode()}
    return Population(table.cast(schema).replace_schema_metadata(metadata))


def _write_curves(file: h5py.File, path: Path) -> tuple[pa.Schema, int]:
    """One row an epoch, a block of runs at a time."""
    columns = [*CURVE_KEYS, "epoch", *CURVES]
    runs, rows = len(file["runs/run_id"]), 0
    nobody = plain(curves_table(file, columns, {}, np.zeros(runs, bool)))
    with pq.ParquetWriter(path, nobody.schema) as writer:
        for first in range(0, runs, CURVES_AT_ONCE):
            among = np.zeros(runs, bool)
            among[first : first + CURVES_AT_ONCE] = True
            block = plain(curves_table(file, columns, {}, among))
            writer.write_table(block)
            rows += len(block)
    return nobody.schema, rows
