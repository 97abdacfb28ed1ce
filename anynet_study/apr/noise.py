"""Training variability, and correlations freed from it (paper 1, section 6.1.3, Figure A3).

One-way random-effects model: error = mean of the dataset + effect of the architecture + noise of
the run. The intraclass correlation (ICC) is the share of the architectures in the variance of a
single run's error.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.special import fdtri

from anynet_study.apr.bootstrap import Resampled, pairwise, resample, resample_correlations
from anynet_study.apr.correlations import DRAWS_BYTES
from anynet_study.apr.error_tables import check_errors, check_long
from anynet_study.apr.options import (
    Floats,
    Method,
    Multiplicities,
    check_level,
    with_attrs,
)

KEYS = ["dataset", "architecture", "replicate"]
CEILINGS = [
    *("dataset", "architectures", "replicates", "within_std", "between_std"),
    *("icc", "icc_low", "icc_high", "ceiling"),
]
CORRECTED = [
    *("source", "target", "estimate", "low", "high", "icc_source", "icc_target"),
    *("corrected", "corrected_low", "corrected_high", "n", "replicated"),
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

    >>> runs = {"architecture": list("aabbcc"), "replicate": [0, 1] * 3}
    >>> runs = pd.DataFrame({**runs, "dataset": "big", "error": [30, 30.4, 33, 32.8, 36, 36.4]})
    >>> noise_ceiling(runs)[["dataset", "within_std", "between_std", "icc", "ceiling"]].round(2)
      dataset  within_std  between_std   icc  ceiling
    0     big        0.24          3.0  0.99      1.0
    """
    check_level(level)
    runs = check_long(replicates, KEYS, "replicates")
    rows = []
    for dataset, part in runs.groupby("dataset", sort=False):
        groups = part.groupby("architecture")["error"]
        table = groups.agg(["count", "mean", "var"]).query("count > 0")
        if len(table) >= 2 and (table["count"] > 1).any():
            rows.append({"dataset": dataset, **_one_way(table, level)})
    result = pd.DataFrame(rows, columns=CEILINGS)
    return with_attrs(result, level, n=result["architectures"].max() if rows else 0)


def _one_way(groups: pd.DataFrame, level: float) -> dict[str, float]:
    """Analysis of variance of groups given by count, mean and var (NaN for a single run)."""
    sizes, means = groups["count"].to_numpy(), groups["mean"].to_numpy()
    within, between = (part.item() for part in _components(np.ones((1, len(sizes))), groups))
    spread = between + within
    icc = between / spread if spread > 0 else np.nan
    low, high = _icc_interval(sizes, means, within, level)
    return {
        "architectures": len(sizes),
        "replicates": int(sizes.sum()),
        "within_std": float(np.sqrt(within)),
        "between_std": float(np.sqrt(max(between, 0.0))),
        "icc": icc,
        "icc_low": min(low, icc),
        "icc_high": max(high, icc),
        "ceiling": float(np.sqrt(np.clip(icc, 0.0, 1.0))),
    }


def _components(counts: Multiplicities, groups: pd.DataFrame) -> tuple[Floats, Floats]:
    """Variances (b,) within and between groups in resamples (b, n) of them."""
    sizes = groups["count"].fillna(0).to_numpy(dtype=float)
    means = (groups["mean"] - groups["mean"].mean()).fillna(0.0).to_numpy()
    squares = groups["var"].fillna(0.0).to_numpy() * np.maximum(sizes - 1, 0)
    sums = np.column_stack([sizes > 0, sizes, sizes**2, sizes * means, sizes * means**2, squares])
    held, runs, squared_sizes, totals, squared_means, within_squares = (counts @ sums).T
    with np.errstate(divide="ignore", invalid="ignore"):
        within = within_squares / (runs - held)
        between_square = (squared_means - totals**2 / runs) / (held - 1)
        usual_size = (runs - squared_sizes / runs) / (held - 1)
        return within, (between_square - within) / usual_size


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
    ends = (ratio / fdtri(*freedom, tail) for tail in ((1 + level) / 2, (1 - level) / 2))
    low, high = ((end - 1) / (end + size - 1) for end in ends)
    return float(low), float(high)


