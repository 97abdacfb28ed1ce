"""From an original to a new test set: drops of accuracy, changes of rank, test-time transforms.

Recht et al. 2019 (paper 2), sections 2 and 3.3, Table 1. A model's accuracy on a test set is its
share of a random sample of images; intervals are of that sampling error. Salaudeen and Hardt 2024
(paper 4), section 4.2 and Appendix B.2: mean over transforms of the test images, and how stable the
ranking is from one transform to the next.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from anynet_study.analysis.apr.bootstrap import draws, pairwise, resample_correlations
from anynet_study.analysis.apr.correlations import p_values
from anynet_study.analysis.apr.error_tables import (
    FEWEST,
    check_accuracies,
    check_columns,
    check_errors,
)
from anynet_study.analysis.apr.interval_formulas import wilson_interval
from anynet_study.analysis.apr.noise import free_of_noise
from anynet_study.analysis.apr.options import Floats, Ints, with_attrs
from anynet_study.analysis.apr.simultaneous import bonferroni, simultaneous
from anynet_study.analysis.apr.verdicts import SMALLEST_CORRELATION, family_of, verdict
from anynet_study.core.errors import DoesNotApplyError, counted
from anynet_study.core.metrics import binomial_interval, check_level

LONG = ["architecture", "evaluation", "error"]


def gaps(
    accuracies: pd.DataFrame,
    original: str,
    new: str,
    images: Mapping[str, int] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Every architecture's drop in accuracy and change of rank (paper 2, Table 1).

    `accuracies` in percent, architectures x test sets. Returns DataFrame[architecture, original,
    new, gap, original_rank, new_rank, rank_change], best on the original first, of the
    architectures that have both. gap = original - new, in percentage points; equal accuracies
    share the better rank; rank_change = original_rank - new_rank, so -2 is a fall by two places.

    With `images`, test set -> number of images, each of original, new, gap and rank_change is
    followed by its _low and _high: Clopper-Pearson for accuracies, Newcombe's hybrid score
    interval (1998, method 10) for the gap of two independent test sets, and for the change of rank
    percentiles of resamples in which every accuracy is drawn anew from a binomial distribution.
    That takes models as wrong independently of each other; as they share their hard images,
    intervals of ranks are, if anything, too wide.

    Then also rest_low, rest_high and `beyond`: how much of each gap can be the new test set's
    sampling error (section 2). The drop L_S' - L_S = (L_S' - L_D') + (L_D' - L_D) + (L_D - L_S) in
    the errors on the original test set S and the new one S' of the distributions D and D'. The
    first term, the generalisation gap, is sampling error alone, as S' is independent of the models:
    it lies where the Clopper-Pearson interval of the new accuracy says. What remains, within
    [rest_low, rest_high], is the distribution gap and the adaptivity gap (to which the sampling
    error of S counts), which one pair of test sets cannot tell apart. `beyond` is whether sampling
    error of both test sets cannot be the gap: 0 is outside Newcombe's interval of it.

    Raises UserError for fewer than 2 architectures, and for what is no accuracy in percent.

    >>> accuracies = pd.DataFrame({"old": [90, 88, 85], "new": [80, 79, 70]}, index=list("abc"))
    >>> gaps(accuracies, "old", "new", resamples=100)
      architecture  original   new   gap  original_rank  new_rank  rank_change
    0            a      90.0  80.0  10.0              1         1            0
    1            b      88.0  79.0   9.0              2         2            0
    2            c      85.0  70.0  15.0              3         3            0
    """
    check_level(level, resamples, seed)
    both = _both(accuracies, original, new)
    result = both.set_axis(["original", "new"], axis=1).reset_index()
    result["gap"] = result["original"] - result["new"]
    ranks = ranks_of(both.to_numpy().T)
    result["original_rank"], result["new_rank"] = ranks
    result["rank_change"] = ranks[0] - ranks[1]
    if images is not None:
        sizes = [image_count(images, name) for name in (original, new)]
        result = _with_intervals(result, sizes, resamples, seed, level)
    order = np.lexsort([result["new_rank"], result["original_rank"]])
    result = result.iloc[order].reset_index(drop=True)
    return with_attrs(result, None if images is None else level, n=len(result))


