"""Do rankings of architectures carry over, up to ties within their error bars?

Salaudeen and Hardt 2024 (paper 4), section 4.2 and Figures 1, 8 and 9: two architectures whose
intervals over replicates overlap count as tied. There, a ranking is preserved unless two that are
clearly apart swap places; of thousands of pairs, noise alone makes a few swap, so that here a
stated share of them has to.
"""

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from anynet_study.analysis.apr.error_tables import check_columns, check_long
from anynet_study.analysis.apr.interval_formulas import wilson_interval
from anynet_study.analysis.apr.options import Floats, check_choice, with_attrs
from anynet_study.analysis.apr.simultaneous import bonferroni
from anynet_study.analysis.apr.verdicts import LARGEST_REVERSED, family_of, is_preserved
from anynet_study.core.errors import DoesNotApplyError
from anynet_study.core.metrics import binomial_interval, check_level

Noise = Literal["modelled", "pooled", "own"]
#: Fewer architectures with replicates do not show how noise goes with the error.
FEWEST_TO_MODEL = 10
INTERVALS = ("dataset", "architecture", "error", "low", "high")
#: Architectures compared with all others at a time.
BLOCK = 512


def replicate_intervals(
    replicates: pd.DataFrame, level: float = 0.95, noise: Noise = "modelled"
) -> pd.DataFrame:
    """Mean error of every architecture over its replicates, with a Student's t interval.

    `replicates` is long: architecture, dataset, replicate, error (percent; NaN is left out). The
    noise is "pooled" over the dataset's architectures (one-way analysis of variance), which takes
    it as equal and serves also those trained once; "modelled", the same but for a variance that
    rises or falls with the error (its logarithm is linear in the mean error, by maximum likelihood;
    pooled where fewer than 10 architectures have replicates); or each architecture's "own", which
    with three replicates gives intervals of 2.5 standard deviations either way.

    Returns DataFrame[dataset, architecture, error, low, high, replicates, note]. Where there is
    nothing to know the noise from (a dataset without replicates, or with "own" a single run), low
    and high are the error itself and `note` says so.
    """
    check_level(level)
    check_choice("noise", noise, Noise)
    parts = []
    runs = check_long(replicates, ["dataset", "architecture", "replicate"], "replicates").dropna()
    if runs.empty:
        raise DoesNotApplyError("replicates: there is no error")
    for dataset, part in runs.groupby("dataset", sort=False):
        groups = part.groupby("architecture", sort=False)["error"].agg(["mean", "count", "var"])
        counts = groups["count"].to_numpy()
        own = (counts - 1).astype(float)
        if noise == "own":
            freedom, variance = own, groups["var"].fillna(0.0).to_numpy()
        else:
            freedom = np.full(len(groups), own.sum())
            variance = _variances(groups, own, noise)
        known = freedom > 0
        quantile = np.where(known, stdtrit(np.maximum(freedom, 1), (1 + level) / 2), 0.0)
        reach = quantile * np.sqrt(variance / counts)
        columns = {
            "dataset": dataset,
            "architecture": groups.index,
            "error": groups["mean"].to_numpy(),
            "low": groups["mean"].to_numpy() - reach,
            "high": groups["mean"].to_numpy() + reach,
            "replicates": counts,
            "note": np.where(known, "", "no replicates: no interval"),
        }
        parts.append(pd.DataFrame(columns))
    result = pd.concat(parts, ignore_index=True)
    return with_attrs(result, level, n=result["architecture"].nunique())


def _variances(groups: pd.DataFrame, freedom: Floats, noise: Noise) -> Floats:
    """(n,) variance of a run of each architecture, from the variances within those replicated."""
    squares = groups["var"].fillna(0.0).to_numpy() * freedom
    pooled = squares.sum() / np.maximum(freedom.sum(), 1)
    errors = groups["mean"].to_numpy()
    flat = np.full(len(errors), pooled)
    if noise == "pooled" or (freedom > 0).sum() < FEWEST_TO_MODEL or not pooled * errors.std():
        return flat
    away = (errors - errors.mean()) / errors.std()

    def unlikely(parameters: Floats) -> float:
        """Minus twice the log-likelihood of normal runs, but for a constant."""
        height = parameters[0] + parameters[1] * away
        return float((squares / pooled * np.exp(-height) + freedom * height).sum())

    found = scipy.optimize.minimize(unlikely, np.zeros(2)).x
    modelled: Floats = pooled * np.exp(found[0] + found[1] * away)
    return modelled


