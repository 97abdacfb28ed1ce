"""Tables of errors in files, in percent or as accuracies or fractions."""

import re
from pathlib import Path

import pandas as pd

from anynet_study.apr import check_errors, in_percent
from anynet_study.apr.population import stages_of
from anynet_study.errors import UserError
from anynet_study.store import read_sheet

#: Columns of a table that describe the architecture, and no errors on a dataset.
NUMBERS = ("stem_width", "se_ratio", "weight", "flops", "parameters", "activations")
TEXTS = ("stem", "block")
#: Where d1 and w1 are there, so are columns of stages: depth, width, bottleneck ratio, group
#: width and stride. One such name alone may well be a dataset's.
STAGES_TOLD_BY = {"d1", "w1"}
STAGE = re.compile(r"[dwbgs][0-9]{1,2}")


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


def _described(columns: list[str]) -> list[str]:
    """Which columns describe the architecture: numbers first, then texts."""
    staged = set(columns) >= STAGES_TOLD_BY
    numbers = [name for name in columns if name in NUMBERS or (staged and STAGE.fullmatch(name))]
    return numbers + [name for name in columns if name in TEXTS]


def _population(described: pd.DataFrame) -> pd.DataFrame:
    """Raises UserError for a cell that is no number where it should be, and stages with gaps."""
    texts = [name for name in described.columns if name in TEXTS]
    numbers = described.drop(columns=texts)
    if set(numbers.columns) >= STAGES_TOLD_BY:
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
