"""Error distribution functions (EDFs) of populations, and what they say of random search.

F(e) is the fraction of a design space's models that err at most e: Radosavovic et al., "On Network
Design Spaces for Visual Recognition" (2019, section 3), who write "less than e", which is the same
curve. The area above it is the mean error.

A resample draws as many models as there are, with replacement; every model keeps its weight and the
weights of those drawn are made to sum to 1 again. Weights count as fixed: where they come from bins
of the same models (`match_complexity`), the resamples also vary in how many models of a bin they
hold, so that intervals are, if anything, too wide.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from anynet_study.analysis.apr.bootstrap import draws, percentiles
from anynet_study.analysis.apr.error_tables import FEWEST, check_errors
from anynet_study.analysis.apr.options import Floats, Ints, Multiplicities, with_attrs
from anynet_study.analysis.apr.population import effective_size
from anynet_study.core.errors import DoesNotApplyError, UserError
from anynet_study.core.metrics import check_level

#: Resamples that share a random stream. Few, so that 400,000 models take 0.3 GB.
BLOCK = 16
#: One value per model.
Column: TypeAlias = "pd.Series | NDArray[np.float64] | Sequence[float]"
#: Distinct errors up to which each has its own band; between more of them it is interpolated.
POINTS = 1_000
#: Largest share of the models, of whose best one an interval is given.
FEW = 0.25


@dataclass(frozen=True)
class Sample:
    """The models that have an error, and a weight above 0, in the order of their errors."""

    #: (k,) distinct errors, rising.
    errors: Floats
    #: (k,) position of the first model with that error.
    starts: Ints
    #: (n,) weights of the models, with mean 1.
    weights: Floats
    #: Models without an error.
    missing: int
    #: Random stream of the resamples: those of different populations are independent.
    stream: int

    @property
    def n(self) -> int:
        """Models that count."""
        return len(self.weights)

    @property
    def effective(self) -> float:
        """Models of equal weight that would say as much."""
        return effective_size(self.weights)

    @property
    def weighted(self) -> bool:
        """Tell whether some models count more than others."""
        return bool((self.weights != 1).any())

    @property
    def masses(self) -> Floats:
        """(k,) share of each distinct error."""
        once: Multiplicities = np.ones((1, self.n), dtype=np.int32)
        return self._masses(once).ravel()

    def resampled(self, resamples: int, seed: int) -> Iterator[Floats]:
        """Blocks (b, k) of the shares in resamples: the same for a seed on every machine."""
        return map(self._masses, draws(self.n, resamples, seed, BLOCK, self.stream))

    def statistics(
        self, function: Callable[[Floats], Floats], resamples: int, seed: int
    ) -> tuple[Floats, Floats]:
        """(s,) statistics of the sample and (resamples, s) of resamples.

        `function` maps shares (b, k) to statistics (b, s).
        """
        drawn = [function(masses) for masses in self.resampled(resamples, seed)]
        return function(self.masses[None])[0], np.concatenate(drawn)

    def _masses(self, multiplicities: Multiplicities) -> Floats:
        totals: Floats = np.add.reduceat(multiplicities * self.weights, self.starts, axis=1)
        masses: Floats = totals / totals.sum(axis=1, keepdims=True)
        return masses


def make_sample(errors: Column, weights: ArrayLike | None = None, name: str = "errors") -> Sample:
    """Sort the errors of a population called `name`, percent; NaN is left out.

    `weights`, one per model and at least 0, are matched by index where both are Series. Raises
    UserError for illegal errors or weights, and for fewer than 4 models that count.
    """
    series = errors if isinstance(errors, pd.Series) else pd.Series(np.asarray(errors))
    values = check_errors(series.to_frame(name), 0, name)[name].to_numpy()
    heights = _weights(series, weights, name)
    present = ~np.isnan(values)
    counts = present & (heights > 0)
    if counts.sum() < FEWEST:
        of = "with an error" if weights is None else "with an error and a weight above 0"
        raise DoesNotApplyError(f"{name}: {counts.sum()} models {of}; at least {FEWEST} are needed")
    # By weight within ties: what the resamples draw must not depend on the table's order.
    order = np.lexsort((heights[counts], values[counts]))
    distinct, starts = np.unique(values[counts][order], return_index=True)
    used = heights[counts][order]
    missing = int((~present).sum())
    return Sample(distinct, starts, used / used.mean(), missing, zlib.crc32(name.encode()))


def make_samples(
    errors: Mapping[str, Column], weights: Mapping[str, ArrayLike] | None = None
) -> dict[str, Sample]:
    """One sample per population, by name."""
    absent = [name for name in errors if weights is not None and name not in weights]
    if absent:
        raise DoesNotApplyError(f"weights: none for {', '.join(absent)}")
    chosen = weights or {}
    return {name: make_sample(each, chosen.get(name), name) for name, each in errors.items()}


def medians(masses: Floats, errors: Floats) -> Floats:
    """(b,) medians of distributions (b, k) over rising errors: the middle of the middle errors."""
    cumulated = np.cumsum(masses, axis=1)
    lower = (cumulated < 0.5 - 1e-12).sum(axis=1)
    upper = (cumulated < 0.5 + 1e-12).sum(axis=1)
    middle: Floats = (errors[lower] + errors[np.minimum(upper, len(errors) - 1)]) / 2
    return middle


def _weights(errors: pd.Series, weights: ArrayLike | None, what: str) -> Floats:
    if weights is None:
        return np.ones(len(errors))
    if isinstance(weights, pd.Series) and not weights.index.equals(errors.index):
        unknown = errors.index.difference(weights.index, sort=False)
        if len(unknown):
            raise DoesNotApplyError(
                f"{what}: weights: none for {len(unknown)} models, such as {unknown[0]}"
            )
        weights = weights.loc[errors.index]
    values: Floats = np.asarray(weights, dtype=np.float64)
    if values.shape != (len(errors),):
        raise DoesNotApplyError(f"{what}: weights: {values.size} for {len(errors)} models")
    if not (np.isfinite(values) & (values >= 0)).all():
        raise DoesNotApplyError(f"{what}: weights: legal are finite numbers, at least 0")
    return values


def edf(
    errors: Column,
    weights: ArrayLike | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    name: str = "errors",
) -> pd.DataFrame:
    """The error distribution function of one population, with a pointwise bootstrap band.

    `errors` in percent, one per model; NaN is left out. `weights` (see `match_complexity`) make it
    the paper's normalised EDF. `name` is the population's: resamples of different names are
    independent. Returns DataFrame[error, fraction, low, high, n, missing], one row for each
    distinct error, rising: the fraction of models that err at most that much, the models that count
    and those without an error (the same in every row). The band is a percentile interval: it has no
    width at the largest error, and says nothing of errors below the smallest.

    Raises UserError for fewer than 4 errors, and for weights that are negative or missing.
    """
    check_level(level, resamples, seed)
    sample = make_sample(errors, weights, name)
    count = len(sample.errors)
    at = np.unique(np.linspace(0, count - 1, min(count, POINTS)).round().astype(np.int64))
    fraction = _cumulated(sample.masses[None])[0]
    drawn = sample.statistics(lambda masses: _cumulated(masses)[:, at], resamples, seed)[1]
    ends = percentiles(drawn, fraction[at], level)
    low, high = (np.interp(np.arange(count), at, end) for end in ends)
    columns = {"error": sample.errors, "fraction": fraction, "low": low, "high": high}
    result = pd.DataFrame({**columns, "n": sample.n, "missing": sample.missing})
    return with_attrs(result, level, weighted=sample.weighted)


def edf_summary(
    errors: Mapping[str, Column],
    weights: Mapping[str, ArrayLike] | None = None,
    below: float | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Return what the EDFs of design spaces say in numbers, one row per space.

    `errors` maps the name of a space to its models' errors (percent), `weights` likewise. Returns
    DataFrame[space, n, missing, effective, mean, mean_low, mean_high, median, median_low,
    median_high, best] and, with `below`, fraction, fraction_low, fraction_high: the share of models
    with an error below `below`. `effective` is Kish's effective sample size, n without weights.
    `best` is the smallest error found; it has no interval because the sample does not tell how much
    better the best of the whole space is.
    """
    check_level(level, resamples, seed)
    rows = []
    for name, sample in make_samples(errors, weights).items():
        size = sample.effective
        row = {"space": name, "n": sample.n, "missing": sample.missing, "effective": size}
        summary = partial(_summary, sample=sample, below=below)
        estimate, drawn = sample.statistics(summary, resamples, seed)
        low, high = percentiles(drawn, estimate, level, size)
        for index, statistic in enumerate(("mean", "median", "fraction")[: len(estimate)]):
            row[statistic] = estimate[index]
            row[f"{statistic}_low"], row[f"{statistic}_high"] = low[index], high[index]
        rows.append({**row, "best": sample.errors[0]})
    return with_attrs(pd.DataFrame(rows), level, weighted=weights is not None)