def mean_change(
    accuracies: pd.DataFrame,
    original: str,
    new: str,
    images: Mapping[str, int] | None = None,
    level: float = 0.95,
) -> tuple[float, float, float]:
    """The mean change of accuracy, new - original, in points, and its interval.

    The interval allows for other architectures and other images of both test sets: Student's t,
    with the variance of the mean over architectures plus p (1 - p) / m of each test set of m
    images. That is the most that images can add, where all architectures are wrong on the same of
    them; predictions would tell how much less it is. NaN ends without `images`.
    """
    check_level(level)
    both = _both(accuracies, original, new)
    change, n = both[new] - both[original], len(both)
    mean = float(change.mean())
    if images is None:
        return mean, np.nan, np.nan
    shares = both.mean() / 100
    sizes = np.array([image_count(images, str(name)) for name in both])
    sampling = float((1e4 * shares * (1 - shares) / sizes).sum())
    reach = scipy.stats.t.ppf((1 + level) / 2, n - 1) * np.sqrt(change.var(ddof=1) / n + sampling)
    return mean, mean - float(reach), mean + float(reach)


def image_reliability(
    accuracies: pd.Series, images: int | None, level: float = 0.95
) -> tuple[float, float]:
    """The share of the variance of accuracies (%) that is no sampling error; and its lower bound.

    1 - s / v, of the mean binomial variance s and the variance v between architectures, which for
    the bound is the lower end of its interval (chi-squared, of normal accuracies). As all
    architectures see the same images, they are more alike than that, and it is a lower bound
    itself. NaN without the number of images.
    """
    known = accuracies.dropna().to_numpy()
    if images is None or len(known) < 2 or not known.std():
        return np.nan, np.nan
    noise, variance = float((known * (100 - known)).mean()) / images, float(known.var(ddof=1))
    freedom = len(known) - 1
    least = variance * freedom / scipy.stats.chi2.ppf((1 + level) / 2, freedom)
    return 1 - noise / variance, 1 - noise / least


def image_count(images: Mapping[str, int], name: str) -> int:
    """Images of a test set. Raises UserError where it is unknown, or none."""
    if name not in images:
        raise DoesNotApplyError(
            f"images: no count for {name}; there are {', '.join(map(str, images))}"
        )
    if images[name] < 1:
        raise DoesNotApplyError(f"images of {name}: {images[name]}; a test set has at least 1")
    return int(images[name])


def difference_interval(
    first: Floats, second: Floats, sizes: tuple[int, int], level: float
) -> tuple[Floats, Floats]:
    """Newcombe's intervals of differences of accuracies (percent) on two independent test sets."""
    low_1, high_1 = wilson_interval(first / 100, sizes[0], level)
    low_2, high_2 = wilson_interval(second / 100, sizes[1], level)
    p, q = first / 100, second / 100
    low = p - q - np.sqrt((p - low_1) ** 2 + (high_2 - q) ** 2)
    high = p - q + np.sqrt((high_1 - p) ** 2 + (q - low_2) ** 2)
    return 100 * low, 100 * high


def _both(accuracies: pd.DataFrame, original: str, new: str) -> pd.DataFrame:
    """The architectures that have both accuracies."""
    check_columns(accuracies, [original, new], "accuracies")
    if original == new:
        raise DoesNotApplyError(f"new: {new} is the original test set, too")
    both = check_accuracies(accuracies[[original, new]]).dropna()
    if len(both) < 2:
        raise DoesNotApplyError(
            f"accuracies: {counted(len(both), 'architecture')} with both {original} and {new}; "
            "at least 2 are needed"
        )
    return both


