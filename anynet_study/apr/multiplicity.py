"""p-values of many tests at once, so that what is called significant seldom is by chance."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from anynet_study.apr.ranks import Floats
from anynet_study.errors import UserError

Correction = Literal["holm", "bh"]


def adjust(p: ArrayLike, correction: Correction = "holm") -> Floats:
    """Adjusted p-values (m,): those below a threshold are the tests to reject at that threshold.

    "holm" (Holm 1979) bounds the probability of any false rejection, whatever the tests have to do
    with each other; "bh" (Benjamini and Hochberg 1995) the expected share of false ones among all
    rejections, of tests that are independent or go together. NaN stays NaN and does not count as a
    test. Raises UserError for values outside 0 to 1.
    """
    if correction not in get_args(Correction):
        raise UserError(f"correction: no {correction!r}; legal: {', '.join(get_args(Correction))}")
    values = np.array(p, dtype=np.float64)
    known = np.flatnonzero(np.isfinite(values))
    if ((values[known] < 0) | (values[known] > 1)).any():
        raise UserError("p: outside 0 to 1")
    if correction == "bh":
        values[known] = stats.false_discovery_control(values[known]) if len(known) else []
        return values
    rising = known[np.argsort(values[known], kind="stable")]
    stepped = values[rising] * np.arange(len(rising), 0, -1)
    values[rising] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return values
