"""Lines and splines through architectures' scores, with intervals and confidence regions.

Papers that fit one test set's accuracies on another's do it in percent (Recht et al. 2019, paper 2,
section 3.3 and Figure 1; Fang et al. 2023, paper 3, section 4; Salaudeen and Hardt 2024, paper 4,
section 4.2), in logits (Taori et al. 2020) or in probits (Miller et al. 2021), which straighten the
ends. Splines beside lines show where a trend ends (paper 3, Figure 1 and Appendix B).

How often nominal 95% intervals of slope, R squared and the line at 70 (near the mean of x) held the
truth in 1,000 samples (`benchmarks/fit_coverage.py`), in percent:

    scatter    n = 6      n = 10     n = 20     n = 40     n = 200
    even       97 99 97   95 97 95   94 97 96   94 96 96   96 96 96
    fanning    95 98 96   94 93 94   94 94 95   94 94 96   95 94 95
    weak       97 99 97   95 98 95   94 98 96   94 96 96   96 96 96
    skewed     97 98 98   95 95 96   94 92 96   93 92 96   94 93 95
    heavy      96 96 98   96 92 97   97 87 97   96 86 96   96 83 96

"fanning" scatter grows e-fold over two standard deviations of x (there the textbook's intervals
held the truth in 85% to 94%); "weak" has an R squared of 0.2; in "skewed" x is exponential; in
"heavy" scatter is Student's t with 3 degrees of freedom. There those of R squared hold it less
often: its fourth moments are infinite, on which the standard error of every correlation rests.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd
import scipy
from scipy.special import expit, logit, ndtr, ndtri

from anynet_study.analysis.apr.error_tables import Values, check_percent, matched, why_no_fit
from anynet_study.analysis.apr.fit_intervals import Estimates, line_intervals, reaches
from anynet_study.analysis.apr.options import Floats, check_choice, with_attrs
from anynet_study.core.errors import DoesNotApplyError
from anynet_study.core.metrics import check_level

Scale = Literal["linear", "logit", "probit"]
#: Points of a fitted line where none are asked for, and of a spline.
POINTS = 51
SPLINE_POINTS = 101
#: Fewest architectures with different x that a spline takes.
FEWEST_X = 5


def to_scale(percent: Floats, scale: Scale) -> Floats:
    """Percent on a scale: ln(p / (1 - p)), the normal quantile of p, or as it is.

    0 and 100 are infinite on the logit and probit scales; `clip_perfect` keeps them off.
    """
    check_choice("scale", scale, Scale)
    if scale == "linear":
        return percent
    result: Floats = logit(percent / 100) if scale == "logit" else ndtri(percent / 100)
    return result


def from_scale(values: Floats, scale: Scale) -> Floats:
    """Percent of values on a scale, the inverse of `to_scale`."""
    if scale == "linear":
        return values
    result: Floats = 100 * (expit(values) if scale == "logit" else ndtr(values))
    return result


def slope_of(values: Floats, scale: Scale) -> Floats:
    """By how many percent points `from_scale` grows for each unit of the scale, at its values."""
    if scale == "linear":
        return np.ones_like(values)
    logistic: Floats = 100 * expit(values) * expit(-values)
    normal: Floats = 100 * np.exp(-(values**2) / 2) / np.sqrt(2 * np.pi)
    return logistic if scale == "logit" else normal


def clip_perfect(percent: Floats, images: int) -> Floats:
    """Accuracies of a test set of `images` images, 0% and 100% moved in by half an image.

    Raises UserError for fewer than one image.
    """
    if images < 1:
        raise DoesNotApplyError(f"images: {images}; a test set has at least 1")
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


@dataclass(frozen=True)
class LinearFit:
    """A least-squares line through architectures' scores on two test sets, on a scale.

    All are on `scale`; on "linear" the intercept has y's unit.
    """

    slope: float
    slope_low: float
    slope_high: float
    intercept: float
    intercept_low: float
    intercept_high: float
    #: Pearson's correlation, on the scale.
    correlation: float
    correlation_low: float
    correlation_high: float
    r2: float
    r2_low: float
    r2_high: float
    #: R squared corrected for the two fitted parameters, which for few points is below 0 by chance.
    adjusted_r2: float
    adjusted_r2_low: float
    adjusted_r2_high: float
    #: Architectures the line rests on.
    n: int
    #: Architectures without x or y.
    missing: int
    #: Architectures left out because 0% or 100% has no place on the scale.
    excluded: int
    scale: Scale
    level: float
    #: (n,) the points, on the scale.
    x: Floats = field(repr=False, compare=False)
    y: Floats = field(repr=False, compare=False)

    def row(self) -> dict[str, float]:
        """Estimates, interval ends and counts by name, as one row of a table."""
        names = ("correlation", "slope", "intercept", "r2", "adjusted_r2")
        ends = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
        return {name: getattr(self, name) for name in [*ends, "n", "missing", "excluded"]}

    def predict(self, x: Values) -> Floats:
        """The fitted y, in percent (or y's unit), at each x in percent (or x's unit)."""
        at = to_scale(np.asarray(x, dtype=np.float64), self.scale)
        return from_scale(self.intercept + self.slope * at, self.scale)

    def region(self, x: Values | None = None) -> pd.DataFrame:
        """DataFrame[x, y, low, high]: the line and its pointwise confidence region.

        x in percent (or its unit) is by default 51 points from the smallest to the largest. The
        region is of the line, not of further points.
        """
        if x is None:
            first, last = from_scale(np.array([self.x.min(), self.x.max()]), self.scale)
            x = np.linspace(first, last, POINTS)
        raw = np.asarray(x, dtype=np.float64).ravel()
        at = to_scale(raw, self.scale)
        if not np.isfinite(at).all():
            raise DoesNotApplyError(
                f"x: {raw[~np.isfinite(at)][0]:g} has no place on the {self.scale} scale"
            )
        height, reach = self.intercept + self.slope * at, reaches(self.x, self.y, at, self.level)
        ends = from_scale(np.array([height - reach, height + reach]), self.scale)
        columns = {"x": raw, "y": self.predict(raw), "low": ends[0], "high": ends[1]}
        return with_attrs(pd.DataFrame(columns), self.level, n=self.n, scale=self.scale)


def linear_fit(
    x: Values,
    y: Values,
    scale: Scale = "linear",
    level: float = 0.95,
    images: int | tuple[int, int] | None = None,
) -> LinearFit:
    """The least-squares line of y on x, one point per architecture, with intervals.

    x and y are arrays, or Series that are matched by index; points that lack one are left out and
    counted. On the scale "linear" they may have any unit; "logit" and "probit" are for percent. A
    score of 0 or 100 has no place there: with `images`, of both test sets or (of x, of y), it is
    moved in by half an image, without them its architecture is left out and counted (`excluded`).

    Intervals allow for uneven scatter and are made for few points: Student's t with the standard
    error HC3 for slope, intercept and line, and with the jackknife's on Fisher's z for the
    correlation (`fit_intervals`). R squared has the square of the correlation's interval,
    from 0 where that holds 0. How often they hold the truth: above.

    Raises UserError for fewer than 4 points, a constant column (also but for one point), infinite
    values, fractions on a scale for percent, and illegal options.

    >>> fit = linear_fit(np.arange(10), 2 * np.arange(10) + [0, 1, 0, 1, 0, 1, 0, 1, 0, 1])
    >>> round(float(fit.slope), 2)
    2.03
    """
    check_choice("scale", scale, Scale)
    check_level(level)
    both = matched(x, y)
    points = both.dropna().to_numpy()
    missing = len(both) - len(points)
    on_scale = points_on(points, scale, images)
    finite = np.isfinite(on_scale).all(axis=1)
    used_x, used_y = np.ascontiguousarray(on_scale[finite].T)
    problem = why_no_fit(*points[finite].T) or why_no_fit(used_x, used_y)
    if problem:
        raise DoesNotApplyError(f"fit: {problem}")
    estimates = line_intervals(used_x, used_y, level)
    return LinearFit(
        **_named(estimates, len(used_x)),
        n=len(used_x),
        missing=missing,
        excluded=int((~finite).sum()),
        scale=scale,
        level=level,
        x=used_x,
        y=used_y,
    )


def _named(estimates: Estimates, n: int) -> dict[str, float]:
    """The estimates and their ends by the name of their field."""
    fields: dict[str, float] = {}
    ends = dict(zip(("", "_low", "_high"), estimates, strict=True))
    for end, values in ends.items():
        for name, value in zip(("slope", "intercept", "correlation"), values, strict=True):
            fields[f"{name}{end}"] = float(value)
    r, low, high = (fields[f"correlation{end}"] for end in ends)
    squares = sorted([low**2, high**2])
    squares[0] = 0.0 if low <= 0 <= high else squares[0]
    for end, r2 in zip(ends, (r**2, *squares), strict=True):
        fields[f"r2{end}"] = r2
        fields[f"adjusted_r2{end}"] = 1 - (1 - r2) * (n - 1) / (n - 2)
    return fields


def spline_fit(x: Values, y: Values) -> pd.DataFrame:
    """A smoothing spline of y on x, one point per architecture: DataFrame[x, y, n].

    101 points from the smallest to the largest x of scipy's `make_smoothing_spline`, smoothed as
    generalised cross-validation likes best. Its bends are flatter than the truth's. Raises
    UserError as `linear_fit` does, and for fewer than 5 different x.
    """
    points = matched(x, y).dropna()
    problem = why_no_fit(*points.to_numpy().T)
    if problem:
        raise DoesNotApplyError(f"spline: {problem}")
    of_each = points.groupby("x")["y"].agg(["mean", "count"])
    if len(of_each) < FEWEST_X:
        raise DoesNotApplyError(
            f"spline: {len(of_each)} different x; at least {FEWEST_X} are needed"
        )
    # Brought to 0 to 1: what is smooth must not depend on x's unit.
    first, spread = of_each.index[0], of_each.index[-1] - of_each.index[0]
    places = (of_each.index.to_numpy() - first) / spread
    spline = scipy.interpolate.make_smoothing_spline(
        places, of_each["mean"].to_numpy(), of_each["count"].to_numpy()
    )
    grid = np.linspace(0, 1, SPLINE_POINTS)
    table = pd.DataFrame({"x": first + spread * grid, "y": spline(grid), "n": len(points)})
    return with_attrs(table, scale="linear")
