"""Accuracy under distribution shifts: its average, and what is beyond the trend of baselines.

Feuer et al. 2023 (paper 5), section 3; effective robustness is that of Taori et al. 2020.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtri

from anynet_study.analysis.apr.error_tables import check_accuracies, check_columns
from anynet_study.analysis.apr.fit_intervals import reaches, residuals, student, variances
from anynet_study.analysis.apr.fits import (
    LinearFit,
    Scale,
    clip_perfect,
    from_scale,
    linear_fit,
    slope_of,
    to_scale,
)
from anynet_study.analysis.apr.gaps import image_count
from anynet_study.analysis.apr.options import Floats, with_attrs
from anynet_study.analysis.apr.simultaneous import bonferroni
from anynet_study.analysis.apr.transfer import ENDS, fit_row
from anynet_study.analysis.apr.verdicts import SMALLEST_ROBUSTNESS, family_of, verdict
from anynet_study.core.errors import DoesNotApplyError
from anynet_study.core.metrics import binomial_interval, check_level

#: Name of the mean over the shifts among them.
AVERAGE = "average"
#: The least share of the base accuracies' variance that is not sampling error, for a line.
LEAST_RELIABLE = 0.1


def robustness_lines(
    accuracies: pd.DataFrame,
    base: str,
    groups: pd.Series,
    scale: Scale = "logit",
    level: float = 0.95,
) -> pd.DataFrame:
    """Fit, for each group of architectures, a line of every shift on the base accuracy (paper 5).

    `accuracies` in percent, architectures x test sets; shifts are all but the base. `groups` names
    each architecture's group, such as its recipe or family, NaN where it has none. Lines of
    different groups that differ in height at the same base accuracy are what effective robustness
    is about.

    Returns DataFrame[group, shift, n, accuracy, correlation, ..., slope, slope_low, ..., excluded,
    note]: the mean accuracy on the shift, and the fit as in `transfer_fits`, on `scale`. With more
    than one shift, `attrs["averages"]` has one row for each group, a dict with these columns but
    for `shift`: of the mean accuracy over the shifts.
    """
    check_level(level)
    table, names = checked_table(accuracies, base, None)
    shown = table.assign(**{AVERAGE: table[names].mean(axis=1, skipna=False)})
    shifts = [*names, AVERAGE][: len(names) + (len(names) > 1)]
    rows = []
    for group, members in groups.groupby(groups, sort=False):
        own = shown.reindex(members.index)
        for shift in shifts:
            both = own[[base, shift]].dropna()
            row: dict[str, object] = {"group": str(group), "shift": shift, "n": len(both)}
            row |= fit_row(both[base], both[shift], scale, level)
            rows.append({**row, "accuracy": both[shift].mean()})
    columns = ["group", "shift", "n", "accuracy", *ENDS, "excluded", "note"]
    result, averages = _without_average(pd.DataFrame(rows).reindex(columns=columns))
    return with_attrs(result, level, "pearson", scale=scale, averages=averages)


def _without_average(table: pd.DataFrame) -> tuple[pd.DataFrame, list[dict[str, object]]]:
    """The rows of single shifts, and those of their mean as dicts without `shift`."""
    of_mean = table["shift"] == AVERAGE
    averages = table[of_mean].drop(columns="shift").to_dict("records")
    return table[~of_mean].reset_index(drop=True), averages


def checked_table(
    accuracies: pd.DataFrame, base: str, shifts: Sequence[str] | None
) -> tuple[pd.DataFrame, list[str]]:
    """The accuracies on the base and on the shifts, and the names of the shifts."""
    names = list(accuracies.columns.drop(base, errors="ignore")) if shifts is None else [*shifts]
    check_columns(accuracies, [base, *names], "accuracies")
    if not names or base in names or len(set(names)) < len(names):
        raise DoesNotApplyError("shifts: at least one is needed, each once, and not the base")
    if AVERAGE in names:
        raise DoesNotApplyError(f"shifts: {AVERAGE} is the name of their mean; rename the column")
    return check_accuracies(accuracies[[base, *names]]), names


def what_is_missing(table: pd.DataFrame) -> pd.Series:
    """Return what each architecture lacks; "" where nothing."""
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
    """Accuracy on shifts, and what is beyond that of baseline models of the same base accuracy.

    `accuracies` in percent, architectures x test sets; shifts are by default all but the base. The
    expected accuracy on a shift is a linear fit of it on the base accuracy, on `scale`, through
    the `baseline` architectures (by default all), such as standard models trained on the base
    alone. effective = accuracy - expected, in percentage points.

    Returns long DataFrame[architecture, shift, base, accuracy, ratio, expected, effective,
    effective_low, effective_high, robust, baseline, note]; ratio = accuracy / base (NaN at 0%),
    which compares models of roughly the same base accuracy. With more than one shift,
    `attrs["averages"]` has one row for each architecture, a dict with these columns but for
    `shift`: of the means over the shifts (average robustness and effective robustness ratio). With
    `images`, test set -> number of images, accuracy_low and accuracy_high follow accuracy: sampling
    error by Clopper-Pearson, of averages normal, of independent test sets.

    The interval of `effective` is of the fit (Student's t with the standard error HC3; of averages
    by the delta method); with `images` also of the sampling errors of the accuracy on the shift
    (squared and added) and of the base accuracy, whose error moves what is expected, and which
    flattens the line: the slope is freed of that (errors in variables by the method of moments:
    Fuller, "Measurement Error Models", 1987, section 1.2). `robust` is the verdict on an effect of
    at least `SMALLEST_ROBUSTNESS`, all rows and averages being one family; without `images` the
    sampling error is not known, and it is undecided. So it is where base accuracies differ by
    hardly more than their sampling error; then there are no intervals.

    Architectures that lack an accuracy keep their rows with NaN and a note that names what they
    lack: averages over different shifts cannot be compared. Those at 0% or 100% of the base have no
    place on the scale, and nothing is expected of them. Neither are part of the fit. Accuracies of
    0% or 100% on a shift are moved in by half an image for the fit where `images` are given, else
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
        raise DoesNotApplyError(f"baseline: no architecture {unknown[0]} in the accuracies")
    notes = what_is_missing(table)
    complete = table[notes == ""]
    if scale != "linear":
        edge = (notes == "") & ~table[base].between(0, 100, inclusive="neither")
        notes = notes.mask(edge, f"{base} of 0% or 100% has no place on the {scale} scale")
    whole = table[notes == ""]
    fitted = whole.loc[whole.index.isin(chosen)]
    if scale != "linear" and images is None:
        # The same architectures for all shifts, so that their lines can be averaged.
        fitted = fitted[((fitted[names] > 0) & (fitted[names] < 100)).all(axis=1)]
    bases = whole[base].to_numpy()
    base_errors, reliability = np.zeros(len(bases)), 1.0
    if images is not None:
        base_errors = _sampling_errors(bases, image_count(images, base), scale)
        reliability = _reliability(fitted[base], images[base], scale)
        fitted = fitted.assign(**{base: _drawn_in(fitted[base], images[base], scale, reliability)})
    fits = [_fit(fitted, base, shift, scale, images, level) for shift in names]
    shown = [(name, [name], [fit]) for name, fit in zip(names, fits, strict=True)]
    shown += [(AVERAGE, names, fits)] if len(names) > 1 else []
    parts = []
    for shift, columns, lines in shown:
        found = _measured(complete[columns], images, level)
        region = (_mean_region if len(lines) > 1 else _region)(lines, bases, level)
        moved = base_errors * _steepness(lines, bases)
        beyond = _beyond(found.loc[whole.index], region, level, moved)
        part = found.join(beyond).reindex(table.index)
        parts.append(part.assign(shift=shift, base=table[base]))
    result = pd.concat(parts).rename_axis(index="architecture")
    result["ratio"] = result["accuracy"] / result["base"].where(result["base"] > 0)
    sampled = ["accuracy_low", "accuracy_high"] if images is not None else []
    if images is not None:
        result["accuracy_low"] = (result["accuracy"] - result["down"]).clip(lower=0)
        result["accuracy_high"] = (result["accuracy"] + result["up"]).clip(upper=100)
    result["baseline"] = result.index.isin(fitted.index)
    result = result.assign(note=notes.reindex(result.index)).reset_index()
    ends = [f"effective{end}" for end in ("", "_low", "_high")]
    if reliability < LEAST_RELIABLE:
        result[ends[1:]] = np.nan
        why = f"accuracies on {base} differ by hardly more than their sampling error"
        result["note"] = result["note"].mask(result["note"] == "", why)
    known = result[ends] if images is not None else result[ends] * np.nan
    value, low, high = known.to_numpy().T
    asked = int(np.isfinite(value).sum())
    # Ends are normal on either side: those of a higher level lie as much farther.
    wider = ndtri((1 + bonferroni(level, asked)) / 2) / ndtri((1 + level) / 2)
    together = value - wider * (value - low), value + wider * (high - value)
    result["robust"] = verdict(*together, SMALLEST_ROBUSTNESS)
    columns = ["architecture", "shift", "base", "accuracy", *sampled, "ratio", "expected"]
    columns += [*ends, "robust"]
    family = None if images is None else family_of(asked, "row")
    result, averages = _without_average(result[[*columns, "baseline", "note"]])
    return with_attrs(result, level, n=len(fitted), scale=scale, family=family, averages=averages)


