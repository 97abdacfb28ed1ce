"""The errors of a population as a weighted sample, and bootstrap resamples of it.

A resample draws as many models as there are, with replacement; every model keeps its weight and
the weights of those drawn are made to sum to 1 again. Weights count as fixed: where they come from
bins of the same models (`match_complexity`), the resamples also vary in how many models of a bin
they hold, so that intervals are, if anything, too wide.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, stdtrit

from anynet_study.apr.bootstrap import draw
from anynet_study.apr.pairs import FEWEST
from anynet_study.apr.ranks import Floats, Ints, Multiplicities
from anynet_study.apr.table import check_errors
from anynet_study.apr.weights import effective_size
from anynet_study.errors import UserError

#: Resamples that share a random stream. Few, so that 400,000 models take 0.3 GB.
BLOCK = 16

#: One value a model.
Column: TypeAlias = "pd.Series | NDArray[np.float64] | Sequence[float]"


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
        """Whether some models count more than others."""
        return bool((self.weights != 1).any())

    @property
    def masses(self) -> Floats:
        """(k,) share of each distinct error."""
        once: Multiplicities = np.ones((1, self.n), dtype=np.int32)
        return self._masses(once).ravel()

    def resampled(self, resamples: int, seed: int) -> Iterator[Floats]:
        """Blocks (b, k) of the shares in resamples: the same for a seed on every machine."""
        for block in range(-(-resamples // BLOCK)):
            size = min(BLOCK, resamples - block * BLOCK)
            yield self._masses(draw(self.n, size, seed, (self.stream << 32) + block))

    def _masses(self, multiplicities: Multiplicities) -> Floats:
        drawn = multiplicities * self.weights
        totals: Floats = np.add.reduceat(drawn, self.starts, axis=1)
        masses: Floats = totals / totals.sum(axis=1, keepdims=True)
        return masses


def make_sample(errors: Column, weights: ArrayLike | None = None, name: str = "errors") -> Sample:
    """Sort the errors of a population called `name`, percent; NaN is left out.

    `weights`, one a model and at least 0, are matched by index where both are Series. Raises
    UserError for what are no errors or weights, and for fewer than 4 models that count.
    """
    series = errors if isinstance(errors, pd.Series) else pd.Series(np.asarray(errors))
    try:
        values = check_errors(series.to_frame(name), fewest=0)[name].to_numpy()
        heights = _weights(series, weights)
    except UserError as error:
        raise UserError(f"{name}: {str(error).removeprefix('errors: ')}") from None
    present = ~np.isnan(values)
    counts = present & (heights > 0)
    if counts.sum() < FEWEST:
        of = "with an error" if weights is None else "with an error and a weight above 0"
        raise UserError(f"{name}: {counts.sum()} models {of}; at least {FEWEST} are needed")
    # By weight within ties: what the resamples draw must not depend on the table's order.
    order = np.lexsort((heights[counts], values[counts]))
    distinct, starts = np.unique(values[counts][order], return_index=True)
    used = heights[counts][order]
    missing = int((~present).sum())
    return Sample(distinct, starts, used / used.mean(), missing, zlib.crc32(name.encode()))


def make_samples(
    errors: Mapping[str, Column], weights: Mapping[str, ArrayLike] | None = None
) -> dict[str, Sample]:
    """One sample a population, by name."""
    absent = [name for name in errors if weights is not None and name not in weights]
    if absent:
        raise UserError(f"weights: none for {', '.join(absent)}")
    chosen = weights or {}
    return {name: make_sample(each, chosen.get(name), name) for name, each in errors.items()}


def check_seed(seed: int) -> None:
    """Raise UserError for a seed that is none."""
    if seed < 0:
        raise UserError(f"seed: {seed} is negative; legal: 0, 1, 2, ...")


def medians(masses: Floats, errors: Floats) -> Floats:
    """(b,) medians of distributions (b, k) over rising errors: the middle of the middle errors."""
    cumulated = np.cumsum(masses, axis=1)
    lower = (cumulated < 0.5 - 1e-12).sum(axis=1)
    upper = (cumulated < 0.5 + 1e-12).sum(axis=1)
    middle: Floats = (errors[lower] + errors[np.minimum(upper, len(errors) - 1)]) / 2
    return middle


def percentiles(
    draws: Floats, estimate: ArrayLike, level: float, size: float = np.inf
) -> tuple[Floats, Floats]:
    """Ends of percentile intervals over the first axis of `draws`; they hold the estimate.

    A sample's (effective) `size` widens them as Student's t would: resamples of a small sample
    vary too little (expanded percentiles: Hesterberg, "What Teachers Should Know About the
    Bootstrap", 2015).
    """
    tail = (1 - level) / 2
    if np.isfinite(size):
        tail = float(ndtr(np.sqrt(size / (size - 1)) * stdtrit(size - 1, tail)))
    low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
    return np.minimum(low, estimate), np.maximum(high, estimate)


def _weights(errors: pd.Series, weights: ArrayLike | None) -> Floats:
    if weights is None:
        return np.ones(len(errors))
    if isinstance(weights, pd.Series) and not weights.index.equals(errors.index):
        unknown = errors.index.difference(weights.index, sort=False)
        if len(unknown):
            raise UserError(f"weights: none for {len(unknown)} models, such as {unknown[0]}")
        weights = weights.loc[errors.index]
    values: Floats = np.asarray(weights, dtype=np.float64)
    if values.shape != (len(errors),):
        raise UserError(f"weights: {values.size} for {len(errors)} models")
    if not (np.isfinite(values) & (values >= 0)).all():
        raise UserError("weights: legal are finite numbers, at least 0")
    return values
