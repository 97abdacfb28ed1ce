"""How many architectures an interval needs: Fisher's approximation held against subsamples."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from anynet_study.apr.correlations import correlate_pairs
from anynet_study.apr.edf_sample import check_seed
from anynet_study.apr.fisher import fisher_interval
from anynet_study.apr.kernels import Method
from anynet_study.apr.pairs import FEWEST, pairwise
from anynet_study.apr.table import check_errors
from anynet_study.errors import UserError


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
    check_seed(seed)
    table = check_errors(errors)
    for name in (source, target):
        if name not in table.columns:
            raise UserError(f"errors: no column {name}; the datasets are {', '.join(table)}")
    if subsamples < 1 or (sizes and min(sizes) < FEWEST):
        raise UserError(f"sizes: at least {FEWEST}; subsamples: at least 1")
    both = table[[source, target]].dropna().to_numpy()
    if len(both) < FEWEST:
        raise UserError(f"errors: {len(both)} architectures have both errors; {FEWEST} are needed")
    options = (method, resamples, seed, level)
    whole = correlate_pairs(both, pairwise(both, [(0, 1)]), *options)
    rows = []
    for size in [*sorted(size for size in set(sizes) if size < len(both)), len(both)]:
        count = subsamples if size < len(both) else 1
        draws = [
            both[np.random.default_rng([seed, size, number]).permutation(len(both))[:size]]
            for number in range(count)
        ]
        found = [correlate_pairs(part, pairwise(part, [(0, 1)]), *options) for part in draws]
        widths = [float((each["high"] - each["low"]).iloc[0]) for each in found]
        low, high = fisher_interval(whole["estimate"].iloc[0], size, level, method)
        known = [each for each in widths if np.isfinite(each)] or [np.nan]
        rows.append((size, *np.quantile(known, [0.5, 0.1, 0.9]), float(high - low), count))
    names = ["n", "width", "width_low", "width_high", "fisher", "subsamples"]
    return pd.DataFrame(rows, columns=names)
