"""Lines and splines through architectures' scores, with intervals and confidence regions.

Papers that fit one test set's accuracies on another's do it in percent (Recht et al. 2019, paper 2,
section 3.3 and Figure 1; Fang et al. 2023, paper 3, section 4; Salaudeen and Hardt 2024, paper 4,
section 4.2), in logits (Taori et al. 2020) or in probits (Miller et al. 2021), which straighten the
ends. Splines beside lines show where a trend ends (paper 3, Figure 1 and Appendix B).

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
from itertools import pairwise
from typing import Literal

import numpy as np
import pandas as pd
from scipy.interpolate import BSpline
from scipy.special import expit, logit, ndtr, ndtri

from anynet_study.apr.bootstrap import Resampled, draws, percentiles
from anynet_study.apr.error_tables import Values, check_range, matched, why_no_fit
from anynet_study.apr.fit_intervals import (
    Estimates,
    expanded,
    resampled_lines,
    robust_intervals,
    robust_reaches,
    student_intervals,
    student_reaches,
)
from anynet_study.apr.options import Floats, check_choice, check_level, with_attrs
from anynet_study.errors import UserError

Scale = Literal["linear", "logit", "probit"]
FitMethod = Literal["robust", "bootstrap", "student"]
#: Points of a fitted line where none are asked for.
POINTS = 51
#: Most knots, those at the ends included.
KNOTS = 12
#: Fewest architectures with different x.
FEWEST_X = 5
#: Penalties that are tried, of x from 0 to 1 and a mean over the points.
PENALTIES = 10.0 ** np.arange(-7, 3.01, 0.25)
SPLINE_POINTS = 101


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
        raise UserError(f"images: {images}; a test set has at least 1")
    half = 50 / images
    return np.clip(percent, half, 100 - half)


def points_on(points: Floats, scale: Scale, images: int | tuple[int, int] | None) -> Floats:
    """(n, 2) points in percent on a scale; infinite where 0% or 100% has no place on it.

    With `images`, of both test sets or (of the first column, of the second), those are moved in.
    """
    if scale == "linear":
        return points
    check_range(points, "x, y")
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
    method: FitMethod
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
        region = pd.DataFrame({"x": raw, "y": self.predict(raw), **ends})
        return with_attrs(region, self.level, n=self.n, scale=self.scale, fit=self.method)

    def _resampled_region(self, at: Floats) -> tuple[Floats, Floats]:
        assert self.lines is not None
        parts = []
        for chunk in np.array_split(at, max(1, len(at) // 16)):  # 100,000 resamples: 13 MB a chunk
            heights = [
                line[1] + chunk.reshape(-1, *[1] * (line.ndim - 1)) * line[0]
                for line in (self.lines.estimate, self.lines.draws, self.lines.jackknife)
            ]
            parts.append(Resampled(*heights).interval(expanded(self.level, self.n)))
        low, high = (np.concatenate(ends) for ends in zip(*parts, strict=True))
        return low, high

    def _even_region(self, at: Floats) -> tuple[Floats, Floats]:
        """As far above the line as below."""
        height = self.intercept + self.slope * at
        reaching = robust_reaches if self.method == "robust" else student_reaches
        reach = reaching(self.x, self.y, at, self.level)
        return height - reach, height + reach


def linear_fit(
    x: Values,
    y: Values,
    scale: Scale = "linear",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    method: FitMethod = "robust",
    images: int | tuple[int, int] | None = None,
) -> LinearFit:
    """The least-squares line of y on x, one point per architecture, with intervals.

    x and y are arrays, or Series that are matched by index; points that lack one are left out and
    counted. On the scale "linear" they may have any unit; "logit" and "probit" are for percent. A
    score of 0 or 100 has no place there: with `images`, of both test sets or (of x, of y), it is
    moved in by half an image, without them its architecture is left out and counted (`excluded`).

    Intervals are "robust" to uneven scatter and made for few points: Student's t with the standard
    error HC3 for slope, intercept and line, a studentised bootstrap over architectures on Fisher's
    z for the correlation (`fit_intervals`). "bootstrap": BCa intervals, architectures being
    resampled, widened for small samples as Student's t is. "student": the textbook's, which take
    the scatter as even and normal. R squared has the square of the correlation's interval, from 0
    where that holds 0. How often they hold the truth: above, and benchmarks/fit_coverage.py.

    Raises UserError for fewer than 4 points, a constant column (also but for one point), infinite
    values, fractions on a scale for percent, and illegal options.
    """
    check_choice("scale", scale, Scale)
    check_level(level, resamples, seed)
    check_choice("method", method, FitMethod)
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
        estimates = robust_intervals(used_x, used_y, resamples, seed, level)
    elif method == "student":
        estimates = student_intervals(used_x, used_y, level)
    else:
        lines = resampled_lines(used_x, used_y, resamples, seed)
        estimates = (lines.estimate, *lines.interval(expanded(level, len(used_x))))
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


def spline_fit(
    x: Values,
    y: Values,
    penalty: float | None = None,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """A smoothing spline of y on x, one point per architecture: DataFrame[x, y, low, high, n].

    101 points from the smallest to the largest x. The spline minimises the mean squared residual
    plus `penalty` times the integral of its squared second derivative, for x brought to 0 to 1; by
    default the penalty of least generalised cross-validation. With at most 12 different x it is the
    natural cubic smoothing spline (scipy's `make_smoothing_spline`), with more it has 12 knots at
    quantiles of x. The region is the bootstrap's percentiles over architectures, with the same
    penalty in every resample; it is of the smoothed curve, whose bends are flatter than the
    truth's. Raises UserError as `linear_fit` does, and for fewer than 5 different x.
    """
    check_level(level, resamples, seed)
    points = matched(x, y).dropna().to_numpy()
    problem = why_no_fit(*points.T)
    if problem:
        raise UserError(f"spline: {problem}")
    distinct = len(np.unique(points[:, 0]))
    if distinct < FEWEST_X:
        raise UserError(f"spline: {distinct} different x; at least {FEWEST_X} are needed")
    if penalty is not None and not (np.isfinite(penalty) and penalty > 0):
        raise UserError(f"penalty: {penalty}; legal: a number above 0")
    first, last = points[:, 0].min(), points[:, 0].max()
    smoother = _Smoother.through((points[:, 0] - first) / (last - first), points[:, 1])
    chosen = smoother.choose_penalty() if penalty is None else penalty
    grid = np.linspace(0, 1, SPLINE_POINTS)
    curve = smoother.curves(np.ones((1, len(points))), chosen, grid)[0]
    blocks = draws(len(points), resamples, seed)
    drawn = np.concatenate([smoother.curves(b.astype(float), chosen, grid) for b in blocks])
    low, high = percentiles(drawn, curve, level, len(points))
    at = first + (last - first) * grid
    table = pd.DataFrame({"x": at, "y": curve, "low": low, "high": high, "n": len(points)})
    return with_attrs(table, level, scale="linear")


@dataclass(frozen=True)
class _Smoother:
    """The points of a penalised regression on cubic B-splines."""

    #: (n, k) basis functions at the points.
    basis: Floats
    y: Floats
    #: (k, k) integrals of products of the basis functions' second derivatives.
    curvature: Floats
    knots: Floats

    @classmethod
    def through(cls, x: Floats, y: Floats) -> "_Smoother":
        distinct = np.unique(x)
        inner = np.quantile(distinct, np.linspace(0, 1, min(KNOTS, len(distinct))))
        knots = np.r_[[0.0] * 3, inner, [1.0] * 3]
        basis = BSpline.design_matrix(x, knots, 3).toarray()
        return cls(basis, y, _curvature(knots), knots)

    def curves(self, multiplicities: Floats, penalty: float, at: Floats) -> Floats:
        """(b, points) the splines of resamples (b, n), at places from 0 to 1."""
        shares = multiplicities / multiplicities.sum(axis=1, keepdims=True)
        size = self.basis.shape[1]
        products = (self.basis[:, :, None] * self.basis[:, None, :]).reshape(len(self.y), -1)
        gram = (shares @ products).reshape(-1, size, size)
        right = shares @ (self.basis * self.y[:, None])
        system = gram + penalty * self.curvature + 1e-10 * np.eye(size)
        weights = np.linalg.solve(system, right[:, :, None])[:, :, 0]
        result: Floats = weights @ BSpline.design_matrix(at, self.knots, 3).toarray().T
        return result

    def choose_penalty(self) -> float:
        """The penalty of least generalised cross-validation (Craven and Wahba 1979)."""
        n, size = self.basis.shape
        gram, right = self.basis.T @ self.basis / n, self.basis.T @ self.y / n
        losses = []
        for penalty in PENALTIES:
            inverse = np.linalg.inv(gram + penalty * self.curvature + 1e-10 * np.eye(size))
            residuals = self.y - self.basis @ (inverse @ right)
            freedom = 1 - np.trace(inverse @ gram) / n
            losses.append((residuals**2).mean() / max(freedom, 1e-9) ** 2)
        return float(PENALTIES[int(np.argmin(losses))])


def _curvature(knots: Floats) -> Floats:
    """(k, k) integrals over 0 to 1: second derivatives are linear between knots, so by Simpson."""
    size = len(knots) - 4
    bends = BSpline(knots, np.eye(size), 3).derivative(2)
    edges = np.unique(knots)
    total = np.zeros((size, size))
    for left, right in pairwise(edges):
        inner = left + (right - left) * np.array([1e-9, 0.5, 1 - 1e-9])
        values = bends(inner)
        total += (right - left) / 6 * np.einsum("p,pi,pj->ij", [1.0, 4.0, 1.0], values, values)
    return total
