"""Smoothing splines through architectures' scores, with a bootstrap region.

Fang et al. 2023 (paper 3, Figure 1 and Appendix B) show splines beside lines, to see where a trend
ends. Cubic splines with knots at quantiles of x and a penalty on their curvature, so that a
resample is a small linear system.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.interpolate import BSpline

from anynet_study.apr.bootstrap import BLOCK, draw
from anynet_study.apr.edf_sample import check_seed, percentiles
from anynet_study.apr.intervals import check_level
from anynet_study.apr.ranks import Floats
from anynet_study.apr.scores import Values, matched, why_no_fit
from anynet_study.errors import UserError

#: Most knots, those at the ends included.
KNOTS = 12
#: Fewest architectures with different x.
FEWEST_X = 5
#: Penalties that are tried, of x from 0 to 1 and a mean over the points.
PENALTIES = 10.0 ** np.arange(-7, 3.01, 0.25)
POINTS = 101


def spline_fit(
    x: Values,
    y: Values,
    penalty: float | None = None,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """A smoothing spline of y on x, one point an architecture: DataFrame[x, y, low, high, n].

    101 points from the smallest to the largest x. The spline minimises the mean squared residual
    plus `penalty` times the integral of its squared second derivative, for x brought to 0 to 1; by
    default the penalty of least generalised cross-validation. With at most 12 different x it is the
    natural cubic smoothing spline (scipy's `make_smoothing_spline`), with more it has 12 knots at
    quantiles of x. The region is the bootstrap's percentiles over architectures, with the same
    penalty in every resample; it is of the smoothed curve, whose bends are flatter than the
    truth's. Raises UserError as `linear_fit` does, and for fewer than 5 different x.
    """
    check_level(level, resamples)
    check_seed(seed)
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
    grid = np.linspace(0, 1, POINTS)
    curve = smoother.curves(np.ones((1, len(points))), chosen, grid)[0]
    starts = range(0, resamples, BLOCK)
    blocks = (draw(len(points), min(BLOCK, resamples - s), seed, s // BLOCK) for s in starts)
    draws = np.concatenate([smoother.curves(b.astype(float), chosen, grid) for b in blocks])
    low, high = percentiles(draws, curve, level, len(points))
    at = first + (last - first) * grid
    return pd.DataFrame({"x": at, "y": curve, "low": low, "high": high, "n": len(points)})


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
