"""Two trainings of the same architectures: does what was changed change the ranking?

Paper 1 asks it of longer training and another stem (section 6.1.1, Figure A1), of top-1 against
top-5 error (6.1.4, A4), of balanced classes (6.1.6, A5) and of pretraining (6.2.1, A6).
"""

import numpy as np
import pandas as pd

from anynet_study.apr.bootstrap import Resampler
from anynet_study.apr.correlations import p_values
from anynet_study.apr.edf_sample import check_seed
from anynet_study.apr.intervals import Resampled, check_level
from anynet_study.apr.kernels import Method
from anynet_study.apr.pairs import complete_in
from anynet_study.apr.ranks import Floats
from anynet_study.apr.resampling import resampled_mean
from anynet_study.apr.table import check_errors
from anynet_study.errors import UserError

#: Architectures compared with all others at once when pairs are counted.
ROWS = 512


def agreement(
    before: pd.DataFrame,
    after: pd.DataFrame,
    source: str | None = None,
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """How far two tables of errors agree on the architectures and datasets that both have.

    Returns DataFrame[dataset, estimate, low, high, p, swapped, mean_before, mean_after, change,
    change_low, change_high, improved, n]: `estimate` is the correlation of the errors before and
    after; `swapped` the share of pairs of architectures whose order is reversed, of those that are
    tied in neither; `change` = mean after - mean before in percentage points, so that below 0 is
    better; `improved` the share of architectures that err less. With `source`, a dataset of
    `before`, also source_before, source_after and source_difference, each with _low and _high: the
    correlations of the errors with those on the source, and by how much they differ.

    n counts the architectures with both errors (and that on the source); statistics are NaN where
    n < 4, and correlations where a column is constant. Intervals are BCa bootstrap intervals; those
    of differences are paired. Rename the columns to compare datasets of other names, such as one
    with its balanced version. Raises UserError where the tables share no dataset, fewer than 4
    architectures, or `source` is not in `before`.
    """
    check_level(level, resamples)
    check_seed(seed)
    tables = check_errors(before, fewest=0), check_errors(after, fewest=0)
    shared = [name for name in tables[0].columns if name in tables[1].columns and name != source]
    rows = [name for name in tables[0].index if name in set(tables[1].index)]
    if not shared or len(rows) < 4:
        raise UserError(
            f"errors: the two tables share {len(shared)} datasets and {len(rows)} architectures; "
            "at least 1 and 4 are needed"
        )
    if source is not None and source not in tables[0].columns:
        raise UserError(f"errors: no column {source} in the table before")
    first, second = (table.loc[rows] for table in tables)
    results = []
    for dataset in shared:
        columns = [first[dataset], second[dataset]] + ([first[source]] if source else [])
        found = _compare(np.column_stack(columns), method, resamples, seed, level)
        results.append({"dataset": dataset, **found})
    return pd.DataFrame(results)


def _compare(
    values: Floats, method: Method, resamples: int, seed: int, level: float
) -> dict[str, float]:
    everything = [*range(values.shape[1])]
    columns = [(0, 1), (2, 0), (2, 1)][: 1 if values.shape[1] == 2 else 3]
    pairs = complete_in(values, columns, [everything] * len(columns)).enough()
    n = int((~np.isnan(values).any(axis=1)).sum())
    known = values[~np.isnan(values).any(axis=1)] if n >= 4 else values[:0]
    correlated = Resampler(values, pairs, method).resampled(resamples, seed)
    before, after = known[:, 0], known[:, 1]
    change = resampled_mean(after - before, resamples, seed)
    row = {
        **_ends("estimate", correlated[:1], level),
        "p": p_values(values, pairs, correlated.estimate, method)[0],
        "swapped": swapped_share(before, after),
        "mean_before": float(before.mean()) if len(known) else np.nan,
        "mean_after": float(after.mean()) if len(known) else np.nan,
        **_ends("change", change, level),
        "improved": float((after < before).mean()) if len(known) else np.nan,
        "n": n,
    }
    if len(columns) > 1:
        old, new = correlated[1:2], correlated[2:3]
        row |= _ends("source_before", old, level) | _ends("source_after", new, level)
        row |= _ends("source_difference", new - old, level)
    return row


def _ends(name: str, statistic: Resampled, level: float) -> dict[str, float]:
    low, high = statistic.interval(level)
    prefix = "" if name == "estimate" else f"{name}_"
    return {
        name: float(statistic.estimate[0]),
        f"{prefix}low": float(low[0]),
        f"{prefix}high": float(high[0]),
    }


def swapped_share(x: Floats, y: Floats) -> float:
    """Share of pairs whose order in x is reversed in y, of those tied in neither; NaN for none."""
    reversed_pairs = untied = 0
    for start in range(0, len(x), ROWS):
        part = slice(start, start + ROWS)
        product = np.sign(x[part, None] - x) * np.sign(y[part, None] - y)
        reversed_pairs += int((product < 0).sum())
        untied += int((product != 0).sum())
    return reversed_pairs / untied if untied else np.nan
