"""Architectures ranked by their mean accuracy over several datasets, as a benchmark of them.

Fang et al. 2023 (paper 3), section 6: the accuracy averaged over the targets, proposed as what
methods should be compared by.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import scipy

from anynet_study.analysis.apr.error_tables import check_columns, check_errors
from anynet_study.analysis.apr.gaps import image_count
from anynet_study.analysis.apr.interval_formulas import student_interval, wilson_interval
from anynet_study.analysis.apr.options import Floats, Ints, with_attrs
from anynet_study.analysis.apr.simultaneous import bonferroni
from anynet_study.core.errors import DoesNotApplyError, counted
from anynet_study.core.metrics import check_level


def benchmark(
    errors: pd.DataFrame,
    datasets: Sequence[str],
    images: Mapping[str, int] | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """The mean accuracy of each architecture over the datasets, and its rank by it.

    `errors` in percent, architectures x datasets; those that lack one of `datasets` are left out.
    Returns DataFrame[architecture, mean, low, high, rank, rank_best, rank_worst, lead, lead_low,
    lead_high, lowest, highest, datasets, n], the best first; accuracies in percent, equal ones
    share the better rank; lowest and highest are those on a single dataset.

    Two intervals, as two things can be asked. low to high is of the mean over exactly these
    datasets, on other test images: Wilson's intervals of the accuracies, put together by MOVER (Zou
    and Donner, "Construction of confidence limits about effect measures", 2008); rank_best to
    rank_worst are the ranks which such intervals of the differences of all pairs leave open, which
    hold together (Bonferroni). All architectures are tested on the same images, which makes these,
    if anything, too wide; the noise of training is not in them. NaN, or all ranks, where `images`
    (dataset -> number of test images) does not know all of the datasets.

    lead is how far the architecture is above the mean architecture, in points, on average over the
    datasets; its interval is for datasets like these (Student's t over the datasets).

    Raises DoesNotApplyError for fewer than two datasets, or architectures that have them all.

    >>> errors = pd.DataFrame({"a": [10, 20, 40, 41], "b": [30, 38, 60, 61]}, index=[*"wxyz"])
    >>> table = benchmark(errors, ["a", "b"], {"a": 1000, "b": 1000})
    >>> table[["architecture", "mean", "low", "high", "rank", "rank_worst"]].round(1)
      architecture  mean   low  high  rank  rank_worst
    0            w  80.0  78.2  81.6     1           1
    1            x  71.0  68.9  73.0     2           2
    2            y  50.0  47.8  52.1     3           4
    3            z  49.0  46.8  51.2     4           4
    """
    check_level(level)
    check_columns(errors, datasets, "errors")
    known = check_errors(errors)[[*datasets]].dropna()
    if len(datasets) < 2 or len(known) < 2:
        raise DoesNotApplyError(
            f"{counted(len(known), 'architecture')} with errors on all of "
            f"{counted(len(datasets), 'dataset')}; at least 2 of each are needed"
        )
    accuracies = 100 - known.to_numpy(float)
    mean, count = accuracies.mean(axis=1), len(datasets)
    best: Ints = np.ones(len(mean), np.int64)
    worst: Ints = np.full(len(mean), len(mean), np.int64)
    low = high = np.full(len(mean), np.nan)
    if images is not None and set(datasets) <= set(images):
        sizes = [image_count(images, name) for name in datasets]
        below, above = _reaches(accuracies, sizes, level)
        low, high = mean - below, mean + above
        pairs = len(mean) * (len(mean) - 1) // 2
        best, worst = _ranks(mean, *_reaches(accuracies, sizes, bonferroni(level, pairs)))
    lead, lead_low, lead_high = student_interval(accuracies - accuracies.mean(axis=0), level)
    result = pd.DataFrame(
        {
            **{"architecture": known.index, "mean": mean, "low": low, "high": high},
            "rank": scipy.stats.rankdata(-mean.round(9), method="min").astype(np.int64),
            **{"rank_best": best, "rank_worst": worst},
            **{"lead": lead, "lead_low": lead_low, "lead_high": lead_high},
            **{"lowest": accuracies.min(axis=1), "highest": accuracies.max(axis=1)},
            **{"datasets": count, "n": len(known)},
        }
    ).sort_values("rank", kind="stable", ignore_index=True)
    return with_attrs(result, level, n=len(known), left_out=len(errors) - len(known))


def _reaches(accuracies: Floats, sizes: Sequence[int], level: float) -> tuple[Floats, Floats]:
    """Return how far below and above the mean accuracy (n,) its interval goes, by MOVER."""
    below, above = np.zeros(len(accuracies)), np.zeros(len(accuracies))
    for column, size in zip(accuracies.T, sizes, strict=True):
        low, high = wilson_interval(column / 100, size, level)
        below, above = below + (column - 100 * low) ** 2, above + (100 * high - column) ** 2
    count = accuracies.shape[1]
    return np.sqrt(below) / count, np.sqrt(above) / count


def _ranks(mean: Floats, below: Floats, above: Floats) -> tuple[Ints, Ints]:
    """The best and worst rank (n,) that intervals of the differences of all pairs leave open."""
    # Another is clearly better where the interval of its mean less mine is above 0.
    ahead = mean[None] - mean[:, None] > np.hypot(below[None], above[:, None])
    return 1 + ahead.sum(axis=1), len(mean) - ahead.sum(axis=0)
