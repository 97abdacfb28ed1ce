"""Tables and columns of scores, of which more is better: accuracies, kappas, F1 and so on.

An accuracy in percent is 100 less the error. Tables have one row an architecture, a column a test
set, NaN where a score is missing.
"""

from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from anynet_study.apr.pairs import FEWEST
from anynet_study.apr.ranks import Floats
from anynet_study.apr.table import check_errors, in_percent
from anynet_study.errors import UserError

#: One value an architecture; two Series are matched by their index.
Values: TypeAlias = pd.Series | ArrayLike


def check_scores(scores: pd.DataFrame, what: str = "scores", fewest: int = 0) -> pd.DataFrame:
    """The table as float64 with its index named "architecture".

    Raises UserError, beginning with `what`, for repeated names, cells that are no numbers,
    infinite scores, and fewer than `fewest` architectures.
    """
    try:
        return check_errors(scores, fewest)
    except UserError as error:
        raise UserError(f"{what}: {str(error).removeprefix('errors: ')}") from None


def check_accuracies(
    accuracies: pd.DataFrame, what: str = "accuracies", fewest: int = 0
) -> pd.DataFrame:
    """The same for scores in percent: raises UserError outside 0 to 100, and for fractions."""
    table = check_scores(accuracies, what, fewest)
    try:
        return in_percent(table)
    except UserError as error:
        text = (
            str(error).removeprefix("errors: ").replace("pass --fraction (fraction=True), or ", "")
        )
        raise UserError(f"{what}: {text}") from None


def check_columns(table: pd.DataFrame, names: list[str], what: str = "scores") -> None:
    """Raise UserError unless the table has all of these columns."""
    absent = [name for name in names if name not in table.columns]
    if absent:
        known = ", ".join(map(str, table.columns))
        raise UserError(f"{what}: no column {', '.join(map(str, absent))}; there are {known}")


def matched(x: Values, y: Values) -> pd.DataFrame:
    """Two columns x and y of float64, matched by index where both are Series.

    Raises UserError where they have different lengths, or for what `check_scores` refuses.
    """
    if isinstance(x, pd.Series) and isinstance(y, pd.Series):
        for name, column in (("x", x), ("y", y)):
            check_scores(column.to_frame(name), name)
        return pd.concat([x.rename("x"), y.rename("y")], axis=1, join="inner").astype(np.float64)
    columns = {"x": _column(x), "y": _column(y)}
    if len(columns["x"]) != len(columns["y"]):
        raise UserError(f"x, y: {len(columns['x'])} and {len(columns['y'])} values")
    return pd.concat([check_scores(pd.DataFrame({n: c}), n) for n, c in columns.items()], axis=1)


def why_no_fit(x: Floats, y: Floats) -> str:
    """Why no line can be fitted with an interval through such points (n,), (n,); "" where one can.

    Fewer than 4 points, a constant column, and a column that one point alone keeps from being
    constant, so that no resample without that point has a line.
    """
    if len(x) < FEWEST:
        return f"{len(x)} architectures have both values; at least {FEWEST} are needed"
    for name, values in (("x", x), ("y", y)):
        distinct, counts = np.unique(values, return_counts=True)
        if len(distinct) == 1:
            return f"{name} is constant: every value is {distinct[0]:g}"
        if len(distinct) == 2 and counts.min() == 1:
            return f"{name} is constant but for one architecture"
    return ""


def _column(values: Values) -> pd.Series:
    column = values if isinstance(values, pd.Series) else pd.Series(np.asarray(values).ravel())
    return column.reset_index(drop=True)