def sampling_intervals(
    errors: pd.DataFrame, images: Mapping[str, int] | None, level: float = 0.95
) -> pd.DataFrame:
    """Errors with the sampling error of their test set, for `tied_ranks`.

    `errors` in percent, architectures x test sets; `images` their numbers of images, None: not
    known. Returns DataFrame[dataset, architecture, error, low, high], without missing errors: the
    Clopper-Pearson interval, or the error itself where the number is not known.
    """
    parts = []
    for name, column in errors.items():
        known = column.dropna()
        low = high = known.to_numpy(float)
        if images is not None and name in images:
            low, high = binomial_interval(known, images[str(name)], level)
        part = {"dataset": str(name), "architecture": known.index, "error": known.to_numpy(float)}
        parts.append(pd.DataFrame({**part, "low": low, "high": high}))
    return with_attrs(pd.concat(parts, ignore_index=True), level, n=len(errors))


def tied_ranks(intervals: pd.DataFrame) -> pd.DataFrame:
    """Ranks by mean error, and the ranks that overlapping intervals leave open.

    Takes a table of `replicate_intervals`, or any DataFrame[dataset, architecture, error, low,
    high]. Returns DataFrame[dataset, architecture, error, low, high, rank, rank_best, rank_worst],
    the best first: rank 1 is the smallest error, equal ones share the better rank; rank_best is one
    more than the number of architectures that are clearly better, whose interval ends below this
    one's begin; rank_worst likewise.
    """
    check_columns(intervals, INTERVALS, "intervals")
    parts = []
    for _, part in intervals.groupby("dataset", sort=False):
        low, high = part["low"].to_numpy(), part["high"].to_numpy()
        ranks = {
            "rank": scipy.stats.rankdata(part["error"], method="min").astype(np.int64),
            "rank_best": 1 + np.searchsorted(np.sort(high), low, "left"),
            "rank_worst": np.searchsorted(np.sort(low), high, "right"),
        }
        chosen = part[[*INTERVALS]].assign(**ranks)
        parts.append(chosen.sort_values(["rank", "rank_best"], kind="stable"))
    result = pd.concat(parts, ignore_index=True)
    result.attrs = dict(intervals.attrs)
    return result


