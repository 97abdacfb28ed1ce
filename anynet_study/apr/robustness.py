"""Accuracy under distribution shifts: its average, and the effective robustness ratio.

Feuer et al. 2023 (paper 5), section 3.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from anynet_study.apr.gaps import image_count
from anynet_study.apr.scores import check_accuracies, check_columns
from anynet_study.errors import UserError

#: Name of the mean over the shifts among them.
AVERAGE = "average"


def average_robustness(
    accuracies: pd.DataFrame,
    base: str,
    shifts: Sequence[str] | None = None,
    images: Mapping[str, int] | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Average robustness and effective robustness ratio of every architecture (paper 5, section 3).

    `accuracies` in percent, architectures x test sets; shifts are by default all but the base.
    Returns DataFrame[architecture, base, average, ratio, shifts, note] in the table's order: the
    mean accuracy over the shifts and its ratio to the base accuracy, which compares models of
    roughly the same base accuracy. With `images`, test set -> number of images, average_low and
    average_high follow: sampling error, normal approximation, of independent test sets.

    An architecture that lacks an accuracy has NaN, and `note` names what it lacks: averages over
    different shifts cannot be compared.
    """
    if not 0 < level < 1:
        raise UserError(f"level: {level} is not between 0 and 1, such as 0.95")
    table, names = checked_table(accuracies, base, shifts)
    notes = what_is_missing(table)
    whole = table.where(notes == "")
    average = whole[names].mean(axis=1)
    with_base = whole[base].where(whole[base] > 0)
    columns = {"base": whole[base], "average": average}
    if images is not None:
        variances = [whole[n] * (100 - whole[n]) / image_count(images, n) for n in names]
        reach = stats.norm.ppf((1 + level) / 2) * np.sqrt(sum(variances)) / len(names)
        columns["average_low"] = (average - reach).clip(lower=0)
        columns["average_high"] = (average + reach).clip(upper=100)
    result = pd.DataFrame({**columns, "ratio": average / with_base, "shifts": len(names)})
    no_ratio = (notes == "") & with_base.isna()
    return result.assign(note=notes.mask(no_ratio, f"0% on {base}: no ratio")).reset_index()


def checked_table(
    accuracies: pd.DataFrame, base: str, shifts: Sequence[str] | None
) -> tuple[pd.DataFrame, list[str]]:
    names = list(accuracies.columns.drop(base, errors="ignore")) if shifts is None else [*shifts]
    check_columns(accuracies, [base, *names], "accuracies")
    if not names or base in names or len(set(names)) < len(names):
        raise UserError("shifts: at least one is needed, each once, and not the base")
    if AVERAGE in names:
        raise UserError(f"shifts: {AVERAGE} is the name of their mean; rename the column")
    return check_accuracies(accuracies[[base, *names]]), names


def what_is_missing(table: pd.DataFrame) -> pd.Series:
    """What each architecture lacks; "" where nothing."""
    missing = table.isna()
    lacking = [", ".join(map(str, table.columns[row])) for row in missing.to_numpy()]
    notes = [f"no accuracy on {names}" if names else "" for names in lacking]
    return pd.Series(notes, index=table.index, dtype=object)