def _sampling_errors(accuracies: Floats, images: int, scale: Scale) -> Floats:
    """(m,) standard errors, on the scale, of accuracies (m,) in percent on so many images."""
    inside = clip_perfect(accuracies, images)
    steepness = slope_of(to_scale(inside, scale), scale)
    errors: Floats = np.sqrt(inside * (100 - inside) / images) / steepness
    return errors


def _reliability(base: pd.Series, images: int, scale: Scale) -> float:
    """The share of the variance of base accuracies (%) on the scale that is no sampling error."""
    at = to_scale(clip_perfect(base.to_numpy(), images), scale)
    noise = (_sampling_errors(base.to_numpy(), images, scale) ** 2).mean() if len(at) else 0.0
    spread = at.var(ddof=1) if len(at) > 1 else 0.0
    return float(1 - noise / spread) if spread > 0 else 1.0


def _drawn_in(base: pd.Series, images: int, scale: Scale, reliability: float) -> pd.Series:
    """Base accuracies (%) drawn in to their mean by their reliability: what they are on average.

    A line on them has the slope that it would have without their sampling error. As they are where
    hardly anything but that is in them.
    """
    if reliability < LEAST_RELIABLE or base.empty:
        return base
    at = to_scale(clip_perfect(base.to_numpy(), images), scale)
    drawn_in = at.mean() + reliability * (at - at.mean())
    return pd.Series(from_scale(drawn_in, scale), index=base.index)


