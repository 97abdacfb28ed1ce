"""Correlations between the errors of all pairs of datasets (paper 1, section 4.2, Figure A8).

With their p-values, also corrected for the number of tests, and with how their intervals narrow as
architectures are added.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations, permutations
from typing import Literal

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtr

from anynet_study.analysis.apr.bootstrap import (
    FEWEST_TO_RESAMPLE,
    PairSet,
    complete_in,
    estimates,
    pairwise,
    resample_correlations,
)
from anynet_study.analysis.apr.error_tables import FEWEST, check_columns, check_errors
from anynet_study.analysis.apr.interval_formulas import fisher_interval
from anynet_study.analysis.apr.kernels import RankedColumns, Scratch
from anynet_study.analysis.apr.options import Floats, Ints, Method, check_choice, with_attrs
from anynet_study.analysis.apr.population import aligned_weights
from anynet_study.core.errors import DoesNotApplyError, UserError, counted
from anynet_study.core.metrics import check_level

Missing = Literal["pairwise", "complete"]
#: Bytes of bootstrap correlations held at once.
DRAWS_BYTES = 256 * 2**20
#: Random orders of 8 or 9 architectures from which a p-value is counted.
PERMUTATIONS = 20_000
Correction = Literal["holm", "bh"]


def correlations(
    errors: pd.DataFrame,
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    missing: Missing = "pairwise",
    weights: pd.Series | None = None,
    on_pairs: Callable[[float], None] = lambda done: None,
) -> pd.DataFrame:
    """Correlation of every unordered pair of datasets, in column order.

    Returns DataFrame[source, target, estimate, low, high, n, p, p_holm, p_bh, fisher_low,
    fisher_high]: the coefficient (Spearman with ties by midrank, Pearson, or Kendall's tau-b), its
    BCa bootstrap interval, the architectures it rests on, and the two-sided p-value of no
    association: of this pair alone, and corrected for all pairs of the table (`adjust`). Last comes
    Fisher's interval, which assumes more (`fisher_interval`).
    `missing="pairwise"` uses the architectures that have both errors, "complete" only those with
    an error on every dataset that has any. Estimate, interval and p are NaN where n < 4 or one of
    the two columns is constant: `exclusions` names them.

    `weights` by architecture (see `apr.population`) make these the correlations of the design space
    that was sampled unequally; after n comes then `effective`, Kish's effective number of
    architectures, and p is that of `weighted_p_values`. Kendall's tau-b takes none.

    `on_pairs` is called now and then with the number of pairs that are done, such as 0.25 of one.

    Raises UserError for a table that `check_errors` refuses, weights that do not fit it, or an
    illegal option.

    >>> big = [30, 31, 33, 34, 36, 37, 39, 41, 42, 45]
    >>> small = [10, 12, 11, 13, 15, 14, 16, 18, 17, 19]
    >>> table = correlations(pd.DataFrame({"big": big, "small": small}), resamples=1000)
    >>> table[["source", "target", "estimate", "low", "high", "n"]].round(2)
      source target  estimate   low  high   n
    0    big  small      0.96  0.89   1.0  10
    """
    check_level(level, resamples, seed)
    table = check_errors(errors)
    values = table.to_numpy()
    columns = list(combinations(range(values.shape[1]), 2))
    check_choice("missing", missing, Missing)
    if missing == "complete":
        filled = [index for index in range(values.shape[1]) if not np.isnan(values[:, index]).all()]
        pairs = complete_in(values, columns, [sorted({*pair, *filled}) for pair in columns])
    else:
        pairs = pairwise(values, columns)
    names = np.array(table.columns)[pairs.columns]
    result = pd.DataFrame({"source": names[:, 0], "target": names[:, 1]})
    own = aligned_weights(weights, table)
    result = result.join(
        correlate_pairs(values, pairs, method, resamples, seed, level, own, on_pairs)
    )
    result["p_holm"], result["p_bh"] = adjust(result["p"], "holm"), adjust(result["p"], "bh")
    size = result["n"] if own is None else result["effective"]
    ends = fisher_interval(result["estimate"], size, level, method)
    result["fisher_low"], result["fisher_high"] = ends
    tests = f"the {counted(int(result['p'].notna().sum()), 'pair')} of the table"
    return with_attrs(result, level, method, weighted=weights is not None, tests=tests)


def correlate_pairs(
    values: Floats,
    pairs: PairSet,
    method: Method,
    resamples: int,
    seed: int,
    level: float,
    weights: Floats | None = None,
    on_pairs: Callable[[float], None] = lambda done: None,
) -> pd.DataFrame:
    """DataFrame[estimate, low, high, n, p], one row per pair; memory does not grow with the pairs.

    With `weights` (n,), `effective` comes after n.
    """
    slab = max(1, DRAWS_BYTES // (8 * resamples))
    parts: list[list[Floats]] = []
    for part in pairs.enough().slabs(slab):
        on_share = partial(_tell, on_pairs, sum(len(done[0]) for done in parts), len(part))
        resampled = resample_correlations(values, part, method, resamples, seed, weights, on_share)
        parts.append([resampled.estimate, *resampled.interval(level)])
    estimate, low, high = np.concatenate(parts, axis=1) if parts else np.empty((3, 0))
    columns = {"estimate": estimate, "low": low, "high": high, "n": pairs.counts}
    if weights is not None:
        columns["effective"] = pairs.effective(weights)
    columns["p"] = p_values(values, pairs, estimate, method, weights)
    return pd.DataFrame(columns)


def _tell(on_pairs: Callable[[float], None], done: int, pairs: int, share: float) -> None:
    on_pairs(done + share * pairs)


def p_values(
    values: Floats,
    pairs: PairSet,
    estimate: Floats,
    method: Method,
    weights: Floats | None = None,
    given: Sequence[int] = (),
) -> Floats:
    """Two-sided p-values of no association (p,); NaN where undefined.

    Below 10 architectures by permutation (`permutation_p_value`). From 10 on as scipy computes
    them: Spearman and Pearson by Student's t with n - 2 degrees of freedom, Kendall by the normal
    approximation, or exactly where no errors are tied. With weights see `weighted_p_values`. Of
    partial correlations given other columns of `values`: by Student's t whatever n is, each of them
    taking one degree of freedom.
    """
    if weights is not None:
        p = weighted_p_values(values, pairs, method, weights, given)
        return np.where(np.isfinite(estimate), p, np.nan)
    p = student_p_values(estimate, pairs.counts - 2 - len(given))
    if given:
        return p
    few = pairs.counts < FEWEST_TO_RESAMPLE
    for index in np.flatnonzero(np.isfinite(estimate) & (few | (method == "kendall"))):
        x, y = values[pairs.rows[index]][:, pairs.columns[index]].T
        permuted = few[index]
        p[index] = (
            permutation_p_value(x, y, method) if permuted else scipy.stats.kendalltau(x, y).pvalue
        )
    return p


def permutation_p_value(x: Floats, y: Floats, method: Method) -> float:
    """The share of the orders of y (n,) that correlate with x (n,) at least as much, either way.

    Of all n! orders up to n = 7, which is exact; above that of `PERMUTATIONS` random ones, the
    order as it is among them, from a fixed seed.
    """
    n = len(x)
    if n <= 7:
        orders = np.array([*permutations(range(n))])
    else:
        drawn = np.random.default_rng(n).random((PERMUTATIONS - 1, n)).argsort(axis=1)
        orders = np.vstack([np.arange(n), drawn])
    if method == "kendall":
        a, b = (np.sign(np.subtract.outer(values, values)) for values in (x, y))
        found = np.einsum("ij,pij->p", a, b[orders[:, :, None], orders[:, None, :]])
    else:
        a, b = (
            scipy.stats.rankdata(values) if method == "spearman" else values for values in (x, y)
        )
        found = (b - b.mean())[orders] @ (a - a.mean())
    sizes = np.abs(found)
    return float((sizes >= sizes[0] * (1 - 1e-9)).mean())


def student_p_values(estimate: Floats, freedom: Floats | Ints) -> Floats:
    """Two-sided p-values of correlations by Student's t; NaN without degrees of freedom."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(estimate) * np.sqrt(freedom / ((1 + estimate) * (1 - estimate)))
    p: Floats = 2 * stdtr(np.where(freedom > 0, freedom, np.nan), -t)
    return p


def weighted_p_values(
    values: Floats, pairs: PairSet, method: Method, weights: Floats, given: Sequence[int] = ()
) -> Floats:
    """(p,) two-sided p-values of no association; meaningless where a column is constant.

    The sum of the weighted products of centred values (Spearman: midranks), or of what a weighted
    linear fit on the columns `given` leaves of them, over the root of the sum of their squares,
    each over (1 - the row's leverage) squared (MacKinnon and White, "Some
    heteroskedasticity-consistent covariance matrix estimators with improved finite sample
    properties", 1985, HC3), against the normal distribution. Unlike Student's t at the effective
    size, which rejects up to 18% at a level of 5% if the weights go with a column, this rejected
    0% to 4% at n = 8 to 30 and 4% to 5% of 100 and 300, in 4,000 simulations each where they do
    and where they do not (without the leverage: up to 7% and 6%).
    """
    p = np.full(len(pairs), np.nan)
    for index, rows in enumerate(pairs.rows):
        if rows.sum() > len(given) + 2:
            columns, own = values[rows][:, [*pairs.columns[index], *given]], weights[rows]
            # Each row as often as it weighs in sums of products.
            scaled = _centred(columns, method, own) * np.sqrt(own)
            basis = np.linalg.qr(scaled[2:].T)[0]
            left = scaled[:2] - scaled[:2] @ basis @ basis.T
            products = np.prod(left, axis=0)
            leverage = (basis**2).sum(axis=1) + own / own.sum()
            scale = np.linalg.norm(products / np.maximum(1 - leverage, 1e-12))
            if scale > 0:
                p[index] = 2 * ndtr(-abs(products.sum()) / scale)
            elif left.any(axis=1).all():  # no row has both: nothing speaks for an association
                p[index] = 1.0
    return p


def _centred(columns: Floats, method: Method, weights: Floats) -> Floats:
    """(k, n) values, or their weighted midranks, less their weighted mean."""
    centred: Floats
    if method == "pearson":
        centred = columns.T - (weights @ columns / weights.sum())[:, None]
    else:
        ranked = RankedColumns(columns.T)
        centred = ranked.centred_midranks(weights[None], Scratch())[:, :, 0].T
    return centred


def as_matrix(table: pd.DataFrame, value: str = "estimate") -> pd.DataFrame:
    """A table of `correlations` as a symmetric matrix of one of its columns.

    The diagonal is 1 for estimates and NaN for other columns.
    """
    names = list(dict.fromkeys([*table["source"], *table["target"]]))
    mirrored = table.rename(columns={"source": "target", "target": "source"})
    cells = pd.concat([table, mirrored]).pivot(index="source", columns="target", values=value)
    filled = cells.reindex(index=names, columns=names).to_numpy(np.float64, copy=True)
    np.fill_diagonal(filled, 1.0 if value == "estimate" else np.nan)
    matrix = pd.DataFrame(filled, names, names)
    matrix.attrs = dict(table.attrs)
    return matrix


def adjust(p: ArrayLike, correction: Correction = "holm") -> Floats:
    """Adjusted p-values (m,): those below a threshold are the tests to reject at that threshold.

    "holm" (Holm 1979) bounds the probability of any false rejection, whatever the tests have to do
    with each other; "bh" (Benjamini and Hochberg 1995) the expected share of false ones among all
    rejections, of tests that are independent or go together. NaN stays NaN and does not count as a
    test. Raises UserError for values outside 0 to 1.
    """
    check_choice("correction", correction, Correction)
    values = np.array(p, dtype=np.float64)
    known = np.flatnonzero(np.isfinite(values))
    if ((values[known] < 0) | (values[known] > 1)).any():
        raise UserError("p: outside 0 to 1")
    rising = known[np.argsort(values[known], kind="stable")]
    tests = len(rising)
    if correction == "holm":
        stepped = np.maximum.accumulate(values[rising] * np.arange(tests, 0, -1))
    else:
        stepped = values[rising] * (tests / np.arange(1, tests + 1))
        stepped = np.minimum.accumulate(stepped[::-1])[::-1]
    values[rising] = np.minimum(stepped, 1.0)
    return values


def interval_widths(
    errors: pd.DataFrame,
    source: str,
    target: str,
    sizes: Sequence[int] = (25, 50, 100, 200),
    subsamples: int = 50,
    method: Method = "spearman",
    resamples: int = 1_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Width of the bootstrap interval of a correlation in smaller studies than this one.

    Each size is drawn `subsamples` times, without replacement, of the architectures with both
    errors; sizes above what there is are left out, and all of them come last. Returns DataFrame[n,
    width, width_low, width_high, fisher, subsamples]: the median width and the 10% and 90% of the
    subsamples, and the width of Fisher's interval at the correlation of all. `architectures_needed`
    inverts the latter; where `fisher` leaves the band it is not to be trusted on these errors.
    """
    check_level(level, resamples, seed)
    table = check_errors(errors)
    check_columns(table, [source, target], "errors")
    if subsamples < 1 or (sizes and min(sizes) < FEWEST):
        raise UserError(f"sizes: at least {FEWEST}; subsamples: at least 1")
    both = table[[source, target]].dropna().to_numpy()
    if len(both) < FEWEST:
        told = counted(len(both), "architecture")
        raise DoesNotApplyError(f"{told} with both errors; {FEWEST} are needed")
    whole = estimates(both, pairwise(both, [(0, 1)]), method)[0]
    rows = []
    for size in [*sorted(size for size in set(sizes) if size < len(both)), len(both)]:
        count = subsamples if size < len(both) else 1
        parts = [
            both[np.random.default_rng([seed, size, number]).permutation(len(both))[:size]]
            for number in range(count)
        ]
        # All parts of a size have the same resamples of their rows, so these are drawn once.
        values, columns = np.hstack(parts), [(2 * it, 2 * it + 1) for it in range(count)]
        found = correlate_pairs(values, pairwise(values, columns), method, resamples, seed, level)
        widths = (found["high"] - found["low"]).to_numpy()
        low, high = fisher_interval(whole, size, level, method)
        known = widths[np.isfinite(widths)] if np.isfinite(widths).any() else [np.nan]
        rows.append((size, *np.quantile(known, [0.5, 0.1, 0.9]), float(high - low), count))
    names = ["n", "width", "width_low", "width_high", "fisher", "subsamples"]
    return with_attrs(pd.DataFrame(rows, columns=names), level, method)
