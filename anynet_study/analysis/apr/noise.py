"""Training variability, and correlations freed from it (paper 1, section 6.1.3, Figure A3).

One-way random-effects model: error = mean of the dataset + effect of the architecture + noise of
the run. The intraclass correlation (ICC) is the share of the architectures in the variance of a
single run. What noise does to a correlation of ranks is told by the ICC of ranks: that of percent
errors can be far higher where a few architectures err much more than all others.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike
from scipy.special import fdtrc, stdtrit

from anynet_study.analysis.apr.bootstrap import (
    Resampled,
    pairwise,
    resample,
    resample_correlations,
)
from anynet_study.analysis.apr.correlations import DRAWS_BYTES
from anynet_study.analysis.apr.error_tables import check_errors, check_long
from anynet_study.analysis.apr.options import Floats, Method, Multiplicities, with_attrs
from anynet_study.core.errors import DoesNotApplyError
from anynet_study.core.metrics import check_level, widened

#: Where the ICC is as good as -1, which has no place on Fisher's scale.
SMALLEST_ICC = 1e-9 - 1
KEYS = ["dataset", "architecture", "replicate"]
CEILINGS = [
    *("dataset", "architectures", "replicates", "within_std", "between_std"),
    *("icc", "icc_low", "icc_high", "ceiling", "p"),
]
CORRECTED = [
    *("source", "target", "estimate", "low", "high", "icc_source", "icc_target"),
    *("corrected", "corrected_low", "corrected_high", "n", "replicated"),
]


def noise_ceiling(
    replicates: pd.DataFrame,
    method: Method = "spearman",
    level: float = 0.95,
) -> pd.DataFrame:
    """Within- and between-architecture variability of each dataset that has replicates.

    `replicates` is long: architecture, dataset, replicate, error (percent; NaN is left out).
    Architectures with a single run count towards the variance between architectures. Returns
    DataFrame[dataset, architectures, replicates, within_std, between_std, icc, icc_low, icc_high,
    ceiling, p]; `replicates` is the number of runs in all. The standard deviations are of the
    errors, from the variance components of the analysis of variance (a negative one shows as 0).
    `icc` is the reliability of what `method` correlates: of the errors with "pearson", else of
    their ranks, where each run has the share of the others' first runs on the dataset that err
    less (`reliabilities`).

    Its interval is Fisher's: on the scale z = artanh(icc), Student's t of the m architectures that
    were trained twice or more, with the jackknife's standard error over architectures, which holds
    for skewed effects and outliers too (Arvesen and Schmitz, "Robust procedures for variance
    component problems using the jackknife", 1970). As few often show too little of the noise, it
    is at least that of normal errors, 1 / sqrt(f - 3/2) with f degrees of freedom within
    architectures, as of f pairs (Fisher, "Statistical Methods for Research Workers", 1925). With
    m = 1 the interval is -1 to 1. Nominal 95% ones of ranks held the truth in 93% to 97% of
    simulated studies (`benchmarks/coverage.py`: normal and lognormal effects, runs that guess);
    those of errors ("pearson") of normal effects only.

    `p` is of the F-test of the ranks of all runs, that architectures do not differ at all (one-way
    analysis of variance; Conover and Iman, "Rank transformations as a bridge between parametric and
    nonparametric statistics", 1981). It also tells where few architectures have many runs.

    `ceiling` = sqrt(icc, clipped to 0..1) bounds the correlation of single-run errors with a
    partner that is measured without noise (exactly of Pearson's r, nearly of Spearman's rho).
    Datasets with fewer than two architectures, or none trained twice, have no row. Where no error
    differs at all the estimates are NaN.

    >>> runs = {"architecture": list("aabbcc"), "replicate": [0, 1] * 3}
    >>> runs = pd.DataFrame({**runs, "dataset": "big", "error": [30, 30.4, 33, 32.8, 36, 36.4]})
    >>> noise_ceiling(runs)[["dataset", "within_std", "between_std", "icc", "ceiling"]].round(2)
      dataset  within_std  between_std  icc  ceiling
    0     big        0.24          3.0  1.0      1.0
    """
    check_level(level)
    runs = check_long(replicates, KEYS, "replicates").dropna()
    runs = runs.sort_values("replicate", kind="stable")
    rows = []
    for dataset in dict.fromkeys(replicates["dataset"]):
        part = runs[runs["dataset"] == dataset]
        table = _grouped(part)
        repeated = int((table["count"] > 1).sum())
        if len(table) >= 2 and repeated:
            icc = _reliability(part, table.index, method, 0, 0)
            parts = _components(np.ones((1, len(table))), table)
            within, between = (float(np.sqrt(max(part.item(), 0.0))) for part in parts)
            freedom = int((table["count"] - 1).sum())
            value, low, high = _icc_interval(icc, repeated, freedom, level)
            row = {"dataset": dataset, "architectures": len(table), "replicates": len(part)}
            row |= {"within_std": within, "between_std": between, "icc": value}
            row |= {"icc_low": low, "icc_high": high}
            row |= {"ceiling": float(np.sqrt(np.clip(value, 0.0, 1.0))), "p": no_difference(part)}
            rows.append(row)
    result = pd.DataFrame(rows, columns=CEILINGS)
    return with_attrs(result, level, method, n=result["architectures"].max() if rows else 0)


def reliabilities(
    replicates: pd.DataFrame,
    architectures: pd.Index,
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    needed: Sequence[str] = (),
) -> dict[str, Resampled]:
    """By dataset on which some architecture was trained twice: the reliability of a single run.

    That is its correlation with another run of the same architectures: the intraclass correlation,
    by one-way analysis of variance, of errors ("pearson"), or of their ranks. Resamples are of the
    `architectures`, in their order, so that they go with `resample_correlations` of a table of
    them. Raises UserError for datasets `needed` on which none was, and for method="kendall", which
    no formula corrects for noise.
    """
    if method == "kendall":
        raise DoesNotApplyError(
            "method: kendall is not corrected for noise; legal: spearman, pearson"
        )
    runs = check_long(replicates, KEYS, "replicates").dropna()
    runs = runs.sort_values("replicate", kind="stable")
    found = {}
    for dataset, part in runs.groupby("dataset", sort=False):
        if part["architecture"].duplicated().any():
            found[str(dataset)] = _reliability(part, architectures, method, resamples, seed)
    for name in needed:
        if name not in found:
            raise DoesNotApplyError(f"replicates: nothing on {name} was trained twice")
    return found


def no_difference(runs: pd.DataFrame) -> float:
    """p of the F-test of ranks of runs (architecture, error) that no two architectures differ."""
    ranks = scipy.stats.rankdata(runs["error"])
    table = _grouped(runs.assign(error=ranks))
    counts, means = table["count"].to_numpy(float), table["mean"].to_numpy()
    between, within = len(table) - 1, len(ranks) - len(table)
    over = (counts * (means - ranks.mean()) ** 2).sum()
    left = ((ranks - ranks.mean()) ** 2).sum() - over
    if left <= 1e-9 * max(over, 1e-300):
        return 0.0 if over > 0 else np.nan
    return float(fdtrc(between, within, over / between / (left / within)))


def _icc_interval(
    icc: Resampled, repeated: int, freedom: int, level: float
) -> tuple[float, float, float]:
    """The ICC, within -1 to 1, and the ends of its interval; `noise_ceiling` says how."""
    # With few repeated, it can lie beyond what a correlation can be.
    value, left_out = float(np.clip(icc.estimate[0], -1, 1)), icc.jackknife[0]
    if np.isnan(value):
        return value, np.nan, np.nan
    pairs = max(repeated, 2)
    # No noise at all stands for what a rank correlation of so many pairs cannot tell from it.
    inside = max(value, SMALLEST_ICC) if value < 1 else 1 - 6 / (pairs * (pairs**2 - 1))
    error = np.sqrt((len(left_out) - 1) * left_out.var()) / (1 - inside**2)
    error = max(error, 1 / np.sqrt(max(freedom, 2) - 1.5))
    reach = np.nan_to_num(stdtrit(repeated - 1, (1 + level) / 2) * error, nan=np.inf)
    ends = np.tanh(np.arctanh(inside) + reach * np.array([-1, 1]))
    return value, float(min(ends[0], value)), float(max(ends[1], value))


def first_runs(replicates: pd.DataFrame) -> pd.DataFrame:
    """The first run of each architecture (rows) on each dataset (columns) that has one."""
    runs = check_long(replicates, KEYS, "replicates").dropna()
    runs = runs.sort_values("replicate", kind="stable")
    return runs.groupby(["architecture", "dataset"])["error"].first().unstack()


def freed(correlations: Resampled, reliability: Resampled) -> Resampled:
    """Correlations (p,) over the root of the reliability, (p,) or (1,), of what is at one side."""

    def divided(correlation: Floats, icc: Floats) -> Floats:
        return correlation / np.sqrt(np.where(icc > 0, icc, np.nan))

    return correlations.combined(divided, reliability)


def free_of_noise(
    estimate: Floats, ends: tuple[Floats, Floats], iccs: ArrayLike, icc_lows: ArrayLike
) -> tuple[Floats, Floats]:
    """Ends (p,) of intervals of correlations as they would be without the noise of training.

    From those `ends` of correlations (p,) of single runs, and the ICCs (p, 2) of both datasets with
    the lower ends of their intervals. Noise only draws a correlation towards 0, so that the end
    nearer to 0 holds without it, too. The other is a bound of the ratio of the correlation to the
    ceiling, the root of the product of both ICCs, which allows for the sampling error of both
    (MOVER-R: Donner and Zou, "Closed-form confidence intervals for functions of the normal mean and
    standard deviation", 2012). It is 1 or -1 where nothing tells the noise: an ICC is unknown
    (NaN), or its interval reaches 0.
    """
    icc, least = np.asarray(iccs, float), np.asarray(icc_lows, float)
    known = np.minimum(icc, least).min(axis=1) > 0
    icc, least = (np.where(known[:, None], values, 1.0) for values in (icc, least))
    ceiling = np.sqrt(icc.prod(axis=1))
    lowest = ceiling * np.exp(-np.sqrt(((np.log(icc / least) / 2) ** 2).sum(axis=1)))

    def upper(value: Floats, end: Floats) -> Floats:
        beside = lowest * (2 * ceiling - lowest)
        inside = np.maximum((value * ceiling) ** 2 - end * (2 * value - end) * beside, 0.0)
        ratio: Floats = (value * ceiling + np.sqrt(inside)) / beside
        bounded = np.where(known, np.minimum(ratio, 1.0), 1.0)
        return np.where(end > 0, bounded, end)  # NaN is none

    low, high = ends
    return -upper(-estimate, -low), upper(estimate, high)


def _grouped(runs: pd.DataFrame) -> pd.DataFrame:
    """DataFrame[count, mean, var] of each architecture's errors on one dataset."""
    return runs.groupby("architecture")["error"].agg(["count", "mean", "var"])


def _reliability(
    runs: pd.DataFrame, architectures: pd.Index, method: Method, resamples: int, seed: int
) -> Resampled:
    """Estimate the reliability of one dataset, whose runs are in order of their replicates."""
    if method != "pearson":
        errors, first = runs["error"], runs.groupby("architecture")["error"].first()
        own = runs["architecture"].map(first).astype(float)  # of categories it would be one
        rising = np.sort(first.to_numpy())
        less = np.searchsorted(rising, errors, "left") - (own < errors)
        no_more = np.searchsorted(rising, errors, "right") - (own <= errors)
        runs = runs.assign(error=(less + no_more) / (2 * max(len(first) - 1, 1)))
    table = _grouped(runs).reindex(architectures)

    def icc(counts: Multiplicities) -> Floats:
        within, between = _components(counts, table)
        with np.errstate(divide="ignore", invalid="ignore"):
            share: Floats = between / (between + within)
        return np.where(np.isfinite(share), share, np.nan)

    return resample(icc, len(architectures), resamples, seed)


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


def corrected_correlations(
    replicates: pd.DataFrame,
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Return what the errors of single runs would correlate by if training had no noise.

    `replicates` is long: architecture, dataset, replicate, error (percent; NaN is left out).
    Returns DataFrame[source, target, estimate, low, high, icc_source, icc_target, corrected,
    corrected_low, corrected_high, n, replicated], one row per pair of datasets on both of which
    some architecture was trained twice: `estimate` is the correlation of the first run of each,
    `corrected` = estimate / sqrt(icc_source * icc_target) (Spearman's attenuation formula), icc as
    in `noise_ceiling`: of the ranks with "spearman", of the errors with "pearson". `n` counts the
    architectures with both errors, `replicated` those trained twice or more on the dataset that has
    fewer of them. `corrected` may exceed 1, and is NaN where an ICC is not above 0.

    Intervals are BCa bootstrap intervals over architectures with all of their runs, so that the
    corrected one allows for the uncertainty of the ICCs; it is wider as that of `noise_ceiling` is.
    Where most resamples, or one left-out architecture, leave no ICC, noise may be all there is; as
    noise only draws correlations towards 0, the interval then reaches from the end of the measured
    one's that is nearer 0 to 1 or -1 (both of them where that holds 0). Raises UserError as
    `reliabilities` does.
    """
    check_level(level, resamples, seed)
    runs = check_long(replicates, KEYS, "replicates").dropna()
    runs = runs.sort_values("replicate", kind="stable")
    datasets = list(dict.fromkeys(replicates["dataset"]))
    keys = runs.groupby(["architecture", "dataset"], sort=False)["error"]
    errors = check_errors(keys.first().unstack().reindex(columns=datasets), fewest=0)
    counts = keys.count().unstack().reindex(columns=datasets)
    replicated = {name: count for name, count in (counts > 1).sum().items() if count}
    noise = reliabilities(runs, errors.index, method, resamples, seed)
    names = [*combinations(replicated, 2)]
    values, place = errors.to_numpy(), errors.columns.get_loc
    pairs = pairwise(values, [(place(x), place(y)) for x, y in names])
    at_once, rows = max(1, DRAWS_BYTES // (8 * resamples)), []
    for start, slab in zip(range(0, len(names), at_once), pairs.slabs(at_once), strict=True):
        resampled = resample_correlations(values, slab.enough(), method, resamples, seed)
        for index, (x, y) in enumerate(names[start : start + at_once]):
            estimate = resampled[index : index + 1]
            corrected = freed(freed(estimate, noise[x]), noise[y])
            fewer = min(replicated[x], replicated[y])
            wider = corrected.columns(widened(level, fewer), "corrected")
            ends = {**estimate.columns(level), **wider}
            row = {"source": x, "target": y, **{key: value[0] for key, value in ends.items()}}
            if np.isnan(row["corrected_low"]) and np.isfinite(row["low"]):
                row["corrected_low"] = row["low"] if row["low"] > 0 else -1.0
                row["corrected_high"] = row["high"] if row["high"] < 0 else 1.0
            row |= {"icc_source": noise[x].estimate[0], "icc_target": noise[y].estimate[0]}
            row |= {"n": slab.counts[index], "replicated": fewer}
            rows.append(row)
    return with_attrs(pd.DataFrame(rows, columns=CORRECTED), level, method)
