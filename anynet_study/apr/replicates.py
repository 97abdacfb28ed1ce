"""Training variability and the ceiling it puts on correlations (paper 1, section 6.1.3, Figure A3).

One-way random-effects model: error = mean of the dataset + effect of the architecture + noise of
the run. The intraclass correlation (ICC) is the share of the architectures in the variance of a
single run's error.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from anynet_study.apr.long_tables import check_long
from anynet_study.errors import UserError

RESULT = [
    *("dataset", "architectures", "replicates", "within_std", "between_std"),
    *("icc", "icc_low", "icc_high", "ceiling"),
]


def noise_ceiling(replicates: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Within- and between-architecture variability of each dataset that has replicates.

    `replicates` is long: architecture, dataset, replicate, error (percent; NaN is left out).
    Architectures with a single run count towards the variance between architectures. Returns
    DataFrame[dataset, architectures, replicates, within_std, between_std, icc, icc_low, icc_high,
    ceiling]; `replicates` is the number of runs in all. Variance components are those of the
    analysis of variance (a negative one shows as between_std 0 with icc <= 0), the interval that
    of Thomas and Hultquist (1978) for unequal group sizes, exact where all are equal.

    `ceiling` = sqrt(icc, clipped to 0..1) bounds the Pearson correlation of single-run errors
    with a partner that is measured without noise, and approximately Spearman's. Datasets with
    fewer than two architectures, or none trained twice, have no row. Where no error differs at
    all the estimates are NaN.
    """
    if not 0 < level < 1:
        raise UserError(f"level: {level} is not between 0 and 1, such as 0.95")
    runs = check_long(replicates, ["dataset", "architecture", "replicate"], "replicates")
    rows = []
    for dataset, part in runs.groupby("dataset", sort=False):
        groups = part.groupby("architecture")["error"]
        table = groups.agg(["count", "mean", "var"]).query("count > 0")
        if len(table) >= 2 and (table["count"] > 1).any():
            rows.append({"dataset": dataset, **_one_way(table, level)})
    return pd.DataFrame(rows, columns=RESULT)


def _one_way(groups: pd.DataFrame, level: float) -> dict[str, float]:
    """Analysis of variance of groups given by count, mean and var (NaN for a single run)."""
    sizes, means = groups["count"].to_numpy(), groups["mean"].to_numpy()
    total, count = sizes.sum(), len(sizes)
    within = ((sizes - 1) * groups["var"].fillna(0.0)).sum() / (total - count)
    grand = np.average(means, weights=sizes)
    between_square = (sizes * (means - grand) ** 2).sum() / (count - 1)
    usual_size = (total - (sizes**2).sum() / total) / (count - 1)
    between = (between_square - within) / usual_size
    spread = between + within
    icc = between / spread if spread > 0 else np.nan
    low, high = _icc_interval(sizes, means, within, level)
    return {
        "architectures": count,
        "replicates": int(total),
        "within_std": float(np.sqrt(within)),
        "between_std": float(np.sqrt(max(between, 0.0))),
        "icc": icc,
        "icc_low": min(low, icc),
        "icc_high": max(high, icc),
        "ceiling": float(np.sqrt(np.clip(icc, 0.0, 1.0))),
    }


def _icc_interval(
    sizes: np.ndarray, means: np.ndarray, within: float, level: float
) -> tuple[float, float]:
    """F interval on unweighted group means and the harmonic mean of the group sizes."""
    spread = means.var(ddof=1)
    if within == 0:
        return (1.0, 1.0) if spread > 0 else (np.nan, np.nan)
    size = len(sizes) / (1 / sizes).sum()
    freedom = len(sizes) - 1, sizes.sum() - len(sizes)
    ratio = size * spread / within
    ends = (ratio / stats.f.ppf(tail, *freedom) for tail in ((1 + level) / 2, (1 - level) / 2))
    low, high = ((end - 1) / (end + size - 1) for end in ends)
    return float(low), float(high)


def disattenuate(correlations: pd.DataFrame, icc: Mapping[str, float]) -> pd.DataFrame:
    """Correlations freed from training noise: estimate / sqrt(icc of source * icc of target).

    Adds `corrected` to a table of `correlations` (Spearman's attenuation formula). NaN where the
    ICC of either dataset is unknown or not above 0; values beyond 1 in magnitude, which the
    uncertainty of the ICC allows, are kept.
    """
    factors = pd.Series({name: value for name, value in icc.items() if value > 0}, dtype=float)
    products = correlations["source"].map(factors) * correlations["target"].map(factors)
    return correlations.assign(corrected=correlations["estimate"] / np.sqrt(products))
