"""Long tables, with a row a run or an epoch: what may be analysed."""

from collections.abc import Sequence

import pandas as pd

from anynet_study.apr.table import check_errors
from anynet_study.errors import UserError


def check_long(table: pd.DataFrame, keys: Sequence[str], what: str) -> pd.DataFrame:
    """The columns `keys` and error of a long table called `what`, error as float64.

    Raises UserError where one is absent, a key repeats or is missing, or an error is no finite
    number; a missing error (NaN) may be.
    """
    wanted = [*keys, "error"]
    absent = [name for name in wanted if name not in table.columns]
    if absent:
        raise UserError(f"{what}: no column {', '.join(absent)}; needed: {', '.join(wanted)}")
    if table[list(keys)].isna().any(axis=None):
        raise UserError(f"{what}: a row without {' or '.join(keys)}")
    repeated = table.duplicated([*keys])
    if repeated.any():
        first = ", ".join(str(value) for value in table.loc[repeated, list(keys)].iloc[0])
        raise UserError(f"{what}: {keys[-1]} {first} is there more than once")
    errors = check_errors(table[["error"]].reset_index(drop=True), fewest=0)["error"]
    return table[[*keys]].assign(error=errors.to_numpy())
