"""How exactly a test set of so many images can tell an error."""

from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtri

from anynet_study.apr.ranks import Floats
from anynet_study.errors import UserError


def binomial_interval(error: Any, images: Any, level: float = 0.95) -> tuple[Floats, Floats]:
    """Exact (Clopper-Pearson) intervals of errors in percent on so many test images, in percent.

    `error` and `images` are arrays that broadcast; the number of wrong images is the nearest whole
    one, which undoes the rounding of errors to a few digits. NaN where either is missing. The
    interval is of the error on all images like those of the test set; it says nothing of what
    another training of the same model would give. Raises UserError for errors outside 0 to 100,
    fewer than one image, and a level that is not between 0 and 1.

    Source: Clopper and Pearson, "The use of confidence or fiducial limits", 1934.
    """
    if not 0 < level < 1:
        raise UserError(f"level: {level} is not between 0 and 1, such as 0.95")
    errors, counts = np.broadcast_arrays(np.asarray(error, float), np.asarray(images, float))
    known = ~(np.isnan(errors) | np.isnan(counts))
    if (known & ((errors < 0) | (errors > 100))).any():
        raise UserError("error: outside 0 to 100 percent")
    if (known & (counts < 1)).any():
        raise UserError("images: a test set has at least 1")
    n = np.where(known, counts, 1.0)
    wrong = np.round(np.where(known, errors, 0.0) / 100 * n)
    tail = (1 - level) / 2
    # No beta distribution has a parameter 0; there the interval ends at 0 or at 1.
    right = n - wrong
    low = np.where(wrong > 0, betaincinv(np.maximum(wrong, 1), right + 1, tail), 0.0)
    high = np.where(right > 0, betaincinv(wrong + 1, np.maximum(right, 1), 1 - tail), 1.0)
    return np.where(known, 100 * low, np.nan), np.where(known, 100 * high, np.nan)


def wilson_interval(share: Any, n: Any, level: float = 0.95) -> tuple[Floats, Floats]:
    """Wilson's score intervals of shares (0 to 1) of n; arrays broadcast, 0 to 1 where n is 0.

    Close to exact on average and shorter than `binomial_interval`, which never holds less than its
    level: for shares of a sample, and for differences. `design_space.search` has the same for
    counts, as that room does without scipy.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
    """
    if not 0 < level < 1:
        raise UserError(f"level: {level} is not between 0 and 1, such as 0.95")
    shares, counts = np.broadcast_arrays(np.asarray(share, float), np.asarray(n, float))
    if ((shares < 0) | (shares > 1) | (counts < 0)).any():
        raise UserError("share: outside 0 to 1, or of a negative count")
    z, size = ndtri((1 + level) / 2), np.maximum(counts, 1)
    centre = shares + z**2 / (2 * size)
    reach = z * np.sqrt(shares * (1 - shares) / size + z**2 / (4 * size**2))
    # Rounding must not leave the share, or 0 to 1.
    low = np.clip((centre - reach) / (1 + z**2 / size), 0, shares)
    high = np.clip((centre + reach) / (1 + z**2 / size), shares, 1)
    return np.where(counts > 0, low, 0.0), np.where(counts > 0, high, 1.0)
