"""Options that the analyses share, what is legal for them, and the types of their arrays."""

from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anynet_study.core.errors import UserError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: How often each resample (row) holds each architecture (column): int32, or float64 with weights.
Multiplicities = NDArray[Any]
Method = Literal["spearman", "pearson", "kendall"]


def check_choice(option: str, value: str, choices: Any) -> None:
    """Raise UserError unless the option's value is one of the choices (a Literal)."""
    if value not in get_args(choices):
        raise UserError(f"{option}: unknown {value!r}; choose from {', '.join(get_args(choices))}")


def with_attrs(
    table: pd.DataFrame,
    level: float | None = None,
    method: Method | None = None,
    *,
    n: int | None = None,
    scale: str | None = None,
    weighted: bool = False,
    **further: object,
) -> pd.DataFrame:
    """The table, with what it is in its `attrs`, for figures, captions and files to read.

    `level` is that of its intervals; `method` the coefficient of its correlations; `n` the most
    architectures that a row rests on, by default the largest of its column n; `scale` that of its
    fits ("linear", "logit" or "probit"); `weighted` whether weights of architectures were used;
    `family` (further) the questions whose verdicts hold together at `level`, such as "7 targets",
    or "" where there is one alone, `tests` those for which Holm's p are corrected, such as "the 21
    pairs of the table".
    What is None does not apply and is left out.
    Many operations of pandas lose attrs, so that this comes last.
    """
    if n is None:
        n = table["n"].max() if len(table) else 0
    attrs = {"n": int(n), "level": level, "method": method, "scale": scale, "weighted": weighted}
    table.attrs = {key: value for key, value in (attrs | further).items() if value is not None}
    return table