def _with_intervals(
    result: pd.DataFrame, sizes: list[int], resamples: int, seed: int, level: float
) -> pd.DataFrame:
    ends: dict[str, tuple[Any, Any]] = {}
    for name, size in zip(("original", "new"), sizes, strict=True):
        low, high = binomial_interval(100 - result[name], size, level)
        ends[name] = 100 - high, 100 - low
    accuracies = result[["original", "new"]].to_numpy().T
    ends["gap"] = difference_interval(accuracies[0], accuracies[1], (sizes[0], sizes[1]), level)
    generator, shape = np.random.default_rng(seed), (resamples, len(result))
    shares = zip(sizes, accuracies / 100, strict=True)
    before, after = (ranks_of(generator.binomial(size, share, shape)) for size, share in shares)
    changes = before - after
    ends["rank_change"] = whole_percentiles(changes, result["rank_change"].to_numpy(), level)
    for name, (low, high) in ends.items():
        place = int(result.columns.get_loc(name)) + 1
        result.insert(place, f"{name}_low", low)
        result.insert(place + 1, f"{name}_high", high)
    result["rest_low"] = result["original"] - result["new_high"]
    result["rest_high"] = result["original"] - result["new_low"]
    return result.assign(beyond=(result["gap_low"] > 0) | (result["gap_high"] < 0))


def whole_percentiles(draws: Ints, estimate: Ints, level: float) -> tuple[Ints, Ints]:
    """Percentiles (m,) of whole numbers (b, m), rounded outwards; they hold the estimate."""
    tail = (1 - level) / 2
    low = np.quantile(draws, tail, axis=0, method="lower").astype(np.int64)
    high = np.quantile(draws, 1 - tail, axis=0, method="higher").astype(np.int64)
    return np.minimum(low, estimate), np.maximum(high, estimate)


def ranks_of(accuracies: ArrayLike) -> Ints:
    """(b, m) ranks from 1, the best first; equal ones share the better rank."""
    ranks: Ints = scipy.stats.rankdata(-np.asarray(accuracies), method="min", axis=1).astype(
        np.int32
    )
    return ranks


def shift_ranks(
    errors: pd.DataFrame, resamples: int = 10_000, seed: int = 0, level: float = 0.95
) -> pd.DataFrame:
    """Mean error over the transforms and its rank, per architecture.

    `errors` in percent, architectures x evaluations (`ResultStore.evaluation_errors`), the images
    as they are among them; or long, with columns architecture, evaluation, error. Returns
    DataFrame[architecture, mean, std, rank, rank_low, rank_high, rank_mean, rank_best, rank_worst,
    evaluations], the best first. `rank` is the mean error's, with percentiles over resamples of the
    transforms, as if they were drawn from all one might have taken; rank_mean, _best and _worst are
    of the ranks under each. Equal errors share the better rank. Architectures that lack an
    evaluation are left out; `attrs["left_out"]` is how many.
    """
    check_level(level, resamples, seed)
    table, left_out = _complete(errors)
    values = table.to_numpy()
    by_evaluation = ranks_of(-values.T)
    rank = ranks_of(-values.mean(axis=1)[None])[0]
    count = values.shape[1]
    means = (block @ values.T / count for block in draws(count, resamples, seed))
    drawn = np.concatenate([ranks_of(-np.round(mean, 9)) for mean in means])
    low, high = whole_percentiles(drawn, rank, level)
    result = pd.DataFrame(
        {
            "architecture": table.index,
            "mean": values.mean(axis=1),
            "std": values.std(axis=1, ddof=1),
            "rank": rank,
            "rank_low": low,
            "rank_high": high,
            "rank_mean": by_evaluation.mean(axis=0),
            "rank_best": by_evaluation.min(axis=0),
            "rank_worst": by_evaluation.max(axis=0),
            "evaluations": count,
        }
    )
    result = result.sort_values("rank", kind="stable", ignore_index=True)
    return with_attrs(result, level, n=len(result), left_out=left_out)


