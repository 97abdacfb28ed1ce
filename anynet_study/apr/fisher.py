"""Fisher's intervals of correlations, and how many architectures a narrow one needs.

On Fisher's z = artanh(r) the standard error hardly depends on r: 1 / sqrt(n - 3) for Pearson's r;
for Spearman's rho sqrt((1 + rho**2 / 2) / (n - 3)) (Bonett and Wright, "Sample size requirements
for estimating Pearson, Kendall and Spearman correlations", 2000); for Kendall's tau
sqrt(0.437 / (n - 4)) (Fieller, Hartley and Pearson 1957; for tau below 0.8). All hold for normal
errors, or errors that are normal after a monotone change of scale, without many ties; the bootstrap
intervals of `correlations` assume neither.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from anynet_study.apr.kernels import Method
from anynet_study.apr.ranks import Floats, Ints
from anynet_study.errors import UserError

#: Architectures that the standard error's denominator leaves out.
LOST = {"pearson": 3, "spearman": 3, "kendall": 4}


def fisher_interval(
    estimate: ArrayLike, n: ArrayLike, level: float = 0.95, method: Method = "spearman"
) -> tuple[Floats, Floats]:
    """Lower and upper ends of intervals of correlations of n architectures.

    `estimate` and `n` broadcast; NaN where the estimate is, or n is 4 (Pearson, Spearman: 3) or
    less. A perfect correlation's interval has no width.
    """
    if not 0 < level < 1:
        raise UserError(f"level: {level} is not between 0 and 1, such as 0.95")
    r, count = np.broadcast_arrays(np.asarray(estimate, float), np.asarray(n, float))
    freedom = np.where(count > LOST[method], count - LOST[method], np.nan)
    half = ndtri((1 + level) / 2) * _scale(r, method) / np.sqrt(freedom)
    with np.errstate(divide="ignore"):
        z = np.arctanh(r)
    return np.tanh(z - half), np.tanh(z + half)


def architectures_needed(
    estimate: ArrayLike, width: float, level: float = 0.95, method: Method = "spearman"
) -> Ints:
    """Fewest architectures with which Fisher's interval of a correlation is at most so wide.

    `estimate` is the correlation to expect, in -1 to 1; `width` is from end to end, above 0 and
    below 2. At least 4.
    """
    r = np.asarray(estimate, dtype=np.float64)
    if not 0 < width < 2:
        raise UserError(f"width: {width} is not between 0 and 2, such as 0.1")
    if not 0 < level < 1:
        raise UserError(f"level: {level} is not between 0 and 1, such as 0.95")
    if not (np.abs(r) <= 1).all():
        raise UserError("estimate: a correlation is between -1 and 1")
    # tanh(z + h) - tanh(z - h) = width, solved for exp(2 h).
    squeezed = np.clip(r, -1 + 1e-12, 1 - 1e-12)
    linear = width * (1 + squeezed**2) / (1 - squeezed**2)
    grown = (linear + np.sqrt(linear**2 + 4 - width**2)) / (2 - width)
    errors = ndtri((1 + level) / 2) * _scale(r, method) / (np.log(grown) / 2)
    needed: Ints = np.maximum(np.ceil(errors**2 - 1e-9) + LOST[method], 4).astype(np.int64)
    return needed


def _scale(r: Floats, method: Method) -> Floats:
    """The standard error on the z scale times the root of the architectures that count."""
    if method == "spearman":
        return np.sqrt(1 + r**2 / 2)
    return np.full(r.shape, np.sqrt(0.437) if method == "kendall" else 1.0)
