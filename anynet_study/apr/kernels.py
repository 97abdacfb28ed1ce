"""Correlations of many resamples at once: one kernel a coefficient.

A kernel takes multiplicities (b, n), b resamples of n architectures, and returns the correlations
(b, p) of p pairs of columns, NaN where a column is constant in the resample. All ones give the
sample's own correlations, and all ones but a single zero a jackknife value.
"""

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from anynet_study.apr.ranks import (
    Floats,
    Ints,
    Multiplicities,
    SortedColumn,
    centred_midranks,
    sort_column,
)
from anynet_study.errors import UserError

Method = Literal["spearman", "pearson", "kendall"]
Kernel = Callable[[Multiplicities], Floats]

#: Bytes of working memory for one kernel call.
WORKING_BYTES = 8 * 2**20


def make_kernel(
    method: Method, values: Floats, pairs: Ints, weights: Floats | None = None
) -> Kernel:
    """The kernel for `pairs` (p, 2) of columns of `values` (n, k), all finite.

    `weights` (n,), above 0 and with a mean near 1, count an architecture as so many copies.
    """
    if weights is not None:
        return _weighted(make_kernel(method, values, pairs), method, weights)
    if method == "spearman":
        return spearman_kernel(values, pairs)
    if method == "pearson":
        return pearson_kernel(values, pairs)
    if method == "kendall":
        return kendall_kernel(values, pairs)
    raise UserError(f"method: no {method!r}; legal: {', '.join(get_args(Method))}")


def _weighted(kernel: Kernel, method: Method, weights: Floats) -> Kernel:
    if method == "kendall":
        raise UserError("method: kendall takes no weights; legal with them: spearman, pearson")

    def correlate(multiplicities: Multiplicities) -> Floats:
        # Sums are no longer exact. Rounding makes equal correlations, as of equal columns, equal.
        return np.round(kernel(multiplicities * weights), 12)

    return correlate


def spearman_kernel(values: Floats, pairs: Ints) -> Kernel:
    """Spearman's rho with ties by midrank: Pearson's correlation of the midranks.

    Without weights the sums are of whole numbers below 2**53 (for n up to 200,000), hence exact: a
    correlation does not depend on how the resamples are chunked.
    """
    used, position = np.unique(pairs, return_inverse=True)
    left, right = position.reshape(pairs.shape).T
    columns = [sort_column(values[:, column]) for column in used]
    chunk = max(1, WORKING_BYTES // (24 * max(1, len(columns)) * max(1, len(values))))

    def correlate(multiplicities: Multiplicities) -> Floats:
        parts = range(0, len(multiplicities), chunk)
        return np.concatenate([_rank_correlations(multiplicities[i : i + chunk]) for i in parts])

    def _rank_correlations(part: Multiplicities) -> Floats:
        ranks = centred_midranks(columns, part)
        products = (ranks * part[:, None, :]) @ ranks.transpose(0, 2, 1)
        squares = np.diagonal(products, axis1=1, axis2=2)
        return _ratio(products[:, left, right], squares[:, left], squares[:, right])

    return correlate


def pearson_kernel(values: Floats, pairs: Ints) -> Kernel:
    """Pearson's r. Columns are standardised first, against cancellation."""
    spread = values.std(axis=0)
    scaled = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    left, right = pairs.T
    products = scaled[:, left] * scaled[:, right]

    def correlate(multiplicities: Multiplicities) -> Floats:
        weights = multiplicities.astype(np.float64)
        total = weights.sum(axis=1, keepdims=True)
        weights /= np.where(total > 0, total, 1.0)
        means = weights @ scaled
        squares = weights @ scaled**2
        variances = squares - means**2
        # What is left of a constant column after cancellation is rounding, not variance.
        variances[variances <= 1e-13 * squares] = 0.0
        covariances = weights @ products - means[:, left] * means[:, right]
        return np.clip(_ratio(covariances, variances[:, left], variances[:, right]), -1.0, 1.0)

    return correlate


def kendall_kernel(values: Floats, pairs: Ints) -> Kernel:
    """Kendall's tau-b: a quadratic form of the multiplicities, n**2 operations a resample."""
    columns = {column: sort_column(values[:, column]) for column in np.unique(pairs)}
    chunk = max(1, WORKING_BYTES // (16 * max(1, len(values))))

    def correlate(multiplicities: Multiplicities) -> Floats:
        untied = {index: _untied_pairs(multiplicities, c) for index, c in columns.items()}
        result = np.empty((len(multiplicities), len(pairs)))
        for index, (x, y) in enumerate(pairs):
            concordance = np.zeros(len(multiplicities))
            for start in range(0, len(values), chunk):
                part = slice(start, start + chunk)
                signs = _signs(columns[x].group, part) * _signs(columns[y].group, part)
                sums = multiplicities.astype(np.float32) @ signs
                concordance += np.einsum("bi,bi->b", sums, multiplicities[:, part], dtype=float)
            result[:, index] = _ratio(concordance, untied[x], untied[y])
        return result

    return correlate


def _signs(group: Ints, part: slice) -> NDArray[np.float32]:
    signs: Ints = np.sign(group[:, None] - group[None, part])
    return signs.astype(np.float32)


def _untied_pairs(multiplicities: Multiplicities, column: SortedColumn) -> Floats:
    """(b,) ordered pairs of draws whose values differ."""
    by_value = np.take(multiplicities, column.order, axis=1)
    sizes: Floats = np.add.reduceat(by_value, column.bounds[:-1], axis=1).astype(np.float64)
    untied: Floats = sizes.sum(axis=1) ** 2 - (sizes**2).sum(axis=1)
    return untied


def _ratio(covariance: Floats, left: Floats, right: Floats) -> Floats:
    scale = np.sqrt(left * right)
    return np.divide(covariance, scale, out=np.full_like(scale, np.nan), where=scale > 0)
