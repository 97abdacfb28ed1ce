"""Tables of errors in files, in percent or as accuracies or fractions: read as `import` does."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.types import is_numeric_dtype

from anynet_study.analysis.apr.population import stages_of
from anynet_study.core.errors import UserError
from anynet_study.core.sheets import Sheet, read_sheet, sheet_of
from anynet_study.core.sql import rows_where
from anynet_study.store import ImportOptions, TableAccount, errors_of_table, stage_columns

#: By dataset: what is known of it, by column.
Known = dict[str, dict[str, Any]]

#: What messages call a table that is in no file, and the column of its index.
IN_MEMORY, INDEX = Path("table"), "architecture"


def read_table(path: Path, told: ImportOptions, known: Known) -> dict[str, Any]:
    """The "errors" in percent of a table in a file, and the "architectures" where it describes any.

    And "replicates", where it tells any. `told` is what the user says of the table, `known` which
    columns are datasets, with their "classes" where these are known. "read_as" says in words what
    values were taken for, "account" what each column was. Raises UserError, beginning with the
    path, for what is no table of errors.
    """
    found, account = _understood(read_sheet(path, told.separator, told.encoding), told, known)
    quantity = account.quantity
    words = "errors (%)" if quantity == "error" else "accuracies, shown as errors (%)"
    return found | {"read_as": f"read as {words}", "account": account.lines()}


def described(table: pd.DataFrame, told: ImportOptions, known: Known) -> dict[str, Any]:
    """Read a table in memory, whose index names the architectures and is kept.

    A table that only counts its rows and begins with a column of texts is read as a file would be.
    """
    counted = isinstance(table.index, pd.RangeIndex) and table.index.name is None
    as_file = (
        counted and table.shape[1] > 0 and not is_numeric_dtype(table.iloc[:, 0].infer_objects())
    )
    whole = table if as_file else table.reset_index(names=INDEX, allow_duplicates=True)
    cells = [
        [None if pd.isna(cell) else cell for cell in column.astype(object).tolist()]
        for _, column in whole.items()
    ]
    sheet = sheet_of(IN_MEMORY, [*map(str, whole.columns)], cells)
    found, account = _understood(sheet, told, known)
    lines = {"account": account.lines()}
    if as_file or told.transpose or told.last or told.ignore_rows:
        return found | lines
    named = dict(zip(found["errors"].index, table.index, strict=True))
    found["errors"].index = table.index.rename(INDEX)
    for name in found.keys() - {"errors"}:
        found[name][INDEX] = found[name][INDEX].map(named)
    return found | lines


def _understood(
    sheet: Sheet, told: ImportOptions, known: Known
) -> tuple[dict[str, pd.DataFrame], TableAccount]:
    tables = errors_of_table(sheet, replace(told, assumed="error"), known)
    if stages := stage_columns(tables.models.columns):
        stages_of(stages)
    found = {"errors": tables.errors}
    if tables.models.shape[1] > 1:
        found["architectures"] = tables.models
    if tables.replicates is not None:
        found["replicates"] = tables.replicates
    return found, tables.account


def part_of(known: dict[str, Any], where: str) -> dict[str, Any]:
    """The tables of `described`, of the errors that a condition keeps (SQL: `core.sql`).

    Its columns are architecture, dataset, error and those that describe the architecture. Raises
    UserError for what is no condition, and where it keeps no error.
    """
    errors = known["errors"]
    names = errors.set_axis(errors.columns.astype(str), axis="columns").rename_axis("architecture")
    rows = names.reset_index().melt("architecture", var_name="dataset", value_name="error")
    if "architectures" in known:
        rows = rows.merge(known["architectures"], "left", on="architecture")
    kept = np.zeros(errors.shape, bool)
    kept.T.flat[rows_where(pa.Table.from_pandas(rows, preserve_index=False), where)] = True
    if not kept.any():
        raise UserError(f"no error is kept by the condition {where}")
    part = errors.where(kept).loc[kept.any(axis=1), kept.any(axis=0)]
    found = known | {"errors": part}
    if "replicates" in known:
        cells = part.stack().index
        runs = known["replicates"]
        mine = pd.MultiIndex.from_frame(runs[["architecture", "dataset"]]).isin(cells)
        found["replicates"] = runs[mine]
    if "architectures" in known:
        about = known["architectures"]
        found["architectures"] = about[about["architecture"].isin(part.index)]
    return found