def _steepness(fits: list[LinearFit], bases: Floats) -> Floats:
    """(m,) points by which the mean of the lines rises with each unit of the scale, at bases."""
    at = to_scale(bases, fits[0].scale)
    slopes = [fit.slope * slope_of(fit.intercept + fit.slope * at, fit.scale) for fit in fits]
    steepness: Floats = np.mean(slopes, axis=0)
    return steepness


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
        return linear_fit(fitted[base], fitted[shift], scale, level, sizes)
    except DoesNotApplyError as error:
        text = str(error).removeprefix("fit: ")
        raise DoesNotApplyError(f"baseline: no fit of {shift} on {base}: {text}") from None


def _region(fits: list[LinearFit], bases: Floats, level: float) -> Floats:
    """(3, m) what a line expects at base accuracies (m,), and the ends of its interval."""
    [fit] = fits
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


def _measured(
    accuracies: pd.DataFrame, images: Mapping[str, int] | None, level: float
) -> pd.DataFrame:
    """DataFrame[accuracy, down, up]: means over test sets, and the reach of sampling error."""
    accuracy: pd.Series = accuracies.mean(axis=1)
    down = up = np.zeros(len(accuracy))
    if images is not None and accuracies.shape[1] > 1:
        down = up = sampling_reach(accuracies, images, level)
    elif images is not None:
        count = image_count(images, str(accuracies.columns[0]))
        low, high = binomial_interval(100 - accuracy, count, level)
        down, up = high - (100 - accuracy), (100 - accuracy) - low
    return pd.DataFrame({"accuracy": accuracy, "down": down, "up": up})


def _beyond(measured: pd.DataFrame, region: Floats, level: float, moved: Floats) -> pd.DataFrame:
    """Return what is expected of accuracies that were `_measured`, and what is beyond it.

    `moved` (m,): standard errors of what is expected, from those of the base accuracies.
    """
    expected, low, high = region
    by_base = ndtri((1 + level) / 2) * moved
    below, above = np.hypot(high - expected, by_base), np.hypot(expected - low, by_base)
    effective = measured["accuracy"] - expected
    return pd.DataFrame(
        {
            "expected": expected,
            "effective": effective,
            "effective_low": effective - np.hypot(below, measured["down"]),
            "effective_high": effective + np.hypot(above, measured["up"]),
        }
    )