def _summary(masses: Floats, sample: Sample, below: float | None) -> Floats:
    """(b, 2 or 3) mean, median and the fraction below an error, of distributions (b, k)."""
    columns = [masses @ sample.errors, medians(masses, sample.errors)]
    if below is not None:
        columns.append(masses[:, sample.errors < below].sum(axis=1))
    return np.column_stack(columns)


def _cumulated(masses: Floats) -> Floats:
    cumulated = np.cumsum(masses, axis=1)
    cumulated[:, -1] = 1.0
    return np.minimum(cumulated, 1.0, out=cumulated)


def random_search(
    errors: Column,
    sizes: Sequence[int] | None = None,
    weights: ArrayLike | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    name: str = "errors",
) -> pd.DataFrame:
    """Expected error of the best of m random models of a design space, for each m of `sizes`.

    The random search efficiency of Radosavovic et al. 2019, section 3: there simulated by drawing
    subsets, here in closed form.

    `errors` in percent, one per model; NaN is left out. Without weights this is the mean over all
    subsets of m of the n models, which is unbiased for m new models of the space. With weights the
    m models are drawn with replacement, with probabilities as the weights. `sizes` are at most n;
    by default 1, 2, 5, 10, 20, 50, ... and n.

    Returns DataFrame[size, error, low, high, n, missing]; the interval is that of the bootstrap
    over models, moved to be centred on the estimate: the best of m in a resample, which repeats
    models, is worse. It is NaN where m exceeds a quarter of the (effective) n: there so few models
    decide that no resampling tells how far off they are. Nominal 95% intervals held the truth for
    samples of 16 to 100 models, normal or skewed, in 93% to 96% of the cases for m = 1, 90% to 94%
    for a tenth of the models, and 81% to 93% for a quarter.
    """
    check_level(level, resamples, seed)
    sample = make_sample(errors, weights, name)
    chosen = _sizes(sizes, sample.n)
    expected = partial(_expected_best, sample=sample, sizes=chosen)
    estimate, drawn = sample.statistics(expected, resamples, seed)
    centred = drawn + estimate - drawn.mean(axis=0)
    low, high = percentiles(centred, estimate, level, sample.effective)
    few = np.array(chosen) <= max(1, FEW * sample.effective)
    low, high = np.where(few, low, np.nan), np.where(few, high, np.nan)
    columns = {"size": chosen, "error": estimate, "low": low, "high": high}
    result = pd.DataFrame({**columns, "n": sample.n, "missing": sample.missing})
    return with_attrs(result, level, weighted=sample.weighted)


