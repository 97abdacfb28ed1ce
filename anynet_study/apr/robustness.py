"""Accuracy under distribution shifts: its average, and what is beyond the trend of baselines.

Feuer et al. 2023 (paper 5), section 3; effective robustness is that of Taori et al. 2020.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtri

from anynet_study.apr.error_tables import check_accuracies, check_columns
from anynet_study.apr.fit_intervals import reaches, residuals, student, variances
from anynet_study.apr.fits import LinearFit, Scale, from_scale, linear_fit, slope_of, to_scale
from anynet_study.apr.gaps import image_count
from anynet_study.apr.interval_formulas import binomial_interval
from anynet_study.apr.options import Floats, check_level, with_attrs
from anynet_study.apr.verdicts import is_robust
from anynet_study.errors import UserError

#: Name of the mean over the shifts among them.
AVERAGE = "average"


def average_robustness(
    accuracies: pd.DataFrame,
    base: str,
    shifts: Sequence[str] | None = None,
    images: Mapping[str, int] | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Average robustness and effective robustness ratio of every architecture (paper 5, section 3).

    `accuracies` in percent, architectures x test sets; shifts are by default all but the base.
    Returns DataFrame[architecture, base, average, ratio, shifts, note] in the table's order: the
    mean accuracy over the shifts and its ratio to the base accuracy, which compares models of
    roughly the same base accuracy. With `images`, test set -> number of images, average_low and
    average_high follow: sampling error, normal approximation, of independent test sets.

    An architecture that lacks an accuracy has NaN, and `note` names what it lacks: averages over
    different shifts cannot be compared.
    """
    check_level(level)
    table, names = checked_table(accuracies, base, shifts)
    notes = what_is_missing(table)
    whole = table.where(notes == "")
    average = whole[names].mean(axis=1)
    with_base = whole[base].where(whole[base] > 0)
    columns = {"base": whole[base], "average": average}
    if images is not None:
        reach = sampling_reach(whole[names], images, level)
        columns["average_low"] = (average - reach).clip(lower=0)
        columns["average_high"] = (average + reach).clip(upper=100)
    result = pd.DataFrame({**columns, "ratio": average / with_base, "shifts": len(names)})
    no_ratio = (notes == "") & with_base.isna()
    result = result.assign(note=notes.mask(no_ratio, f"0% on {base}: no ratio")).reset_index()
    return with_attrs(result, None if images is None else level, n=(notes == "").sum())


def checked_table(
    accuracies: pd.DataFrame, base: str, shifts: Sequence[str] | None
) -> tuple[pd.DataFrame, list[str]]:
    """The accuracies on the base and on the shifts, and the names of the shifts."""
    names = list(accuracies.columns.drop(base, errors="ignore")) if shifts is None else [*shifts]
    check_columns(accuracies, [base, *names], "accuracies")
    if not names or base in names or len(set(names)) < len(names):
        raise UserError("shifts: at least one is needed, each once, and not the base")
    if AVERAGE in names:
        raise UserError(f"shifts: {AVERAGE} is the name of their mean; rename the column")
    return check_accuracies(accuracies[[base, *names]]), names


def what_is_missing(table: pd.DataFrame) -> pd.Series:
    """What each architecture lacks; "" where nothing."""
    lacking = [", ".join(map(str, table.columns[row])) for row in table.isna().to_numpy()]
    notes = [f"no accuracy on {names}" if names else "" for names in lacking]
    return pd.Series(notes, index=table.index, dtype=object)


