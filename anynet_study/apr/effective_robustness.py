"""Effective robustness: accuracy on a shift beyond the trend of baseline models (Taori et al.).

Feuer et al. 2023 (paper 5), section 3.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd

from anynet_study.apr.binomial import binomial_interval
from anynet_study.apr.edf_sample import check_seed
from anynet_study.apr.fit_estimates import expanded
from anynet_study.apr.fit_lines import LinearFit, linear_fit
from anynet_study.apr.fit_scales import Scale, from_scale, to_scale
from anynet_study.apr.gaps import image_count
from anynet_study.apr.intervals import Resampled, check_level
from anynet_study.apr.ranks import Floats
from anynet_study.apr.robustness import AVERAGE, checked_table, what_is_missing
from anynet_study.errors import UserError

#: Base accuracies at which lines are resampled; between more of them they are interpolated.
PLACES = 512


def effective_robustness(
    accuracies: pd.DataFrame,
    base: str,
    shifts: Sequence[str] | None = None,
    baseline: Collection[str] | None = None,
    scale: Scale = "logit",
    images: Mapping[str, int] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Accuracy on each shift beyond what baseline models of the same base accuracy have.

    The expected accuracy on a shift is a linear fit of it on the base accuracy, on `scale`, through
    the `baseline` architectures (by default all), such as standard models trained on the base
    alone. effective = accuracy - expected, in percentage points; its mean over the shifts is the
    shift "average".

    Returns long DataFrame[architecture, shift, base, accuracy, expected, effective, effective_low,
    effective_high, baseline, note]. The interval is of the fit, by the bootstrap over the baseline
    architectures (BCa, the same resamples for every shift); with `images` also of the sampling
    error of the accuracy on the shift (Clopper-Pearson, squared and added), though not for
    "average". Architectures that lack an accuracy, and those at 0% or 100% of the base, which have
    no place on the scale, keep their rows with NaN and a note; they are no part of the fit.
    Accuracies of 0% or 100% on a shift are moved in by half an image for the fit where `images` are
    given, else their architectures are left out of all fits. Raises UserError where a fit is
    impossible.
    """
    check_level(level, resamples)
    check_seed(seed)
    table, names = checked_table(accuracies, base, shifts)
    chosen = table.index if baseline is None else pd.Index(list(dict.fromkeys(baseline)))
    unknown = chosen.difference(table.index, sort=False)
    if len(unknown):
        raise UserError(f"baseline: no architecture {unknown[0]} in the accuracies")
    notes = what_is_missing(table)
    if scale != "linear":
        edge = (notes == "") & ~table[base].between(0, 100, inclusive="neither")
        notes = notes.mask(edge, f"{base} of 0% or 100% has no place on the {scale} scale")
    whole = table[notes == ""]
    fitted = whole.loc[whole.index.isin(chosen)]
    if scale != "linear" and images is None:
        # The same architectures for all shifts, so that their lines can be averaged.
        fitted = fitted[((fitted[names] > 0) & (fitted[names] < 100)).all(axis=1)]
    bases = whole[base].to_numpy()
    grid = np.unique(bases)
    if len(grid) > PLACES:
        grid = np.linspace(grid[0], grid[-1], PLACES)
    parts, lines = [], []
    for shift in names:
        fit = _fit(fitted, base, shift, scale, images, resamples, seed, level)
        lines.append(_expected(fit, grid))
        region = _region(lines[-1], grid, bases, expanded(level, fit.n))
        size = None if images is None else image_count(images, shift)
        parts.append(_rows(whole[shift].to_numpy(), region, level, size))
    if len(names) > 1:
        region = _region(_mean(lines), grid, bases, expanded(level, len(fitted)))
        parts.append(_rows(whole[names].mean(axis=1).to_numpy(), region, level, None))
    shown = [*names, AVERAGE][: len(parts)]
    long = [
        part.set_index(whole.index).reindex(table.index).assign(shift=shift, base=table[base])
        for shift, part in zip(shown, parts, strict=True)
    ]
    result = pd.concat(long).rename_axis(index="architecture")
    result["baseline"] = result.index.isin(fitted.index)
    result = result.assign(note=notes.reindex(result.index)).reset_index()
    ends = ["effective", "effective_low", "effective_high"]
    columns = ["architecture", "shift", "base", "accuracy", "expected", *ends, "baseline", "note"]
    return result[columns]


def _fit(
    fitted: pd.DataFrame,
    base: str,
    shift: str,
    scale: Scale,
    images: Mapping[str, int] | None,
    resamples: int,
    seed: int,
    level: float,
) -> LinearFit:
    sizes = None
    if images is not None:
        sizes = image_count(images, base), image_count(images, shift)
    try:
        return linear_fit(fitted[base], fitted[shift], scale, resamples, seed, level, images=sizes)
    except UserError as error:
        text = str(error).removeprefix("fit: ")
        raise UserError(f"baseline: no fit of {shift} on {base}: {text}") from None


def _expected(fit: LinearFit, base: Floats) -> Resampled:
    """Accuracies (m,) that the line expects at base accuracies, with those of its resamples."""
    assert fit.lines is not None
    at = to_scale(base, fit.scale)
    parts = (fit.lines.estimate[:, None], fit.lines.draws, fit.lines.jackknife)
    heights = [from_scale(each[1] + at[:, None] * each[0], fit.scale) for each in parts]
    return Resampled(heights[0].ravel(), heights[1], heights[2])


def _region(line: Resampled, grid: Floats, bases: Floats, level: float) -> Floats:
    """(3, m) the expected accuracy and the ends of its interval at base accuracies (m,)."""
    low, high = line.interval(level)
    return np.array([np.interp(bases, grid, each) for each in (line.estimate, low, high)])


def _rows(accuracy: Floats, region: Floats, level: float, images: int | None) -> pd.DataFrame:
    expected, low, high = region
    below, above = high - expected, expected - low
    if images is not None:
        wrong_low, wrong_high = binomial_interval(100 - accuracy, images, level)
        below = np.hypot(below, wrong_high - (100 - accuracy))
        above = np.hypot(above, (100 - accuracy) - wrong_low)
    effective = accuracy - expected
    return pd.DataFrame(
        {
            "accuracy": accuracy,
            "expected": expected,
            "effective": effective,
            "effective_low": effective - below,
            "effective_high": effective + above,
        }
    )


def _mean(lines: list[Resampled]) -> Resampled:
    """The mean over the shifts, resample by resample."""
    return Resampled(
        np.mean([line.estimate for line in lines], axis=0),
        np.mean([line.draws for line in lines], axis=0),
        np.mean([line.jackknife for line in lines], axis=0),
    )
