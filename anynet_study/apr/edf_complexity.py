"""Weights that compare design spaces at equal complexity.

Larger models err less, so that a space of larger models looks better than it is. The normalised
EDF of Radosavovic et al., "On Network Design Spaces for Visual Recognition" (2019, section 3),
weighs the models such that complexity is distributed uniformly.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from anynet_study.apr.edf_sample import Column
from anynet_study.apr.ranks import Floats, Ints
from anynet_study.errors import UserError


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

    Returns one Series a population, in its order, which sums to 1. Raises UserError where the
    ranges do not overlap or no bin has models of all populations.
    """
    if bins < 1:
        raise UserError(f"bins: {bins}; legal: 1, 2, ...")
    columns = {key: _series(each) for key, each in complexities.items()}
    edges = _edges({key: np.log(each.to_numpy()) for key, each in columns.items()}, bins, name)
    places = {key: _bin(np.log(each.to_numpy()), edges) for key, each in columns.items()}
    given = {
        key: np.ones(len(each)) if weights is None else np.asarray(weights[key], np.float64)
        for key, each in columns.items()
    }
    totals = {key: np.bincount(places[key], given[key], bins + 1)[:bins] for key in columns}
    common = np.all([total > 0 for total in totals.values()], axis=0)
    if not common.any():
        raise UserError(f"{name}: no bin of {bins} has models of all populations; use fewer bins")
    shares = {
        key: np.divide(1 / common.sum(), total, out=np.zeros(bins), where=common)
        for key, total in totals.items()
    }
    return {
        key: pd.Series(np.r_[shares[key], 0.0][places[key]] * given[key], columns[key].index)
        for key in columns
    }


def _series(complexity: Column) -> pd.Series:
    values = pd.Series(complexity).astype(np.float64)
    return values.where(np.isfinite(values) & (values > 0))


def _edges(logarithms: Mapping[str, Floats], bins: int, name: str) -> Floats:
    """(bins + 1,) edges of the bins, over the range that all populations share."""
    unknown = [key for key, each in logarithms.items() if np.isnan(each).all()]
    if unknown:
        raise UserError(f"{name}: not known of any model of {unknown[0]}")
    low = max(logarithms, key=lambda key: np.nanmin(logarithms[key]))
    high = min(logarithms, key=lambda key: np.nanmax(logarithms[key]))
    ends = float(np.nanmin(logarithms[low])), float(np.nanmax(logarithms[high]))
    if ends[0] > ends[1]:
        raise UserError(
            f"{name}: the ranges do not overlap: {low} begins at {np.exp(ends[0]):.4g}, "
            f"{high} ends at {np.exp(ends[1]):.4g}"
        )
    return np.linspace(*ends, bins + 1)


def _bin(logarithms: Floats, edges: Floats) -> Ints:
    """(n,) bin of each model; the last edge belongs to the last bin; number of bins: none."""
    bins = len(edges) - 1
    places: Ints = np.clip(np.searchsorted(edges, logarithms, "right") - 1, 0, bins - 1)
    inside = (logarithms >= edges[0]) & (logarithms <= edges[-1])
    return np.where(inside, places, bins)
