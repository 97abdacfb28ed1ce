"""Correlations with a source in two bands of architectures, such as of FLOPs, compared.

Tuggener et al. 2021 (paper 1) have one band of FLOPs; whether another would say the same is a
difference of correlations of different architectures.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from anynet_study.analysis.apr.bootstrap import pairwise, resample_correlations
from anynet_study.analysis.apr.error_tables import check_columns, check_errors
from anynet_study.analysis.apr.interval_formulas import difference_interval
from anynet_study.analysis.apr.options import Method, with_attrs
from anynet_study.analysis.apr.population import aligned_weights
from anynet_study.analysis.apr.simultaneous import bonferroni
from anynet_study.analysis.apr.verdicts import family_of
from anynet_study.core.errors import DoesNotApplyError
from anynet_study.core.metrics import check_level


def compare_bands(
    lower: pd.DataFrame,
    upper: pd.DataFrame,
    source: str,
    targets: Sequence[str],
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    weights: tuple[pd.Series | None, pd.Series | None] = (None, None),
) -> pd.DataFrame:
    """Compare the correlations with the source between two bands of architectures.

    `lower` and `upper` are errors of different architectures on the same datasets. Returns
    DataFrame[target, lower, lower_low, lower_high, n_lower, upper, upper_low, upper_high, n_upper,
    difference, difference_low, difference_high, note]: the correlation of the target with the
    source in each band (BCa over architectures), and upper - lower, whose interval is from those of
    the two, which are independent (`difference_interval`); the differences of all targets hold
    together at `level` (Bonferroni). Missing, with a note, where a band has fewer than 4
    architectures with both errors, or equal errors.

    Raises DoesNotApplyError where the bands share an architecture, and for names that are no
    columns.

    >>> draw = np.random.default_rng(0)
    >>> big = draw.normal(40, 1, size=80)
    >>> errors = pd.DataFrame({"big": big, "cats": big + draw.normal(size=80)})
    >>> table = compare_bands(errors[:40], errors[40:], "big", ["cats"], resamples=500)
    >>> table[["target", "lower", "upper", "difference"]].round(1)
      target  lower  upper  difference
    0   cats    0.7    0.7         0.1
    """
    check_level(level, resamples, seed)
    if len(shared := lower.index.intersection(upper.index)):
        raise DoesNotApplyError(f"bands: {shared[0]} is in both, so that they are not independent")
    together, found = bonferroni(level, len(targets)), {}
    for name, errors, own in zip(("lower", "upper"), (lower, upper), weights, strict=True):
        table = check_errors(errors)
        check_columns(table, [source, *targets], "errors")
        values = table[[source, *targets]].to_numpy()
        pairs = pairwise(values, [(0, place + 1) for place in range(len(targets))])
        aligned = aligned_weights(own, table)
        part = resample_correlations(values, pairs.enough(), method, resamples, seed, aligned)
        found[name] = part, pairs.counts
    (below, n_lower), (above, n_upper) = found["lower"], found["upper"]
    ends = above.interval(together), below.interval(together)
    low, high = difference_interval(above.estimate, ends[0], below.estimate, ends[1])
    difference = above.estimate - below.estimate
    result = pd.DataFrame(
        {
            **{"target": [*targets], **below.columns(level, "lower"), "n_lower": n_lower},
            **{**above.columns(level, "upper"), "n_upper": n_upper},
            **{"difference": difference, "difference_low": low, "difference_high": high},
            "note": np.where(np.isnan(difference), "too few, or constant, errors in a band", ""),
        }
    )
    weighted = any(own is not None for own in weights)
    n = int(min(len(lower), len(upper)))
    family = family_of(len(targets), "target")
    return with_attrs(result, level, method, n=n, weighted=weighted, family=family)