def shift_agreement(
    errors: pd.DataFrame,
    reference: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    images: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    """Spearman's rho of the errors under every transform with those under the reference.

    `errors` as in `shift_ranks`; the reference is by default the first column ("test", the
    images as they are). Returns DataFrame[evaluation, error, estimate, low, high, n, p, holds_low,
    holds_high, holds, note], `error` the mean over architectures, `holds` the verdict on whether
    the ranking carries over (`apr.verdicts`, the evaluations are one family). It rests on holds_low
    to holds_high, an interval of the correlation without the sampling error of the test sets
    (`free_of_noise`, `image_reliability`), which holds for all evaluations together; without the
    numbers of `images` it is open above 0. `attrs["averages"]` has one
    row, a dict with these columns but for `holds`: of the errors averaged over all evaluations but
    the reference. Where an evaluation's (or the reference's) errors are all equal, or fewer than 4
    architectures have all evaluations, there is no estimate, and `note` says so.
    """
    check_level(level, resamples, seed)
    table, _ = _complete(errors)
    reference = str(table.columns[0]) if reference is None else reference
    check_columns(table, [reference], "errors")
    others = table.drop(columns=reference)
    wide = table[[reference]].join(others).assign(average=others.mean(axis=1))
    values = wide.to_numpy()
    pairs = pairwise(values, [(0, column) for column in range(1, values.shape[1])])
    resampled = resample_correlations(values, pairs.enough(), "spearman", resamples, seed)
    result = pd.DataFrame({"evaluation": wide.columns[1:], "error": values[:, 1:].mean(axis=0)})
    result = result.assign(**resampled.columns(level), n=pairs.counts)
    result["p"] = p_values(values, pairs, resampled.estimate, "spearman")
    why = "fewer than 4 architectures" if len(wide) < FEWEST else "all errors are equal"
    result = result.assign(note=np.where(result["estimate"].isna(), why, ""))
    result, averages = result.iloc[:-1], result.iloc[-1:].drop(columns="evaluation")
    together, known = bonferroni(level, len(result) + 1), dict(images or {})
    told = {
        str(name): image_reliability(100 - table[name], known.get(str(name)), together)
        for name in wide.columns[:-1]
    }
    iccs, lows = (
        np.array([[told[reference][of], told[name][of]] for name in result["evaluation"]])
        for of in (0, 1)
    )
    found = resampled[: len(result)]
    ends = free_of_noise(found.estimate, simultaneous(found, level), iccs, lows)
    for name, column in zip(
        ("holds_low", "holds_high", "holds"), (*ends, verdict(*ends, SMALLEST_CORRELATION)),
        strict=True,
    ):  # fmt: skip
        result.insert(len(result.columns) - 1, name, column)
    family, rows = family_of(len(result), "test set"), averages.to_dict("records")
    return with_attrs(result, level, "spearman", family=family, averages=rows)


def _complete(errors: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """The wide table of architectures with all evaluations, and how many lack one."""
    wide = errors
    if set(LONG) <= set(errors.columns):
        if errors.duplicated(LONG[:2]).any():
            first = errors[errors.duplicated(LONG[:2])].iloc[0]
            which = f"{first['architecture']}, {first['evaluation']}"
            raise DoesNotApplyError(f"errors: {which} is there more than once")
        wide = errors.pivot(index="architecture", columns="evaluation", values="error")
        wide = wide.loc[errors["architecture"].unique(), errors["evaluation"].unique()]
    table = check_errors(wide, 0).rename_axis(columns=None)
    if table.shape[1] < 2:
        raise DoesNotApplyError(f"errors: {table.shape[1]} evaluations; at least 2 are needed")
    complete = table.dropna()
    if len(complete) < 2:
        raise DoesNotApplyError(
            f"errors: {counted(len(complete), 'architecture')} with all evaluations; 2 are needed"
        )
    return complete, len(table) - len(complete)
