"""Correlations between the errors of all pairs of datasets (paper 1, section 4.2, Figure A8)."""

from collections.abc import Callable
from itertools import combinations
from typing import Literal, get_args

import numpy as np
import pandas as pd
from scipy import stats

from anynet_study.apr.bootstrap import Resampler
from anynet_study.apr.fisher import fisher_interval
from anynet_study.apr.intervals import check_level
from anynet_study.apr.kernels import Method
from anynet_study.apr.multiplicity import adjust
from anynet_study.apr.pairs import PairSet, complete_in, pairwise
from anynet_study.apr.ranks import Floats
from anynet_study.apr.table import check_errors
from anynet_study.apr.weights import aligned_weights, effective_sizes, weighted_p_values
from anynet_study.errors import UserError

Missing = Literal["pairwise", "complete"]

#: Bytes of bootstrap correlations held at once.
DRAWS_BYTES = 256 * 2**20


def correlations(
    errors: pd.DataFrame,
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    missing: Missing = "pairwise",
    weights: pd.Series | None = None,
    on_pairs: Callable[[int], None] = lambda done: None,
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

    `weights` by architecture (see `apr.weights`) make these the correlations of the design space
    that was sampled unequally; after n comes then `effective`, Kish's effective number of
    architectures, and p is that of `weighted_p_values`. Kendall's tau-b takes none.

    `on_pairs` is told now and then how many pairs are done: of hundreds of datasets they are many.

    Raises UserError for a table that `check_errors` refuses, weights that do not fit it, or an
    illegal option.
    """
    table = check_errors(errors)
    values = table.to_numpy()
    columns = list(combinations(range(values.shape[1]), 2))
    if missing not in get_args(Missing):
        raise UserError(f"missing: no {missing!r}; legal: {', '.join(get_args(Missing))}")
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
    return result


def correlate_pairs(
    values: Floats,
    pairs: PairSet,
    method: Method,
    resamples: int,
    seed: int,
    level: float,
    weights: Floats | None = None,
    on_pairs: Callable[[int], None] = lambda done: None,
) -> pd.DataFrame:
    """DataFrame[estimate, low, high, n, p], one row a pair; memory does not grow with the pairs.

    With `weights` (n,), `effective` comes after n.
    """
    check_level(level, resamples)
    slab = max(1, DRAWS_BYTES // (8 * resamples))
    parts: list[list[Floats]] = []
    for part in pairs.enough().slabs(slab):
        resampled = Resampler(values, part, method, weights).resampled(resamples, seed)
        parts.append([resampled.estimate, *resampled.interval(level)])
        on_pairs(sum(len(each[0]) for each in parts))
    estimate, low, high = np.concatenate(parts, axis=1) if parts else np.empty((3, 0))
    columns = {"estimate": estimate, "low": low, "high": high, "n": pairs.counts}
    if weights is None:
        columns["p"] = p_values(values, pairs, estimate, method)
    else:
        columns["effective"] = effective_sizes(pairs, weights)
        p = weighted_p_values(values, pairs, method, weights)
        columns["p"] = np.where(np.isfinite(estimate), p, np.nan)
    return pd.DataFrame(columns)


def p_values(values: Floats, pairs: PairSet, estimate: Floats, method: Method) -> Floats:
    """Two-sided p-values of no association, as scipy computes them; NaN where undefined.

    Spearman and Pearson by Student's t with n - 2 degrees of freedom, Kendall exactly for small
    samples without ties and by the normal approximation otherwise.
    """
    p = np.full(len(pairs), np.nan)
    defined = np.flatnonzero(np.isfinite(estimate))
    if method == "kendall":
        for index in defined:
            x, y = values[pairs.rows[index]][:, pairs.columns[index]].T
            p[index] = stats.kendalltau(x, y).pvalue
        return p
    r, freedom = estimate[defined], pairs.counts[defined] - 2
    with np.errstate(divide="ignore"):
        t = np.abs(r) * np.sqrt(freedom / ((1 + r) * (1 - r)))
    p[defined] = 2 * stats.t.sf(t, freedom)
    return p


def as_matrix(table: pd.DataFrame, value: str = "estimate") -> pd.DataFrame:
    """A table of `correlations` as a symmetric matrix of one of its columns.

    The diagonal is 1 for estimates and NaN for other columns.
    """
    names = list(dict.fromkeys([*table["source"], *table["target"]]))
    diagonal = 1.0 if value == "estimate" else np.nan
    matrix = pd.DataFrame(np.diag([diagonal] * len(names)), index=names, columns=names)
    for row in table.to_dict("records"):
        matrix.loc[row["source"], row["target"]] = row[value]
        matrix.loc[row["target"], row["source"]] = row[value]
    return matrix
