"""Relative improvement over a baseline model (Salaudeen and Hardt 2024, paper 4, Figures 1b, 8b).

Accuracies of different datasets cannot be compared; what each model gains over the same early
model can.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from anynet_study.apr.fit_lines import Method
from anynet_study.apr.gaps import image_count
from anynet_study.apr.scores import check_accuracies, check_columns
from anynet_study.apr.transfer import ENDS, fit_row
from anynet_study.errors import UserError


def relative_improvement(
    accuracies: pd.DataFrame,
    baseline: str,
    images: Mapping[str, int] | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Every accuracy over the baseline model's on the same dataset.

    `accuracies` in percent, architectures x datasets; `baseline` is one of the architectures.
    Returns long DataFrame[dataset, architecture, accuracy, relative], in the order of the table,
    without missing accuracies. With `images`, dataset -> number of test images, also relative_low
    and relative_high: sampling error of both accuracies by the logarithm of the ratio (Katz et al.
    1978), as if they were wrong independently of each other; as they share their hard images, the
    interval is, if anything, too wide. An accuracy of 0 counts as half an image there.

    Raises UserError where the baseline is not there, or has no accuracy above 0 on a dataset.
    """
    table = check_accuracies(accuracies)
    if not 0 < level < 1:
        raise UserError(f"level: {level} is not between 0 and 1, such as 0.95")
    if baseline not in table.index:
        raise UserError(f"baseline: no architecture {baseline} in the accuracies")
    base = table.loc[baseline]
    if not (base > 0).all():
        where = base.index[~(base > 0)][0]
        raise UserError(f"baseline: {baseline} has no accuracy above 0 on {where}")
    result = table.melt(ignore_index=False, var_name="dataset", value_name="accuracy")
    result = result.dropna(subset="accuracy").reset_index()
    result = result[["dataset", "architecture", "accuracy"]]
    reference = result["dataset"].map(base)
    result["relative"] = result["accuracy"] / reference
    if images is not None:
        sizes = result["dataset"].map({name: image_count(images, name) for name in table.columns})
        p, q = (np.maximum(each / 100, 0.5 / sizes) for each in (result["accuracy"], reference))
        spread = np.sqrt((1 - p) / (sizes * p) + (1 - q) / (sizes * q))
        # The baseline is exactly as good as itself.
        spread = spread.where(result["architecture"] != baseline, 0.0)
        factor = np.exp(stats.norm.ppf((1 + level) / 2) * spread)
        result["relative_low"] = np.where(result["accuracy"] > 0, p / q / factor, 0.0)
        result["relative_high"] = p / q * factor
    return result


def improvement_fits(
    accuracies: pd.DataFrame,
    reference: str,
    baseline: str,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    method: Method = "student",
) -> pd.DataFrame:
    """Linear fits of every dataset's relative improvements on the reference dataset's.

    Returns DataFrame[dataset, n, correlation, slope, slope_low, slope_high, intercept, ..., r2,
    ..., adjusted_r2, ..., note], fits as in `transfer_fits`; "student" intervals, as these are
    usually few models. Raises UserError as `relative_improvement` does.
    """
    check_columns(accuracies, [reference], "accuracies")
    long = relative_improvement(accuracies, baseline)
    relative = long.pivot(index="architecture", columns="dataset", values="relative")
    rows = []
    for name in accuracies.columns.drop(reference):
        both = relative[[reference, name]].dropna()
        row = fit_row(both[reference], both[name], "linear", resamples, seed, level, method)
        rows.append({"dataset": name, "n": len(both), **row})
    return pd.DataFrame(rows).reindex(columns=["dataset", "n", *ENDS, "note"])