def corrected_correlations(
    replicates: pd.DataFrame,
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """What the errors of single runs would correlate by if training had no noise.

    `replicates` is long: architecture, dataset, replicate, error (percent; NaN is left out).
    Returns DataFrame[source, target, estimate, low, high, icc_source, icc_target, corrected,
    corrected_low, corrected_high, n, replicated], one row per pair of datasets on both of which
    some architecture was trained twice: `estimate` is the correlation of the first run of each,
    `corrected` = estimate / sqrt(icc_source * icc_target) (Spearman's attenuation formula; exact
    for Pearson's r and approximate for rho), icc as in `noise_ceiling`. `n` counts the
    architectures with both errors, `replicated` those trained twice or more on the dataset that has
    fewer of them. `corrected` may exceed 1, and is NaN where an ICC is not above 0.

    Intervals are BCa bootstrap intervals over architectures with all of their runs, so that the
    corrected one allows for the uncertainty of the ICCs. It is NaN where most resamples, or one
    left-out architecture, leave no ICC. Nominal 95% intervals held the truth in 93% to 95% of 250
    simulated studies of 80 to 500 architectures, 20 to 80 of them trained twice (Pearson, true
    correlations of 0.8 and 0.3; those of the uncorrected estimates in 0% to 55%).
    """
    check_level(level, resamples, seed)
    runs = check_long(replicates, KEYS, "replicates").dropna()
    runs = runs.sort_values("replicate", kind="stable")
    datasets = list(dict.fromkeys(replicates["dataset"]))
    keys = runs.groupby(["architecture", "dataset"], sort=False)["error"]
    errors = check_errors(keys.first().unstack().reindex(columns=datasets), fewest=0)
    counts = keys.count().unstack().reindex(columns=datasets)
    replicated = {name: count for name, count in (counts > 1).sum().items() if count}
    noise = {
        name: _icc(runs[runs["dataset"] == name], errors.index, resamples, seed)
        for name in replicated
    }
    names = [*combinations(replicated, 2)]
    values, place = errors.to_numpy(), errors.columns.get_loc
    pairs = pairwise(values, [(place(x), place(y)) for x, y in names])
    at_once, rows = max(1, DRAWS_BYTES // (8 * resamples)), []
    for start, slab in zip(range(0, len(names), at_once), pairs.slabs(at_once), strict=True):
        resampled = resample_correlations(values, slab.enough(), method, resamples, seed)
        for index, (x, y) in enumerate(names[start : start + at_once]):
            estimate = resampled[index : index + 1]
            corrected = estimate.combined(_divided, noise[x], noise[y])
            ends = {**estimate.columns(level), **corrected.columns(level, "corrected")}
            row = {"source": x, "target": y, **{key: value[0] for key, value in ends.items()}}
            row |= {"icc_source": noise[x].estimate[0], "icc_target": noise[y].estimate[0]}
            row |= {"n": slab.counts[index], "replicated": min(replicated[x], replicated[y])}
            rows.append(row)
    return with_attrs(pd.DataFrame(rows, columns=CORRECTED), level, method)


def _icc(runs: pd.DataFrame, architectures: pd.Index, resamples: int, seed: int) -> Resampled:
    """One dataset's intraclass correlation by analysis of variance, resampled."""
    table = runs.groupby("architecture")["error"].agg(["count", "mean", "var"])
    table = table.reindex(architectures)

    def icc(counts: Multiplicities) -> Floats:
        within, between = _components(counts, table)
        with np.errstate(divide="ignore", invalid="ignore"):
            share: Floats = between / (between + within)
        return np.where(np.isfinite(share), share, np.nan)

    return resample(icc, len(architectures), resamples, seed)


def _divided(correlation: Floats, x: Floats, y: Floats) -> Floats:
    product = np.where((x > 0) & (y > 0), x * y, np.nan)
    return correlation / np.sqrt(product)