def effective_robustness(
    accuracies: pd.DataFrame,
    base: str,
    shifts: Sequence[str] | None = None,
    baseline: Collection[str] | None = None,
    scale: Scale = "logit",
    images: Mapping[str, int] | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Accuracy on each shift beyond what baseline models of the same base accuracy have.

    The expected accuracy on a shift is a linear fit of it on the base accuracy, on `scale`, through
    the `baseline` architectures (by default all), such as standard models trained on the base
    alone. effective = accuracy - expected, in percentage points; its mean over the shifts is the
    shift "average".

    Returns long DataFrame[architecture, shift, base, accuracy, expected, effective, effective_low,
    effective_high, robust, baseline, note]. The interval is of the fit (Student's t with the
    standard error HC3; of "average" by the delta method); with `images` also of the sampling error
    of the accuracy on the shift (Clopper-Pearson, squared and added; of "average" normal, of
    independent test sets). `robust` is a verdict (`verdicts.is_robust`), corrected for all rows;
    without `images` the sampling error is not known, and it is undecided.
    Architectures that lack an accuracy, and those at 0% or 100% of the base, which have no place
    on the scale, keep their rows with NaN and a note; they are no part of the fit. Accuracies of 0%
    or 100% on a shift are moved in by half an image for the fit where `images` are given, else
    their architectures are left out of all fits. Raises UserError where a fit is impossible.

    >>> own, shifted = [70, 75, 80, 85, 90, 80], [50, 56, 63, 71, 80, 75]
    >>> accuracies = pd.DataFrame({"own": own, "sketch": shifted}, index=list("abcdef"))
    >>> table = effective_robustness(accuracies, "own", ["sketch"], baseline=list("abcde"))
    >>> table[["architecture", "shift", "accuracy", "expected", "effective"]].round(1).tail(1)
      architecture   shift  accuracy  expected  effective
    5            f  sketch      75.0      63.2       11.8
    """
    check_level(level)
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
    fits = [_fit(fitted, base, shift, scale, images, level) for shift in names]
    parts = []
    for shift, fit in zip(names, fits, strict=True):
        region = _region(fit, bases, level)
        accuracy = whole[shift].to_numpy()
        sampling = None
        if images is not None:
            low, high = binomial_interval(100 - accuracy, image_count(images, shift), level)
            sampling = np.array([high - (100 - accuracy), (100 - accuracy) - low])
        parts.append(_rows(accuracy, region, sampling))
    if len(names) > 1:
        region = _mean_region(fits, bases, level)
        reach = None if images is None else sampling_reach(whole[names], images, level)
        parts.append(_rows(whole[names].mean(axis=1).to_numpy(), region, reach))
    shown = [*names, AVERAGE][: len(parts)]
    long = [
        part.set_index(whole.index).reindex(table.index).assign(shift=shift, base=table[base])
        for shift, part in zip(shown, parts, strict=True)
    ]
    result = pd.concat(long).rename_axis(index="architecture")
    result["baseline"] = result.index.isin(fitted.index)
    result = result.assign(note=notes.reindex(result.index)).reset_index()
    ends = [f"effective{end}" for end in ("", "_low", "_high")]
    known = result[ends] if images is not None else result[ends] * np.nan
    value, low, high = known.to_numpy().T
    result["robust"] = is_robust(value, low, high, level)
    columns = ["architecture", "shift", "base", "accuracy", "expected", *ends, "robust"]
    return with_attrs(result[[*columns, "baseline", "note"]], level, n=len(fitted), scale=scale)


def sampling_reach(accuracies: pd.DataFrame, images: Mapping[str, int], level: float) -> Floats:
    """(m,) half the width of the interval of means over independent test sets, normal."""
    counts = np.array([image_count(images, str(name)) for name in accuracies])
    variances = accuracies.to_numpy() * (100 - accuracies.to_numpy()) / counts
    reach: Floats = ndtri((1 + level) / 2) * np.sqrt(variances.sum(axis=1)) / len(counts)
    return reach


def _fit(
    fitted: pd.DataFrame,
    base: str,
    shift: str,
    scale: Scale,
    images: Mapping[str, int] | None,
    level: float,
) -> LinearFit:
    sizes = None
    if images is not None:
        sizes = image_count(images, base), image_count(images, shift)
    try:
        # Resamples are for the correlation's interval, and the line alone is wanted.
        fewest = int(np.ceil(2 / (1 - level)))
        return linear_fit(fitted[base], fitted[shift], scale, fewest, level=level, images=sizes)
    except UserError as error:
        text = str(error).removeprefix("fit: ")
        raise UserError(f"baseline: no fit of {shift} on {base}: {text}") from None


def _region(fit: LinearFit, bases: Floats, level: float) -> Floats:
    """(3, m) what a line expects at base accuracies (m,), and the ends of its interval."""
    at = to_scale(bases, fit.scale)
    height, reach = fit.intercept + fit.slope * at, reaches(fit.x, fit.y, at, level)
    return from_scale(np.array([height, height - reach, height + reach]), fit.scale)


def _mean_region(fits: list[LinearFit], bases: Floats, level: float) -> Floats:
    """(3, m) the mean of the lines at base accuracies (m,), and the ends of its interval.

    The lines rest on the same architectures, whose distances from them go together.
    """
    first = fits[0]
    at = to_scale(bases, first.scale)
    heights = np.array([fit.intercept + fit.slope * at for fit in fits])
    left = np.array([residuals(fit.x, fit.y) for fit in fits])
    error = np.sqrt(variances(first.x, left, slope_of(heights, first.scale).T / len(fits), at))
    mean = from_scale(heights, first.scale).mean(axis=0)
    reach = student(first.n, level) * error
    return np.array([mean, mean - reach, mean + reach])


def _rows(accuracy: Floats, region: Floats, sampling: Floats | None) -> pd.DataFrame:
    """`sampling`: how far the accuracies' intervals reach down and up, (2, m), or (m,) for both."""
    expected, low, high = region
    below, above = high - expected, expected - low
    if sampling is not None:
        down, up = np.broadcast_to(sampling, (2, len(accuracy)))
        below, above = np.hypot(below, down), np.hypot(above, up)
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
