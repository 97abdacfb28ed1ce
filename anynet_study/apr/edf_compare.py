"""Comparing design spaces by the distributions of their models' errors.

Radosavovic et al., "On Network Design Spaces for Visual Recognition" (2019, section 3).

For 16 to 200 models a space, one normal and one skewed, nominal 95% intervals held the truth in 94%
to 98% of the cases; with weights of `match_complexity` in 97% to 99%. The bootstrap's p-value was
below 0.05 for 4% to 5% of equal spaces of 16 models or more, for 6% to 9% of those of 6 to 10.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from anynet_study.apr.edf_sample import (
    Column,
    Sample,
    check_seed,
    make_samples,
    medians,
    percentiles,
)
from anynet_study.apr.intervals import check_level
from anynet_study.apr.ranks import Floats, Ints
from anynet_study.errors import UserError

STATISTICS = ("mean_difference", "median_difference", "probability")


def compare_spaces(
    errors: Mapping[str, Column],
    weights: Mapping[str, ArrayLike] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Compare every pair of design spaces, a row a pair (a, b) in the order given.

    `errors` maps the name of a space to its models' errors (percent, NaN is left out), `weights`
    likewise (see `match_complexity`). The spaces' models count as drawn independently: of the same
    architectures trained twice, intervals of differences are too wide.

    Returns DataFrame[a, b, n_a, n_b, mean_difference, mean_difference_low, mean_difference_high,
    median_difference, ..., probability, ..., ks, p, p_holm]. Differences are a - b, in percentage
    points: negative where a is better. `probability` is that a random model of a errs less than a
    random one of b, ties count half. Intervals are bootstrap percentiles. `ks` is the
    Kolmogorov-Smirnov distance, the largest difference of the two EDFs; its `p` is scipy's exact
    one without weights, else that of the bootstrap of the EDFs' deviations from the sample's.
    `p_holm` is p corrected for the number of pairs (Holm 1979).

    Raises UserError for fewer than two spaces, and as `edf` does.
    """
    check_level(level, resamples)
    check_seed(seed)
    if len(errors) < 2:
        raise UserError(f"errors: {len(errors)} design spaces; a comparison needs two")
    samples = make_samples(errors, weights)
    pairs = [_Pair.of(samples, a, b) for a, b in combinations(samples, 2)]
    drawn = [sample.resampled(resamples, seed) for sample in samples.values()]
    blocks: list[list[Floats]] = [[] for _ in pairs]
    for masses in zip(*drawn, strict=True):
        resampled = dict(zip(samples, masses, strict=True))
        for pair, rows in zip(pairs, blocks, strict=True):
            rows.append(pair.statistics(resampled[pair.a], resampled[pair.b]))
    draws = map(np.concatenate, blocks)
    table = pd.DataFrame([p.row(d, level) for p, d in zip(pairs, draws, strict=True)])
    return table.assign(p_holm=holm(table["p"].to_numpy()))


def holm(p: ArrayLike) -> Floats:
    """(k,) p-values of k tests, corrected so that any is wrongly below 0.05 in 5% of the cases."""
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


@dataclass(frozen=True)
class _Pair:
    """Two spaces, and where each error of one lies among those of the other."""

    a: str
    b: str
    left: Sample
    right: Sample
    #: (k_a,) errors of b below, and at most, each error of a.
    below: Ints
    at_most: Ints
    #: (k,) errors of a, and of b, at most each error that either has.
    left_upto: Ints
    right_upto: Ints

    @classmethod
    def of(cls, samples: Mapping[str, Sample], a: str, b: str) -> "_Pair":
        left, right = samples[a], samples[b]
        either = np.union1d(left.errors, right.errors)
        places = [
            np.searchsorted(right.errors, left.errors, "left"),
            np.searchsorted(right.errors, left.errors, "right"),
            np.searchsorted(left.errors, either, "right"),
            np.searchsorted(right.errors, either, "right"),
        ]
        return cls(a, b, left, right, *places)

    def statistics(self, left: Floats, right: Floats) -> Floats:
        """(b, 4) STATISTICS of two distributions each, and how far their EDFs shift apart.

        The shift is the largest change of the difference of the EDFs from that of the samples.
        """
        cumulated = _from_zero(right)
        beaten = 1 - (cumulated[:, self.below] + cumulated[:, self.at_most]) / 2
        shift = self._gap(left, right) - self._gap(self.left.masses[None], self.right.masses[None])
        columns = [
            left @ self.left.errors - right @ self.right.errors,
            medians(left, self.left.errors) - medians(right, self.right.errors),
            np.clip((left * beaten).sum(axis=1), 0, 1),
            np.abs(shift).max(axis=1),
        ]
        return np.column_stack(columns)

    def row(self, draws: Floats, level: float) -> dict[str, object]:
        """The pair's row of the table, from statistics (resamples, 4)."""
        row: dict[str, object] = {"a": self.a, "b": self.b, "n_a": self.left.n, "n_b": self.right.n}
        masses = self.left.masses[None], self.right.masses[None]
        estimate = self.statistics(*masses)[0, :3]
        size = min(self.left.effective, self.right.effective)
        low, high = percentiles(draws[:, :3], estimate, level, size)
        for index, name in enumerate(STATISTICS):
            row[name] = estimate[index]
            row[f"{name}_low"], row[f"{name}_high"] = low[index], high[index]
        distance = float(np.abs(self._gap(*masses)).max())
        # Resamples of small samples vary too little.
        shifts = draws[:, 3] * np.sqrt(size / (size - 1))
        row |= {"ks": distance, "p": self._p_value(distance, shifts)}
        return row

    def _gap(self, left: Floats, right: Floats) -> Floats:
        """(b, k) difference of the EDFs, a - b, at every error that either has."""
        gap: Floats = _from_zero(left)[:, self.left_upto] - _from_zero(right)[:, self.right_upto]
        return gap

    def _p_value(self, distance: float, shifts: Floats) -> float:
        if self.left.weighted or self.right.weighted:
            return float((1 + (shifts >= distance - 1e-12).sum()) / (1 + len(shifts)))
        with warnings.catch_warnings():
            # Where scipy's exact p-value is within rounding of 1, it gives the asymptotic one.
            warnings.filterwarnings("ignore", "ks_2samp", RuntimeWarning)
            return float(stats.ks_2samp(_models(self.left), _models(self.right)).pvalue)


def _models(sample: Sample) -> Floats:
    """(n,) the error of every model."""
    sizes = np.diff(np.r_[sample.starts, sample.n])
    return np.repeat(sample.errors, sizes)


def _from_zero(masses: Floats) -> Floats:
    """(b, k + 1) the EDF after 0, 1, ... k distinct errors."""
    edf = np.zeros((len(masses), masses.shape[1] + 1))
    np.cumsum(masses, axis=1, out=edf[:, 1:])
    edf[:, -1] = 1.0  # but for rounding
    return edf
