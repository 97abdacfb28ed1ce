"""Comparing design spaces by the distributions of their models' errors, also at equal complexity.

Radosavovic et al., "On Network Design Spaces for Visual Recognition" (2019, section 3). Larger
models err less, so that a space of larger models looks better than it is; the normalised EDF weighs
the models such that complexity is distributed uniformly.

For 16 to 200 models a space, one normal and one skewed, nominal 95% intervals held the truth in 94%
to 98% of the cases; with weights of `match_complexity` in 97% to 99%. The bootstrap's p-value was
below 0.05 for 4% to 5% of equal spaces of 16 models or more, for 6% to 9% of those of 6 to 10.
"""

import warnings
from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from anynet_study.analysis.apr.bootstrap import percentiles
from anynet_study.analysis.apr.correlations import adjust
from anynet_study.analysis.apr.edf import Column, Sample, make_samples, medians
from anynet_study.analysis.apr.options import Floats, with_attrs
from anynet_study.core.errors import DoesNotApplyError, UserError
from anynet_study.core.metrics import check_level

STATISTICS = ("mean_difference", "median_difference", "probability")


def compare_spaces(
    errors: Mapping[str, Column],
    weights: Mapping[str, ArrayLike] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Compare every pair of design spaces, one row per pair (a, b) in the order given.

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
    check_level(level, resamples, seed)
    if len(errors) < 2:
        raise DoesNotApplyError(f"errors: {len(errors)} design spaces; a comparison needs two")
    samples = make_samples(errors, weights)
    pairs = [_Pair(samples, a, b) for a, b in combinations(samples, 2)]
    drawn = [sample.resampled(resamples, seed) for sample in samples.values()]
    blocks: list[list[Floats]] = [[] for _ in pairs]
    for masses in zip(*drawn, strict=True):
        resampled = dict(zip(samples, masses, strict=True))
        for pair, rows in zip(pairs, blocks, strict=True):
            rows.append(pair.statistics(resampled[pair.a], resampled[pair.b]))
    draws = map(np.concatenate, blocks)
    table = pd.DataFrame([p.row(d, level) for p, d in zip(pairs, draws, strict=True)])
    table = table.assign(p_holm=adjust(table["p"]))
    n = table[["n_a", "n_b"]].to_numpy().max()
    return with_attrs(table, level, n=n, weighted=weights is not None)


class _Pair:
    """Two spaces, and where each error of one lies among those of the other."""

    def __init__(self, samples: Mapping[str, Sample], a: str, b: str) -> None:
        self.a, self.b = a, b
        self.left, self.right = left, right = samples[a], samples[b]
        #: (k_a,) errors of b below, and at most, each error of a.
        self.below = np.searchsorted(right.errors, left.errors, "left")
        self.at_most = np.searchsorted(right.errors, left.errors, "right")
        either = np.union1d(left.errors, right.errors)
        #: (k,) errors of a, and of b, at most each error that either has.
        self.left_upto = np.searchsorted(left.errors, either, "right")
        self.right_upto = np.searchsorted(right.errors, either, "right")

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
        models = [
            np.repeat(sample.errors, np.diff(np.r_[sample.starts, sample.n]))
            for sample in (self.left, self.right)
        ]
        with warnings.catch_warnings():
            # Where scipy's exact p-value is within rounding of 1, it gives the asymptotic one.
            warnings.filterwarnings("ignore", "ks_2samp", RuntimeWarning)
            return float(scipy.stats.ks_2samp(*models).pvalue)


def _from_zero(masses: Floats) -> Floats:
    """(b, k + 1) the EDF after 0, 1, ... k distinct errors."""
    edf = np.zeros((len(masses), masses.shape[1] + 1))
    np.cumsum(masses, axis=1, out=edf[:, 1:])
    edf[:, -1] = 1.0  # but for rounding
    return edf


def match_complexity(
    complexities: Mapping[str, Column],
    weights: Mapping[str, ArrayLike] | None = None,
    bins: int = 10,
    name: str = "complexity",
) -> dict[str, pd.Series]:
    """Weights that give every population the same, uniform distribution of complexity.

    `complexities` maps a population to the FLOPs (or parameters, ...) of its models, above 0;
    leave out models without an error first. The range that all populations share is cut into
    `bins` of equal ratio; each bin in which every population has models gets the same total
    weight, shared by its models equally, or in proportion to `weights` of models that were drawn
    with unequal probability. Models outside, or of unknown complexity, get 0.

    Returns one Series per population, in its order, which sums to 1. Raises UserError where the
    ranges do not overlap or no bin has models of all populations.
    """
    if bins < 1:
        raise UserError(f"bins: {bins}; legal: 1, 2, ...")
    columns = {key: pd.Series(each).astype(np.float64) for key, each in complexities.items()}
    logs = {key: np.log(each.where(each > 0)).to_numpy() for key, each in columns.items()}
    edges = _edges(logs, bins, name)
    places = {}
    for key, log in logs.items():
        inside = (log >= edges[0]) & (log <= edges[-1])
        # The last edge belongs to the last bin; outside there is none, number `bins`.
        place = np.minimum(np.searchsorted(edges, log, "right") - 1, bins - 1)
        places[key] = np.where(inside, place, bins)
    given = {
        key: np.ones(len(column)) if weights is None else np.asarray(weights[key], np.float64)
        for key, column in columns.items()
    }
    totals = {key: np.bincount(places[key], given[key], bins + 1)[:bins] for key in columns}
    common = np.all([total > 0 for total in totals.values()], axis=0)
    if not common.any():
        raise DoesNotApplyError(
            f"{name}: no bin of {bins} has models of all populations; use fewer bins"
        )
    shares = {
        key: np.divide(1 / common.sum(), total, out=np.zeros(bins), where=common)
        for key, total in totals.items()
    }
    return {
        key: pd.Series(np.r_[shares[key], 0.0][places[key]] * given[key], columns[key].index)
        for key in columns
    }


def _edges(logarithms: Mapping[str, Floats], bins: int, name: str) -> Floats:
    """(bins + 1,) edges of the bins, over the range that all populations share."""
    unknown = [key for key, each in logarithms.items() if np.isnan(each).all()]
    if unknown:
        raise DoesNotApplyError(f"{name}: not known of any model of {unknown[0]}")
    low = max(logarithms, key=lambda key: np.nanmin(logarithms[key]))
    high = min(logarithms, key=lambda key: np.nanmax(logarithms[key]))
    ends = float(np.nanmin(logarithms[low])), float(np.nanmax(logarithms[high]))
    if ends[0] > ends[1]:
        raise DoesNotApplyError(
            f"{name}: the ranges do not overlap: {low} begins at {np.exp(ends[0]):.4g}, "
            f"{high} ends at {np.exp(ends[1]):.4g}"
        )
    return np.linspace(*ends, bins + 1)
