"""Linear fits of one column on another, with intervals and confidence regions.

Recht et al. 2019 (paper 2, section 3.3 and Figure 1), Fang et al. 2023 (paper 3, section 4),
Salaudeen and Hardt 2024 (paper 4, section 4.2).

How often nominal 95% intervals of slope, R squared and the line at 70 (near the mean of x) held the
truth in 1,000 samples (`benchmarks/fit_coverage.py`), in percent:

    scatter             n = 6      n = 10     n = 20     n = 40     n = 200
    even     robust     97 98 97   95 96 95   94 97 96   94 97 96   96 94 96
             bootstrap  99 97 97   97 96 94   93 97 95   94 95 95   95 94 95
             student    96 95 95   95 93 93   93 96 96   95 95 95   95 95 96
    fanning  robust     95 96 96   94 94 94   94 94 95   94 95 96   95 95 95
             bootstrap  99 94 98   94 92 92   91 92 93   90 91 94   92 92 94
             student    93 94 93   88 87 90   86 89 93   87 89 94   85 87 94
    weak     robust     97 98 97   95 98 95   94 96 96   94 96 96   96 95 96
    skewed   robust     97 96 98   95 94 96   94 94 96   93 93 96   94 94 95
             bootstrap  99 99 98   98 96 97   96 91 96   94 90 95   94 91 95
             student    95 93 94   94 87 95   94 84 95   95 83 96   94 79 95
    heavy    robust     96 94 98   96 94 97   97 88 97   96 88 96   96 86 96

"fanning" scatter grows e-fold over two standard deviations of x; "weak" has an R squared of 0.2; in
"skewed" x is exponential; in "heavy" scatter is Student's t with 3 degrees of freedom. There the
robust ones of R squared hold it less often: its fourth moments are infinite, on which the standard
error of every correlation rests, and no method that was tried (BCa, studentised bootstraps, the
jackknife) held it in more than 89% of samples of 20 points or more.
"""

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
import pandas as pd

from anynet_study.apr import fit_robust
from anynet_study.apr.edf_sample import check_seed
from anynet_study.apr.fit_estimates import (
    Estimates,
    expanded,
    reaches,
    resampled_lines,
    student_intervals,
)
from anynet_study.apr.fit_scales import Scale, check_scale, from_scale, points_on, to_scale
from anynet_study.apr.intervals import Resampled, check_level
from anynet_study.apr.ranks import Floats
from anynet_study.apr.scores import Values, matched, why_no_fit
from anynet_study.errors import UserError

Method = Literal["robust", "bootstrap", "student"]
#: Points of a fitted line where none are asked for.
POINTS = 51


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
    method: Method
    level: float
    #: (n,) the points, on the scale.
    x: Floats = field(repr=False, compare=False)
    y: Floats = field(repr=False, compare=False)
    #: Slope, intercept and correlation of resamples, with method "bootstrap".
    lines: Resampled | None = field(repr=False, compare=False)

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
        region is of the line, not of further points, by the method of the fit.
        """
        if x is None:
            first, last = from_scale(np.array([self.x.min(), self.x.max()]), self.scale)
            x = np.linspace(first, last, POINTS)
        raw = np.asarray(x, dtype=np.float64).ravel()
        at = to_scale(raw, self.scale)
        if not np.isfinite(at).all():
            raise UserError(
                f"x: {raw[~np.isfinite(at)][0]:g} has no place on the {self.scale} scale"
            )
        low, high = self._even_region(at) if self.lines is None else self._resampled_region(at)
        ends = {name: from_scale(end, self.scale) for name, end in (("low", low), ("high", high))}
        return pd.DataFrame({"x": raw, "y": self.predict(raw), **ends})

    def _resampled_region(self, at: Floats) -> tuple[Floats, Floats]:
        assert self.lines is not None
        parts = []
        for chunk in np.array_split(at, max(1, len(at) // 16)):  # 100,000 resamples: 13 MB a chunk
            heights = [
                each[1] + chunk.reshape(-1, *[1] * (each.ndim - 1)) * each[0]
                for each in (self.lines.estimate, self.lines.draws, self.lines.jackknife)
            ]
            parts.append(Resampled(*heights).interval(expanded(self.level, self.n)))
        low, high = (np.concatenate(ends) for ends in zip(*parts, strict=True))
        return low, high

    def _even_region(self, at: Floats) -> tuple[Floats, Floats]:
        """As far above the line as below."""
        height = self.intercept + self.slope * at
        reaching = fit_robust.reaches if self.method == "robust" else reaches
        reach = reaching(self.x, self.y, at, self.level)
        return height - reach, height + reach


def linear_fit(
    x: Values,
    y: Values,
    scale: Scale = "linear",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    method: Method = "robust",
    images: int | tuple[int, int] | None = None,
) -> LinearFit:
    """The least-squares line of y on x, one point an architecture, with intervals.

    x and y are arrays, or Series that are matched by index; points that lack one are left out and
    counted. On the scale "linear" they may have any unit; "logit" and "probit" are for percent. A
    score of 0 or 100 has no place there: with `images`, of both test sets or (of x, of y), it is
    moved in by half an image, without them its architecture is left out and counted (`excluded`).

    Intervals are "robust" to uneven scatter and made for few points: Student's t with the standard
    error HC3 for slope, intercept and line, a studentised bootstrap over architectures on Fisher's
    z for the correlation (`fit_robust`). "bootstrap": BCa intervals, architectures being resampled,
    widened for small samples as Student's t is. "student": the textbook's, which take the scatter
    as even and normal. R squared has the square of the correlation's interval, from 0 where that
    holds 0. How often they hold the truth: above, and benchmarks/fit_coverage.py.

    Raises UserError for fewer than 4 points, a constant column (also but for one point), infinite
    values, fractions on a scale for percent, and illegal options.
    """
    check_scale(scale)
    check_level(level, resamples)
    check_seed(seed)
    if method not in get_args(Method):
        raise UserError(f"method: no {method!r}; legal: {', '.join(get_args(Method))}")
    both = matched(x, y)
    points = both.dropna().to_numpy()
    missing = len(both) - len(points)
    on_scale = points_on(points, scale, images)
    finite = np.isfinite(on_scale).all(axis=1)
    used_x, used_y = np.ascontiguousarray(on_scale[finite].T)
    problem = why_no_fit(*points[finite].T) or why_no_fit(used_x, used_y)
    if problem:
        raise UserError(f"fit: {problem}")
    lines = None
    if method == "robust":
        estimates = fit_robust.robust_intervals(used_x, used_y, resamples, seed, level)
    elif method == "student":
        estimates = student_intervals(used_x, used_y, level)
    else:
        lines = resampled_lines(used_x, used_y, resamples, seed)
        estimates = Estimates(lines.estimate, *lines.interval(expanded(level, len(used_x))))
    return LinearFit(
        **_named(estimates, len(used_x)),
        n=len(used_x),
        missing=missing,
        excluded=int((~finite).sum()),
        scale=scale,
        method=method,
        level=level,
        x=used_x,
        y=used_y,
        lines=lines,
    )


def _named(estimates: Estimates, n: int) -> dict[str, float]:
    """The estimates and their ends by the name of their field."""
    fields: dict[str, float] = {}
    ends = {"": estimates.estimate, "_low": estimates.low, "_high": estimates.high}
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
