"""Error distribution functions (EDFs) of populations.

F(e) is the fraction of a design space's models that err at most e: Radosavovic et al., "On Network
Design Spaces for Visual Recognition" (2019, section 3), who write "less than e", which is the same
curve. The area above it is the mean error.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from anynet_study.apr.edf_sample import (
    Column,
    Sample,
    check_seed,
    make_sample,
    make_samples,
    medians,
    percentiles,
)
from anynet_study.apr.intervals import check_level
from anynet_study.apr.ranks import Floats

#: Distinct errors up to which each has its own band; between more of them it is interpolated.
POINTS = 1_000


def edf(
    errors: Column,
    weights: ArrayLike | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    name: str = "errors",
) -> pd.DataFrame:
    """The error distribution function of one population, with a pointwise bootstrap band.

    `errors` in percent, one a model; NaN is left out. `weights` (see `match_complexity`) make it
    the paper's normalised EDF. `name` is the population's: resamples of different names are
    independent. Returns DataFrame[error, fraction, low, high, n, missing], a row for each distinct
    error, rising: the fraction of models that err at most that much, the models that count and
    those without an error (the same in every row). The band is a percentile interval: it has no
    width at the largest error, and says nothing of errors below the smallest.

    Raises UserError for fewer than 4 errors, and for weights that are negative or missing.
    """
    check_level(level, resamples)
    check_seed(seed)
    sample = make_sample(errors, weights, name)
    count = len(sample.errors)
    at = np.unique(np.linspace(0, count - 1, min(count, POINTS)).round().astype(np.int64))
    fraction = _cumulated(sample.masses[None])[0]
    draws = [_cumulated(block)[:, at] for block in sample.resampled(resamples, seed)]
    ends = percentiles(np.concatenate(draws), fraction[at], level)
    low, high = (np.interp(np.arange(count), at, end) for end in ends)
    columns = {"error": sample.errors, "fraction": fraction, "low": low, "high": high}
    return pd.DataFrame({**columns, "n": sample.n, "missing": sample.missing})


def edf_summary(
    errors: Mapping[str, Column],
    weights: Mapping[str, ArrayLike] | None = None,
    below: float | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """What the EDFs of design spaces say in numbers, a row a space.

    `errors` maps the name of a space to its models' errors (percent), `weights` likewise. Returns
    DataFrame[space, n, missing, effective, mean, mean_low, mean_high, median, median_low,
    median_high, best] and, with `below`, fraction, fraction_low, fraction_high: the share of models
    with an error below `below`. `effective` is Kish's effective sample size, n without weights.
    `best` is the smallest error found; it has no interval because the sample does not tell how much
    better the best of the whole space is.
    """
    check_level(level, resamples)
    check_seed(seed)
    rows = []
    for name, sample in make_samples(errors, weights).items():
        size = sample.effective
        row = {"space": name, "n": sample.n, "missing": sample.missing, "effective": size}
        estimate = _statistics(sample.masses[None], sample, below)[0]
        blocks = sample.resampled(resamples, seed)
        draws = np.concatenate([_statistics(block, sample, below) for block in blocks])
        low, high = percentiles(draws, estimate, level, size)
        for index, statistic in enumerate(("mean", "median", "fraction")[: len(estimate)]):
            row[statistic] = estimate[index]
            row[f"{statistic}_low"], row[f"{statistic}_high"] = low[index], high[index]
        rows.append(row)
        row["best"] = sample.errors[0]
    table = pd.DataFrame(rows)
    return table[[name for name in table.columns if name != "best"] + ["best"]]


def _statistics(masses: Floats, sample: Sample, below: float | None) -> Floats:
    """(b, 2 or 3) mean, median and the fraction below an error, of distributions (b, k)."""
    columns = [masses @ sample.errors, medians(masses, sample.errors)]
    if below is not None:
        columns.append(masses[:, sample.errors < below].sum(axis=1))
    return np.column_stack(columns)


def _cumulated(masses: Floats) -> Floats:
    cumulated = np.cumsum(masses, axis=1)
    cumulated[:, -1] = 1.0
    return np.minimum(cumulated, 1.0, out=cumulated)