def _sizes(sizes: Sequence[int] | None, n: int) -> list[int]:
    if sizes is None:
        steps = (digit * 10**power for power in range(9) for digit in (1, 2, 5))
        return [*(step for step in steps if step < n), n]
    for size in sizes:
        if not 1 <= size <= n:
            raise DoesNotApplyError(f"sizes: {size} is not from 1 to the {n} models that there are")
    return list(sizes)


def _expected_best(masses: Floats, sample: Sample, sizes: Sequence[int]) -> Floats:
    """(b, sizes) expected smallest error of m models, for distributions (b, k).

    The smallest error, plus each step to the next one times the chance that all m are beyond it.
    """
    beyond = np.clip(1 - np.cumsum(masses, axis=1)[:, :-1], 0, 1)
    steps = np.diff(sample.errors)
    if sample.weighted:
        chances = (beyond**size for size in sizes)
    else:
        models = np.round(beyond * sample.n).astype(np.int64)
        chances = (_all_beyond(size, sample.n)[models] for size in sizes)
    return np.column_stack([sample.errors[0] + chance @ steps for chance in chances])


def _all_beyond(size: int, n: int) -> Floats:
    """(n + 1,) chance that a subset of `size` of n models lies in 0, 1, ... n given models."""
    models = np.arange(size, n + 1)
    ways = gammaln(models + 1) - gammaln(models - size + 1)
    chances: Floats = np.r_[np.zeros(size), np.exp(ways - ways[-1])]
    return chances


