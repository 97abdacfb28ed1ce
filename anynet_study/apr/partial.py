"""Partial correlations: what is left of a correlation when other columns are held constant."""

from collections.abc import Mapping, Sequence

import numpy as np

from anynet_study.apr.intervals import Resampled
from anynet_study.apr.ranks import Floats

#: Less unexplained variance than this share of a column is rounding: given columns determine it.
LEAST = 1e-10


def partial(
    r: Mapping[tuple[str, str], Resampled], x: str, y: str, given: Sequence[str]
) -> Resampled:
    """The correlation of x and y given other columns, from the correlations `r` of all pairs.

    By the recursion that takes one column after the other out; with correlations of ranks it is the
    rank-based partial correlation, that of the residuals of ranks from a linear fit on ranks.
    Undefined (NaN) where the given columns determine x or y.
    """
    if not given:
        return r[x, y] if (x, y) in r else r[y, x]
    last, others = given[-1], given[:-1]
    parts = [partial(r, *pair, others) for pair in ((x, y), (x, last), (y, last))]
    return parts[0].combined(_without, *parts[1:])


def _without(both: Floats, x: Floats, y: Floats) -> Floats:
    unexplained = (1 - x**2, 1 - y**2)
    left = np.where(np.minimum(*unexplained) > LEAST, unexplained[0] * unexplained[1], np.nan)
    return np.clip((both - x * y) / np.sqrt(left), -1.0, 1.0)