def rank_preservation(intervals: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Tell how every dataset ranks the architectures, against the reference dataset.

    Takes what `tied_ranks` takes. Returns DataFrame[dataset, architectures, pairs, same, tied,
    swapped, preserved, identical, tau], one row per dataset but the reference, of the architectures
    that both have: of all pairs, those in the same order with intervals apart on both datasets,
    those whose intervals overlap on either, and those clearly apart on both that swap places.
    `preserved` is the verdict on them (`apr.verdicts.is_preserved`; the datasets are
    one family), from intervals of their shares over architectures (`share_of_pairs`); `identical`:
    no pair is swapped by the mean errors either; `tau` is Kendall's tau-b of the mean errors (NaN
    where all are equal on one of the two).

    Overlap is a strict judge: 95% intervals that just touch differ with p < 0.01. Raises UserError
    where the reference is not there, or no dataset shares two architectures with it.

    >>> runs = {"architecture": list("abab"), "dataset": ["big", "big", "small", "small"]}
    >>> ends = {"error": [30, 35, 10, 15], "low": [29, 34, 9, 14], "high": [31, 36, 11, 16]}
    >>> rank_preservation(pd.DataFrame(runs | ends), "big")[["dataset", "pairs", "same", "tau"]]
      dataset  pairs  same  tau
    0   small      1     1  1.0
    """
    check_columns(intervals, INTERVALS, "intervals")
    tables = {name: part.set_index("architecture") for name, part in intervals.groupby("dataset")}
    if reference not in tables:
        known = ", ".join(map(str, intervals["dataset"].unique()))
        raise DoesNotApplyError(f"reference: no dataset {reference}; there are {known}")
    rows = []
    level = intervals.attrs.get("level", 0.95)
    for dataset in intervals["dataset"].unique():
        shared = tables[reference].index.intersection(tables[dataset].index, sort=False)
        if dataset != reference and len(shared) >= 2:
            mine, theirs = (tables[name].loc[shared] for name in (reference, dataset))
            rows.append(
                {"dataset": dataset, "architectures": len(shared), **_compare(mine, theirs)}
            )
    if not rows:
        raise DoesNotApplyError(
            f"reference: no dataset has two architectures in common with {reference}"
        )
    result, asked = pd.DataFrame(rows), bonferroni(level, len(rows))
    pairs, n = result["pairs"], result["architectures"]
    turned = share_of_pairs(result["swapped"] / pairs, n, asked)
    verdicts = is_preserved(share_of_pairs(result["same"] / pairs, n, asked)[0], *turned)
    result.insert(result.columns.get_loc("identical"), "preserved", verdicts)
    needed = fewest_to_preserve(len(rows), level)
    remarks = [f"An order can be told to hold from {needed} architectures on."]
    family = family_of(len(rows), "dataset")
    return with_attrs(result, level, n=n.max(), family=family, remarks=remarks)


def share_of_pairs(share: ArrayLike, n: ArrayLike, level: float) -> tuple[Floats, Floats]:
    """Ends of intervals of shares of the pairs of n architectures, over architectures.

    Wilson's, of n / 2 independent pairs: a share of pairs varies at most as much (Hoeffding, "A
    class of statistics with asymptotically normal distribution", 1948, section 5).
    """
    return wilson_interval(share, np.asarray(n) / 2, level)


def fewest_to_preserve(asked: int, level: float = 0.95) -> int:
    """The fewest architectures of which an order can be told to be preserved, for so many datasets.

    Where no pair at all is reversed, the interval of the reversed share (`share_of_pairs`) reaches
    down to `LARGEST_REVERSED` from so many on.

    >>> [fewest_to_preserve(asked) for asked in (1, 3, 7, 20)]
    [70, 104, 131, 165]
    """
    z = float(ndtri((1 + bonferroni(level, asked)) / 2))
    return math.ceil(2 * z**2 * (1 / LARGEST_REVERSED - 1))


def _compare(reference: pd.DataFrame, other: pd.DataFrame) -> dict[str, object]:
    x, y = reference["error"].to_numpy(), other["error"].to_numpy()
    flat = min(len(np.unique(x)), len(np.unique(y))) == 1
    tau = np.nan if flat else scipy.stats.kendalltau(x, y).statistic
    ends = [(table["low"].to_numpy(), table["high"].to_numpy()) for table in (reference, other)]
    same, swapped = ordered_pairs(*ends)
    pairs = len(x) * (len(x) - 1) // 2
    return {
        "pairs": pairs,
        "same": same,
        "tied": pairs - same - swapped,
        "swapped": swapped,
        "identical": ordered_pairs((x, x), (y, y))[1] == 0,
        "tau": float(tau),
    }


def ordered_pairs(x: tuple[Floats, Floats], y: tuple[Floats, Floats]) -> tuple[int, int]:
    """Return how many pairs are in the same order in x and y, and how many in reversed order.

    x and y are lower and upper ends (n,), (n,) of intervals; those that overlap have no order.
    """
    same = swapped = 0
    for start in range(0, len(x[0]), BLOCK):
        rows = slice(start, start + BLOCK)
        # 1 where the row's interval lies above the column's, -1 below.
        orders = [
            (low[rows, None] > high).astype(np.int8) - (high[rows, None] < low)
            for low, high in (x, y)
        ]
        product = orders[0] * orders[1]
        same, swapped = same + int((product > 0).sum()), swapped + int((product < 0).sum())
    return same // 2, swapped // 2  # every pair was met from both sides
