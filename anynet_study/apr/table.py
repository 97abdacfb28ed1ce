"""Error tables: what may be analysed, and what of it has to be left out.

An error table has one row an architecture (its index) and one column a dataset; a cell is the
error in percent, NaN where the run is missing.
"""

import numpy as np
import pandas as pd

from anynet_study.apr.pairs import FEWEST
from anynet_study.apr.ranks import Floats
from anynet_study.errors import UserError


def check_errors(errors: pd.DataFrame, fewest: int = FEWEST) -> pd.DataFrame:
    """The table as float64 with its index named "architecture".

    Raises UserError for repeated architectures or datasets, cells that are no numbers, infinite
    errors, and fewer than `fewest` architectures. Ranks do not care about units, so that any
    finite numbers pass; `in_percent` checks what a file claims to be percent.
    """
    _refuse_repeats(errors.index, "architecture")
    _refuse_repeats(errors.columns, "dataset")
    if len(errors) < fewest:
        raise UserError(f"errors: {len(errors)} architectures; at least {fewest} are needed")
    if not len(errors.columns):
        raise UserError("errors: the table has no dataset column")
    table = pd.DataFrame({name: _numbers(errors[name]) for name in errors.columns}, errors.index)
    return table.rename_axis(index="architecture")


def in_percent(
    errors: pd.DataFrame, accuracy: bool = False, fraction: bool = False
) -> pd.DataFrame:
    """Errors in percent from a table that may hold accuracies, or fractions, or both.

    Raises UserError for values outside 0 to 100, and for a table without `fraction` in which no
    value exceeds 1: as percent that would mean that all architectures are all but perfect.
    """
    values = errors.to_numpy(dtype=float)
    present = values[~np.isnan(values)]
    top = 1 if fraction else 100
    if present.size and not fraction and present.max() <= 1:
        raise UserError(
            f"errors: no value exceeds 1 (the largest is {present.max():g}), so these look like "
            "fractions, not percent; pass --fraction (fraction=True), or multiply by 100"
        )
    if ((present < 0) | (present > top)).any():
        worst = present.min() if present.min() < 0 else present.max()
        raise UserError(f"errors: {worst:g} is outside 0 to {top}")
    percent = errors * (100 / top)
    return 100 - percent if accuracy else percent


def exclusions(errors: pd.DataFrame) -> pd.DataFrame:
    """What correlations leave out: one row for each gap, DataFrame[dataset, reason, architectures].

    A constant dataset ranks nothing, so that its correlations are NaN; missing cells leave an
    architecture out of that dataset's pairs.
    """
    rows = []
    for dataset, column in check_errors(errors, fewest=0).items():
        present = column.dropna()
        missing = len(column) - len(present)
        if len(present) and present.nunique() == 1:
            reason = f"constant: every error is {present.iloc[0]:g}, so it ranks nothing"
            rows.append((dataset, reason, len(present)))
        if missing:
            reason = "no value at all" if present.empty else "missing cells"
            rows.append((dataset, reason, missing))
    return pd.DataFrame(rows, columns=["dataset", "reason", "architectures"])


def _refuse_repeats(labels: pd.Index, what: str) -> None:
    repeated = labels[labels.duplicated()].unique()
    if len(repeated):
        shown = ", ".join(map(str, repeated[:3])) + (", ..." if len(repeated) > 3 else "")
        raise UserError(f"errors: {what} {shown} is there more than once")


def _numbers(column: pd.Series) -> Floats:
    numbers: Floats = pd.to_numeric(column, errors="coerce").to_numpy(
        dtype=np.float64, na_value=np.nan
    )
    bad = np.flatnonzero(np.isnan(numbers) & column.notna().to_numpy())
    if len(bad):
        cell = column.iloc[bad[0]]
        raise UserError(
            f"errors: {cell!r} is not a number (dataset {column.name}, "
            f"architecture {column.index[bad[0]]}); leave missing cells empty"
        )
    if np.isinf(numbers).any():
        where = column.index[np.isinf(numbers)][0]
        raise UserError(
            f"errors: infinite error (dataset {column.name}, architecture {where}); "
            "a diverged run has the error of chance, a missing one an empty cell"
        )
    return numbers
