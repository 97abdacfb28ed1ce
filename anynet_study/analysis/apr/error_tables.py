"""Tables of errors and of scores: what may be analysed, and what has to be left out.

An error table has one row per architecture (its index) and one column per dataset; a cell is the
error in percent, NaN where the run is missing. Scores are the same with more being better:
accuracies, kappas, F1 and so on; an accuracy in percent is 100 less the error. Long tables have one
row per run or per epoch.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from anynet_study.analysis.apr.options import Floats, with_attrs
from anynet_study.core.errors import DoesNotApplyError, UserError, counted

#: One value per architecture; two Series are matched by their index.
Values: TypeAlias = pd.Series | ArrayLike
#: Fewest architectures of which a correlation is given.
FEWEST = 4


def check_errors(errors: pd.DataFrame, fewest: int = FEWEST, what: str = "errors") -> pd.DataFrame:
    """The table as float64 with its index named "architecture".

    Raises UserError, beginning with `what`, for what is no DataFrame, repeated architectures or
    datasets, cells that are no numbers, infinite errors, and fewer than `fewest` architectures.
    Ranks do not care about units, so that any finite numbers pass.
    """
    check_frame(errors, what)
    for labels, kind in ((errors.index, "architecture"), (errors.columns, "dataset")):
        repeated = labels[labels.duplicated()].unique()
        if len(repeated):
            shown = ", ".join(map(str, repeated[:3])) + (", ..." if len(repeated) > 3 else "")
            raise DoesNotApplyError(f"{what}: {kind} {shown} is there more than once")
    if len(errors) < fewest:
        raise DoesNotApplyError(
            f"{what}: {counted(len(errors), 'architecture')}; at least {fewest} are needed"
        )
    if not len(errors.columns):
        raise DoesNotApplyError(f"{what}: the table has no dataset column")
    columns = {name: _numbers(errors[name], what) for name in errors.columns}
    return pd.DataFrame(columns, errors.index).rename_axis(index="architecture")


def _numbers(column: pd.Series, what: str) -> Floats:
    numbers: Floats = pd.to_numeric(column, errors="coerce").to_numpy(
        dtype=np.float64, na_value=np.nan
    )
    bad = np.flatnonzero(np.isnan(numbers) & column.notna().to_numpy())
    if len(bad):
        cell = column.iloc[bad[0]]
        raise DoesNotApplyError(
            f"{what}: {cell!r} is not a number (dataset {column.name}, "
            f"architecture {column.index[bad[0]]}); leave missing cells empty"
        )
    if np.isinf(numbers).any():
        where = column.index[np.isinf(numbers)][0]
        raise DoesNotApplyError(
            f"{what}: infinite error (dataset {column.name}, architecture {where}); "
            "a diverged run has the error of chance, a missing one an empty cell"
        )
    return numbers


def check_percent(values: Floats, what: str) -> None:
    """Raise UserError for values outside 0 to 100, and for fractions."""
    known = values[~np.isnan(values)]
    if known.size and known.max() <= 1:
        raise DoesNotApplyError(
            f"{what}: no value exceeds 1 (the largest is {known.max():g}), so these look like "
            "fractions, not percent; multiply by 100"
        )
    outside = known[(known < 0) | (known > 100)]
    if outside.size:
        worst = outside.min() if outside.min() < 0 else outside.max()
        raise DoesNotApplyError(f"{what}: {worst:g} is outside 0 to 100")


def check_accuracies(accuracies: pd.DataFrame, what: str = "accuracies") -> pd.DataFrame:
    """`check_errors` for scores in percent: also raises UserError outside 0 to 100."""
    table = check_errors(accuracies, 0, what)
    check_percent(table.to_numpy(), what)
    return table


def check_frame(table: pd.DataFrame, what: str) -> None:
    """Raise UserError for an array, a dict or whatever else is no DataFrame."""
    if not isinstance(table, pd.DataFrame):
        raise UserError(f"{what}: a {type(table).__name__}; needed is a pandas DataFrame")


def check_columns(table: pd.DataFrame, names: Iterable[str], what: str = "scores") -> None:
    """Raise UserError unless the table is a DataFrame that has all of these columns."""
    check_frame(table, what)
    absent = [name for name in names if name not in table.columns]
    if absent:
        known = ", ".join(map(str, table.columns))
        raise DoesNotApplyError(
            f"{what}: no column {', '.join(map(str, absent))}; there are {known}"
        )


def check_long(table: pd.DataFrame, keys: Sequence[str], what: str) -> pd.DataFrame:
    """The columns `keys` and error of a long table called `what`, error as float64.

    Raises UserError where one is absent, a key repeats or is missing, or an error is no finite
    number; a missing error (NaN) may be.
    """
    check_columns(table, [*keys, "error"], what)
    if table[list(keys)].isna().any(axis=None):
        raise DoesNotApplyError(f"{what}: a row without {' or '.join(keys)}")
    repeated = table.duplicated([*keys])
    if repeated.any():
        first = ", ".join(str(value) for value in table.loc[repeated, list(keys)].iloc[0])
        raise DoesNotApplyError(f"{what}: {keys[-1]} {first} is there more than once")
    errors = check_errors(table[["error"]].reset_index(drop=True), 0, what)["error"]
    return table[[*keys]].assign(error=errors.to_numpy())


def exclusions(errors: pd.DataFrame) -> pd.DataFrame:
    """Return what correlations leave out: one row for each gap, DataFrame[dataset, reason,
    architectures].

    A constant dataset ranks nothing, so that its correlations are NaN; missing cells leave an
    architecture out of that dataset's pairs.
    """
    rows = []
    for dataset, column in check_errors(errors, fewest=0).items():
        present = column.dropna()
        missing = len(column) - len(present)
        if len(present) and present.nunique() == 1:
            reason = f"constant: every error is {present.iloc[0]:.4g}, so it ranks nothing"
            rows.append((dataset, reason, len(present)))
        if missing:
            reason = "no value at all" if present.empty else "missing cells"
            rows.append((dataset, reason, missing))
    result = pd.DataFrame(rows, columns=["dataset", "reason", "architectures"])
    return with_attrs(result, n=len(errors))


def matched(x: Values, y: Values) -> pd.DataFrame:
    """Two columns x and y of float64, matched by index where both are Series.

    Raises UserError where they have different lengths, or for what `check_errors` refuses.
    """
    if not (isinstance(x, pd.Series) and isinstance(y, pd.Series)):
        x, y = (pd.Series(np.asarray(column).ravel()) for column in (x, y))
        if len(x) != len(y):
            raise DoesNotApplyError(f"x, y: {len(x)} and {len(y)} values")
    tables = [check_errors(x.to_frame("x"), 0, "x"), check_errors(y.to_frame("y"), 0, "y")]
    return pd.concat(tables, axis=1, join="inner")


def why_no_fit(x: Floats, y: Floats) -> str:
    """Why no line can be fitted with an interval through such points (n,), (n,); "" where one can.

    Fewer than 4 points, a constant column, and a column that one point alone keeps from being
    constant, so that no resample without that point has a line.
    """
    if len(x) < FEWEST:
        return f"{counted(len(x), 'architecture')} with both values; at least {FEWEST} are needed"
    for name, values in (("x", x), ("y", y)):
        distinct, counts = np.unique(values, return_counts=True)
        if len(distinct) == 1:
            return f"{name} is constant: every value is {distinct[0]:g}"
        if len(distinct) == 2 and counts.min() == 1:
            return f"{name} is constant but for one architecture"
    return ""
