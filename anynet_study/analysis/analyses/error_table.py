"""Tables of errors in files, in percent or as accuracies or fractions: read as `import` does."""

from collections.abc import Mapping
from dataclasses import dataclass, field
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
from anynet_study.store import ImportOptions, errors_of_table, stage_columns

#: What messages call a table that is in no file, and the column of its index.
IN_MEMORY, INDEX = Path("table"), "architecture"


@dataclass(frozen=True)
class Declared:
    """What the user says of a table."""

    #: Whether its values are accuracies (False: errors), or 0 to 1 (False: to 100).
    accuracy: bool | None = None
    fraction: bool | None = None
    #: What its columns are, as --map of `import` has it.
    columns: Mapping[str, str] = field(default_factory=dict)
    #: Columns that are datasets, with their "classes" where these are known.
    datasets: Mapping[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def nothing(self) -> bool:
        """Whether nothing is said of how a table is read."""
        return self.accuracy is None and self.fraction is None and not self.columns


def read_table(path: Path, declared: Declared) -> dict[str, Any]:
    """The "errors" in percent of a table in a file, and the "architectures" where it describes any.

    And "replicates", where it tells any; "read_as" says in words what its values were taken for:
    as declared, or as the names of the columns say, or they are errors, if no dataset's median is
    high. Raises UserError, beginning with the path, for what is no table of errors.
    """
    found, quantity = _understood(read_sheet(path), declared)
    told = "errors (%)" if quantity == "error" else "accuracies, shown as errors (%)"
    return found | {"read_as": f"read as {told}"}


def described(table: pd.DataFrame, declared: Declared) -> dict[str, pd.DataFrame]:
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
    found, _ = _understood(sheet_of(IN_MEMORY, [*map(str, whole.columns)], cells), declared)
    if as_file:
        return found
    named = dict(zip(found["errors"].index, table.index, strict=True))
    found["errors"].index = table.index.rename(INDEX)
    for name in found.keys() - {"errors"}:
        found[name][INDEX] = found[name][INDEX].map(named)
    return found


def _understood(sheet: Sheet, declared: Declared) -> tuple[dict[str, pd.DataFrame], str]:
    accuracy, fraction = declared.accuracy, declared.fraction
    options = ImportOptions(
        columns=declared.columns,
        quantity=None if accuracy is None else "accuracy" if accuracy else "error",
        assumed="error",
        unit=None if fraction is None else "fraction" if fraction else "percent",
    )
    tables = errors_of_table(sheet, options, dict(declared.datasets))
    if stages := stage_columns(tables.models.columns):
        stages_of(stages)
    found = {"errors": tables.errors}
    if tables.models.shape[1] > 1:
        found["architectures"] = tables.models
    if tables.replicates is not None:
        found["replicates"] = tables.replicates
    return found, tables.quantity


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
