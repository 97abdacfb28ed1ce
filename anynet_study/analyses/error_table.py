"""Tables of errors in files: CSV and Parquet, in percent or as accuracies or fractions."""

import csv
import re
from pathlib import Path

import pandas as pd
from pyarrow.lib import ArrowException

from anynet_study.apr import check_errors, in_percent
from anynet_study.apr.population import stages_of
from anynet_study.errors import UserError

#: Columns of a table that describe the architecture, and no errors on a dataset.
NUMBERS = ("stem_width", "se_ratio", "weight", "flops", "parameters", "activations")
TEXTS = ("stem", "block")
#: Where d1 and w1 are there, so are columns of stages: depth, width, bottleneck ratio, group
#: width and stride. One such name alone may well be a dataset's.
STAGES_TOLD_BY = {"d1", "w1"}
STAGE = re.compile(r"[dwbgs][0-9]{1,2}")
#: What a missing cell of a CSV file may say, in lower case.
MISSING = ("", "na", "n/a", "nan", "null", "none")


def read_table(path: Path, accuracy: bool, fraction: bool | None) -> dict[str, pd.DataFrame]:
    """What `described` says of a CSV or Parquet table.

    Raises UserError, beginning with the path, for what is no table of errors.
    """
    table = _read_csv(path) if path.suffix.lower() == ".csv" else _read_parquet(path)
    try:
        return described(table, accuracy, fraction)
    except UserError as error:
        raise UserError(f"{path}: {str(error).removeprefix('errors: ')}") from None


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


def _read_csv(path: Path) -> pd.DataFrame:
    """Every cell as text, or None: pandas' own reader shifts or drops cells of uneven rows."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header, *rows = [row for row in csv.reader(file, strict=True) if row] or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: not a readable CSV table ({error})") from None
    if len(header) < 2:
        raise UserError(
            f"{path}: {len(header)} columns; needed: a header with the architecture and at least "
            "one dataset, separated by commas"
        )
    for row in rows:
        if len(row) != len(header):
            raise UserError(
                f"{path}: row {row[0]!r} has {len(row)} cells, the header has {len(header)}"
            )
        if not row[0].strip():
            raise UserError(f"{path}: a row has no architecture name in its first cell")
    cells = [[None if cell.strip().lower() in MISSING else cell for cell in row] for row in rows]
    index = pd.Index([row[0].strip() for row in rows], name="architecture", dtype=object)
    columns = [name.strip() for name in header[1:]]
    return pd.DataFrame([row[1:] for row in cells], index=index, columns=columns, dtype=object)


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_parquet(path)
    except ArrowException as error:
        raise UserError(f"{path}: not a readable Parquet table ({error})") from None
    if isinstance(table.index, pd.RangeIndex) and len(table.columns):
        table = table.set_index(table.columns[0])
    return table.set_axis(table.columns.astype(str), axis=1)
