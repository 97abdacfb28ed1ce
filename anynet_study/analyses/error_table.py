"""Tables of errors in files, in percent or as accuracies or fractions."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from anynet_study.apr import check_errors, in_percent
from anynet_study.apr.population import stages_of
from anynet_study.errors import UserError
from anynet_study.sql import rows_where
from anynet_study.store import read_sheet, stage_columns

#: Columns of a table that describe the architecture, and no errors on a dataset.
NUMBERS = ("stem_width", "se_ratio", "weight", "flops", "parameters", "activations")
TEXTS = ("stem", "block")


def read_table(path: Path, accuracy: bool, fraction: bool | None) -> dict[str, pd.DataFrame]:
    """What `described` says of a CSV or Parquet table.

    Raises UserError, beginning with the path, for what is no table of errors.
    """
    try:
        return described(_table_of(path), accuracy, fraction)
    except UserError as error:
        reason = str(error).removeprefix(f"{path}: ").removeprefix("errors: ")
        raise UserError(f"{path}: {reason}") from None


def described(
    table: pd.DataFrame, accuracy: bool, fraction: bool | None
) -> dict[str, pd.DataFrame]:
    """The "errors" in percent, and the "architectures" where the table says anything of them."""
    about = _described(list(table.columns))
    found = {"architectures": _population(table[about])} if about else {}
    errors = check_errors(table.drop(columns=about), 0)
    return found | {"errors": in_percent(errors, accuracy, fraction)}


def part_of(known: dict[str, pd.DataFrame], where: str) -> dict[str, pd.DataFrame]:
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
    found = {"errors": part}
    if "architectures" in known:
        about = known["architectures"]
        found["architectures"] = about[about["architecture"].isin(part.index)]
    return found


def _described(columns: list[str]) -> list[str]:
    """Which columns describe the architecture: numbers first, then texts."""
    known = {*NUMBERS, *stage_columns(columns)}
    numbers = [name for name in columns if name in known]
    return numbers + [name for name in columns if name in TEXTS]


def _population(described: pd.DataFrame) -> pd.DataFrame:
    """Raises UserError for a cell that is no number where it should be, and stages with gaps."""
    texts = [name for name in described.columns if name in TEXTS]
    numbers = described.drop(columns=texts)
    if stage_columns(numbers.columns):
        stages_of(numbers.columns)
    checked = check_errors(numbers, fewest=0) if len(numbers.columns) else numbers
    return checked.join(described[texts]).reset_index()


def _table_of(path: Path) -> pd.DataFrame:
    """The cells by model and column: a number, a text, or None."""
    sheet = read_sheet(path)
    (first, *others) = sheet.columns
    if not others:
        raise UserError(f"{path}: needed: a column of models, and one of errors for each dataset")
    index = pd.Index(sheet.names(first).astype(str), name="architecture", dtype=object)
    return pd.DataFrame({name: sheet.columns[name] for name in others}, index, dtype=object)
