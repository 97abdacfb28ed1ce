"""Tables of errors in files, in percent or as accuracies or fractions: read as `import` does."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from anynet_study.apr.population import stages_of
from anynet_study.errors import UserError
from anynet_study.sheets import Sheet, read_sheet, sheet_of
from anynet_study.sql import rows_where
from anynet_study.store import ImportOptions, errors_of_table, stage_columns

#: What messages call a table that is in no file, and the column of its index.
IN_MEMORY, INDEX = Path("table"), "architecture"
Declared = dict[str, dict[str, Any]]


def read_table(
    path: Path, accuracy: bool | None, fraction: bool | None, declared: Declared
) -> dict[str, Any]:
    """The "errors" in percent of a table in a file, and the "architectures" where it describes any.

    "read_as" says in words what its values were taken for: `accuracy` says it, or the names of the
    columns, or they are errors, if no dataset's median is high. `declared` are columns that are
    said to be datasets, with their "classes" where these are known. Raises UserError, beginning
    with the path, for what is no table of errors.
    """
    found, quantity = _understood(read_sheet(path), accuracy, fraction, declared)
    told = "errors (%)" if quantity == "error" else "accuracies, shown as errors (%)"
    return found | {"read_as": f"read as {told}"}


def described(
    table: pd.DataFrame, accuracy: bool | None, fraction: bool | None, declared: Declared
) -> dict[str, pd.DataFrame]:
    """The same of a table in memory, whose index names the architectures and is kept."""
    columns = [table.index.astype(object), *(table[name].astype(object) for name in table.columns)]
    cells = [
        [None if pd.isna(cell) else cell for cell in column.to_numpy(object).tolist()]
        for column in columns
    ]
    sheet = sheet_of(IN_MEMORY, [INDEX, *map(str, table.columns)], cells)
    found, _ = _understood(sheet, bool(accuracy), fraction, declared)
    found["errors"].index = table.index.rename(INDEX)
    if "architectures" in found:
        found["architectures"][INDEX] = table.index
    return found


def _understood(
    sheet: Sheet, accuracy: bool | None, fraction: bool | None, declared: Declared
) -> tuple[dict[str, pd.DataFrame], str]:
    options = ImportOptions(
        quantity=None if accuracy is None else "accuracy" if accuracy else "error",
        assumed="error",
        unit=None if fraction is None else "fraction" if fraction else "percent",
    )
    errors, models, quantity = errors_of_table(sheet, options, declared)
    if stages := stage_columns(models.columns):
        stages_of(stages)
    about = {"architectures": models} if models.shape[1] > 1 else {}
    return {"errors": errors, **about}, quantity


def part_of(known: dict[str, Any], where: str) -> dict[str, Any]:
    """The tables of `described`, of the errors that a condition keeps (SQL: `anynet_study.sql`).

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
    if "architectures" in known:
        about = known["architectures"]
        found["architectures"] = about[about["architecture"].isin(part.index)]
    return found
