"""The best and the worst architectures on a dataset (paper 1, Figure 3)."""

import pandas as pd

from anynet_study.apr.table import check_errors
from anynet_study.errors import UserError


def ranked(errors: pd.DataFrame, dataset: str) -> pd.Series:
    """The errors on a dataset that are there, best first; equal ones by architecture."""
    if dataset not in errors.columns:
        known = ", ".join(map(str, errors.columns))
        raise UserError(f"errors: no column {dataset}; the datasets are {known}")
    return errors[dataset].dropna().sort_index().sort_values(kind="stable")


def at_most_a_quarter(count: int, known: int) -> int:
    """How many of `known` architectures are the best: `count`, but a quarter at most, and one.

    The fifteen best of twenty would describe the sample, not what is good.
    """
    return max(1, min(count, known // 4)) if known else 0


def mark_extremes(errors: pd.DataFrame, dataset: str, count: int = 10) -> pd.Series:
    """Series architecture -> "top", "worst" or "", in the order of `errors`.

    Marks `count` architectures at either end, but at most a quarter of those with an error
    (`at_most_a_quarter`); none where there are fewer than four.
    """
    order = ranked(check_errors(errors, fewest=0), dataset).index
    count = at_most_a_quarter(count, len(order)) if len(order) >= 4 else 0
    marks = pd.Series("", index=errors.index, name=dataset, dtype=object)
    marks[order[:count]] = "top"
    marks[order[len(order) - count :]] = "worst"
    return marks
