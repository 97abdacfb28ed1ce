"""Scales on which accuracies are fitted: percent itself, logit and probit.

Papers that fit one test set's accuracies on another's do it in percent (Recht et al. 2019, section
3.3), in logits (Taori et al. 2020) or in probits (Miller et al. 2021), which straighten the ends.
"""

from typing import Literal, get_args

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from anynet_study.apr.ranks import Floats
from anynet_study.errors import UserError

Scale = Literal["linear", "logit", "probit"]


def check_scale(scale: str) -> None:
    """Raise UserError for a scale that there is none of."""
    if scale not in get_args(Scale):
        raise UserError(f"scale: no {scale!r}; legal: {', '.join(get_args(Scale))}")


def to_scale(percent: Floats, scale: Scale) -> Floats:
    """Percent on a scale: ln(p / (1 - p)), the normal quantile of p, or as it is.

    0 and 100 are infinite on the logit and probit scales; `clip_perfect` keeps them off.
    """
    check_scale(scale)
    if scale == "linear":
        return percent
    result: Floats = logit(percent / 100) if scale == "logit" else ndtri(percent / 100)
    return result


def from_scale(values: Floats, scale: Scale) -> Floats:
    """Percent of values on a scale, the inverse of `to_scale`."""
    check_scale(scale)
    if scale == "linear":
        return values
    result: Floats = 100 * (expit(values) if scale == "logit" else ndtr(values))
    return result


def slope_of(values: Floats, scale: Scale) -> Floats:
    """By how many percent points `from_scale` grows for each unit of the scale, at its values."""
    check_scale(scale)
    if scale == "linear":
        return np.ones_like(values)
    if scale == "logit":
        logistic: Floats = 100 * expit(values) * expit(-values)
        return logistic
    normal: Floats = 100 * np.exp(-(values**2) / 2) / np.sqrt(2 * np.pi)
    return normal


def check_percent(values: Floats, what: str) -> None:
    """Raise UserError unless all values (NaN aside) are from 0 to 100 and some above 1."""
    known = values[~np.isnan(values)]
    if known.size and ((known < 0) | (known > 100)).any():
        worst = known.min() if known.min() < 0 else known.max()
        raise UserError(f"{what}: {worst:g} is outside 0 to 100 percent")
    if known.size and known.max() <= 1:
        raise UserError(
            f"{what}: no value exceeds 1 (the largest is {known.max():g}), so these look like "
            "fractions, not percent; multiply by 100"
        )


def clip_perfect(percent: Floats, images: int) -> Floats:
    """Accuracies of a test set of so many images, 0% and 100% moved in by half an image.

    Raises UserError for fewer than one image.
    """
    if images < 1:
        raise UserError(f"images: {images}; a test set has at least 1")
    half = 50 / images
    return np.clip(percent, half, 100 - half)


def points_on(points: Floats, scale: Scale, images: int | tuple[int, int] | None) -> Floats:
    """(n, 2) points in percent on a scale; infinite where 0% or 100% has no place on it.

    With `images`, of both test sets or (of the first column, of the second), those are moved in.
    """
    if scale == "linear":
        return points
    check_percent(points, "x, y")
    if images is not None:
        sizes = images if isinstance(images, tuple) else (images, images)
        columns = zip(points.T, sizes, strict=True)
        points = np.column_stack([clip_perfect(column, size) for column, size in columns])
    return to_scale(points, scale)