def good_range(
    errors: Column,
    parameters: pd.DataFrame,
    weights: ArrayLike | None = None,
    fraction: float = 0.25,
    level: float = 0.95,
) -> pd.DataFrame:
    """The value of each parameter that good models have, with its range.

    The empirical bootstrap of Radosavovic et al., "Designing Network Design Spaces" (2020, section
    3): draw a `fraction` of the models with replacement, keep the best one's value, and repeat; the
    median and the middle 95% of the values are the best value and its range. Here in closed form,
    as if repeated without end: the best of m draws is among the k best models with probability
    1 - (1 - k/n)^m.

    `errors` (percent, one per model) and the rows of `parameters`, one numeric column each,
    are in the same order; models without an error, or without that parameter, are left out. Models
    of equal error share the probability to be the best, in proportion to `weights`.

    Returns DataFrame[parameter, best, low, high, n]: `best` is the median of the best models'
    values, between `low` and `high` lie `level` of them. A range is narrower than that of the
    population by chance, too: of a parameter that has nothing to do with the errors, it spanned 71%
    of all of 30 models, and 51% of 500.
    """
    if not 0 < fraction <= 1 or not 0 < level < 1:
        raise UserError(f"fraction: {fraction}, level: {level}; legal: between 0 and 1")
    if len(parameters) != len(errors):
        raise DoesNotApplyError(f"parameters: {len(parameters)} rows for {len(errors)} errors")
    series = pd.Series(np.asarray(errors, dtype=np.float64))
    heights = pd.Series(np.ones(len(series)) if weights is None else np.asarray(weights))
    tails = np.array([(1 - level) / 2, 0.5, (1 + level) / 2])
    rows = []
    for name, values in parameters.items():
        numbers = pd.Series(values.to_numpy(dtype=np.float64, na_value=np.nan))
        known = numbers.notna() & series.notna() & (heights > 0)
        chances = _chance_best(series[known], heights[known], fraction, str(name))
        rising = numbers[known].argsort(kind="stable").to_numpy()
        cumulated = np.cumsum(chances[rising]) / chances.sum()
        places = np.searchsorted(cumulated, tails - 1e-12)
        low, best, high = numbers[known].to_numpy()[rising][places]
        rows.append({"parameter": name, "best": best, "low": low, "high": high, "n": known.sum()})
    result = pd.DataFrame(rows, columns=["parameter", "best", "low", "high", "n"])
    return with_attrs(result, level, weighted=weights is not None)


def _chance_best(errors: pd.Series, weights: pd.Series, fraction: float, name: str) -> Floats:
    """(n,) probability that a model is the best of a resample of a fraction of the models."""
    sample = make_sample(errors, weights, name)
    size = max(1, round(fraction * sample.n))
    beyond = np.clip(1 - np.cumsum(sample.masses), 0, 1)
    of_error = -np.diff(np.r_[1.0, beyond] ** size)
    place = np.searchsorted(sample.errors, errors.to_numpy())
    share = weights.to_numpy() / np.bincount(place, weights)[place]
    chances: Floats = of_error[place] * share
    return chances
