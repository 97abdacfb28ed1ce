"""Linear fits and splines against scipy and a bootstrap by hand; intervals hold what they say."""

from collections.abc import Callable

import hypothesis.extra.numpy as arrays
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import special, stats
from statsmodels.regression.linear_model import OLS
from statsmodels.tools import add_constant

from anynet_study.analysis.apr import linear_fit, spline_fit
from anynet_study.analysis.apr.error_tables import why_no_fit
from anynet_study.analysis.apr.fits import Scale, from_scale, slope_of
from anynet_study.core.errors import UserError

Floats = NDArray[np.float64]


#: Scores with ties and gaps.
CELLS = st.one_of(st.just(np.nan), st.integers(2, 198).map(lambda i: i / 2))

POINTS = arrays.arrays(float, st.tuples(st.just(2), st.integers(4, 30)), elements=CELLS)


def cloud(n: int, seed: int = 0) -> Floats:
    generator = np.random.default_rng(seed)
    x = generator.normal(70, 6, n)
    return np.array([x, 1.1 * x - 20 + generator.normal(0, 2, n)])


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(POINTS, st.sampled_from(["linear", "logit", "probit"]))
def test_estimates_are_scipys(points: Floats, scale: str) -> None:
    x, y = known = points[:, ~np.isnan(points).any(axis=0)]
    assume(not why_no_fit(x, y))
    fit = linear_fit(*points, scale)
    to = {"linear": lambda p: p, "logit": special.logit, "probit": special.ndtri}[scale]
    expected = stats.linregress(*(to(each / 100) for each in known) if scale != "linear" else known)
    assert fit.slope == pytest.approx(expected.slope, rel=1e-9, abs=1e-12)
    assert fit.intercept == pytest.approx(expected.intercept, rel=1e-9, abs=1e-9)
    assert fit.correlation == pytest.approx(expected.rvalue, rel=1e-9, abs=1e-12)
    assert fit.r2 == pytest.approx(expected.rvalue**2, rel=1e-9, abs=1e-12)
    n = known.shape[1]
    assert fit.adjusted_r2 == pytest.approx(1 - (1 - fit.r2) * (n - 1) / (n - 2))
    assert (fit.n, fit.missing, fit.excluded) == (n, points.shape[1] - n, 0)
    for name in ("slope", "intercept", "correlation", "r2", "adjusted_r2"):
        assert fit.row()[f"{name}_low"] <= fit.row()[name] <= fit.row()[f"{name}_high"]


@pytest.mark.parametrize(("scale", "to"), [("linear", lambda p: 100 * p), ("logit", special.logit)])
def test_a_line_is_that_of_statsmodels(scale: str, to: Callable[[Floats], Floats]) -> None:
    x, y = cloud(9)
    fit = linear_fit(x, y, scale)  # type: ignore[arg-type]
    expected = OLS(to(y / 100), add_constant(to(x / 100))).fit()
    assert (fit.intercept, fit.slope) == pytest.approx(tuple(expected.params))
    assert (fit.r2, fit.adjusted_r2) == pytest.approx((expected.rsquared, expected.rsquared_adj))


@pytest.mark.parametrize("scale", ["linear", "logit", "probit"])
def test_a_slope_is_what_a_small_step_grows_by(scale: Scale) -> None:
    values, step = np.linspace(-2, 2, 9), 1e-5
    grown = from_scale(values + step, scale) - from_scale(values - step, scale)
    np.testing.assert_allclose(slope_of(values, scale), grown / (2 * step), rtol=1e-6)


def test_scores_that_are_perfect_but_for_less_than_half_an_image_are_all_one() -> None:
    x = [99.9, 99.8, 99.95, 99.7]
    with pytest.raises(UserError, match="x is constant"):
        linear_fit(x, [50, 60, 70, 80], "logit", images=100)


def test_a_region_is_in_percent_and_holds_the_line() -> None:
    fit = linear_fit(*cloud(30), "probit")
    region = fit.region()
    assert len(region) == 51
    assert region["x"].min() == pytest.approx(cloud(30)[0].min())
    assert ((region["low"] <= region["y"]) & (region["y"] <= region["high"])).all()
    assert region[["low", "high"]].to_numpy().min() > 0
    with pytest.raises(UserError, match="no place on the probit"):
        fit.region([100.0])
    at = special.ndtr(fit.intercept + fit.slope * special.ndtri(0.7))
    assert fit.predict(70.0) == pytest.approx(100 * at)


def test_what_may_be_nothing_has_an_r_squared_from_0() -> None:
    generator = np.random.default_rng(0)
    fit = linear_fit(*generator.normal(size=(2, 30)))
    assert fit.correlation_low < 0 < fit.correlation_high
    assert fit.r2_low == 0
    assert fit.r2_high == max(fit.correlation_low**2, fit.correlation_high**2)
    falling = linear_fit(cloud(30)[0], -cloud(30)[1])
    assert (falling.r2_low, falling.r2_high) == (
        falling.correlation_high**2,
        falling.correlation_low**2,
    )


def test_series_are_matched_by_index() -> None:
    x, y = (pd.Series(each, index=[f"m{i}" for i in range(12)]) for each in cloud(12))
    shuffled = y.sample(frac=1, random_state=0)
    assert linear_fit(x, shuffled).r2 == linear_fit(x, y).r2
    part = linear_fit(x, y.iloc[:8])
    assert (part.n, part.missing) == (8, 0)


def test_perfect_scores_are_moved_in_or_left_out() -> None:
    x, y = cloud(12)
    y[:2] = 0, 100
    out = linear_fit(x, y, "logit")
    assert (out.n, out.excluded) == (10, 2)
    within = linear_fit(x, y, "logit", images=(50_000, 1000))
    assert (within.n, within.excluded) == (12, 0)
    moved = np.clip(y, 0.05, 99.95)
    expected = stats.linregress(special.logit(x / 100), special.logit(moved / 100))
    assert within.slope == pytest.approx(expected.slope)
    assert linear_fit(x, y, "linear").n == 12


@pytest.mark.parametrize("far", [False, True])
def test_an_interval_of_few_points_or_with_one_far_off_says_something(far: bool) -> None:
    """It is no wider than it must be, which a studentised bootstrap's was: nearly from -1 to 1."""
    generator = np.random.default_rng(3)
    x = generator.normal(70, 3, 119 if far else 14)
    y = (0.6 if far else 1.0) * x + generator.normal(0, 2.4 if far else 1.7, len(x))
    fit = linear_fit(np.append(x, 10.0)[: len(x) + far], np.append(y, 8.0)[: len(x) + far])
    assert 0 < fit.correlation_low < fit.correlation < fit.correlation_high < 1
    z = np.arctanh([fit.correlation_low, fit.correlation, fit.correlation_high])
    assert z[2] - z[1] == pytest.approx(z[1] - z[0])
    assert z[2] - z[1] >= 1.96 / np.sqrt(fit.n - 3) - 1e-9


@pytest.mark.parametrize(
    ("x", "y", "says"),
    [
        ([1, 2, 3], [1, 2, 3], "3 architectures with both"),
        ([np.nan] * 6, range(6), "0 architectures with both"),
        ([70] * 5, range(5), "x is constant"),
        (range(5), [30.0] * 5, "y is constant"),
        ([70, 70, 70, 71], range(4), "but for one"),
        ([1, 2, 3, np.inf], range(4), "infinite"),
        ([1, 2, 3], range(4), "3 and 4 values"),
        (["a", 2, 3, 4], range(4), "not a number"),
        (pd.Series([1.0, 2, 3, 4], index=[0, 0, 1, 2]), pd.Series(range(4)), "more than once"),
    ],
)
def test_what_has_no_fit(x: object, y: object, says: str) -> None:
    y = y if isinstance(y, pd.Series) else list(y)  # type: ignore[call-overload]
    with pytest.raises(UserError, match=says) as caught:
        linear_fit(x, y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"scale": "log"}, "scale"),
        ({"scale": "logit", "images": 0}, "images"),
    ],
)
def test_illegal_options(options: dict[str, object], says: str) -> None:
    with pytest.raises(UserError, match=says):
        linear_fit(*cloud(8), **options)  # type: ignore[arg-type]


def test_four_points_have_an_interval() -> None:
    fit = linear_fit([1, 2, 3, 4], [1, 2, 2, 5], level=0.999)
    assert fit.slope_low < fit.slope < fit.slope_high


def test_scales_for_percent_refuse_what_is_none() -> None:
    x, y = cloud(8)
    with pytest.raises(UserError, match="fractions"):
        linear_fit(x / 100, y / 100, "logit")
    with pytest.raises(UserError, match="outside 0 to 100"):
        linear_fit(x, y + 60, "probit")
    assert linear_fit(x / 100, y / 100, "linear").slope == pytest.approx(
        linear_fit(x, y, "linear").slope
    )


@pytest.mark.slow
def test_intervals_cover() -> None:
    """Where the scatter grows with x, which is harder than where it does not."""
    generator = np.random.default_rng(7)
    x = generator.normal(70, 6, 1_000_000)
    noise = generator.normal(0, 1, x.size) * np.exp((x - 70) / 12)
    y = 1.1 * x - 20 + noise
    truth = 1.1, -20, np.corrcoef(x, y)[0, 1]
    held = np.zeros((600, 3), dtype=bool)
    for sample in range(600):
        part = slice(15 * sample, 15 * (sample + 1))
        fit = linear_fit(x[part], y[part])
        low = fit.slope_low, fit.intercept_low, fit.correlation_low
        high = fit.slope_high, fit.intercept_high, fit.correlation_high
        held[sample] = (np.array(low) <= truth) & (truth <= np.array(high))
    assert ((held.mean(axis=0) >= 0.93) & (held.mean(axis=0) <= 0.97)).all(), held.mean(axis=0)


def test_a_spline_takes_any_unit_and_ties() -> None:
    x, y = cloud(40)
    x = np.round(x)
    one = spline_fit(x, y)
    other = spline_fit(1e6 * x + 5, y)
    assert other["y"].to_numpy() == pytest.approx(one["y"].to_numpy(), abs=1e-6)
    assert other["x"].to_numpy() == pytest.approx(1e6 * one["x"].to_numpy() + 5)
    assert (one["x"].iloc[0], one["x"].iloc[-1], set(one["n"])) == (x.min(), x.max(), {40})


def test_a_spline_finds_the_bend_that_a_line_misses() -> None:
    generator = np.random.default_rng(0)
    x = generator.uniform(50, 85, 80)
    y = np.minimum(x, 70) + generator.normal(0, 0.5, 80)
    spline = spline_fit(x, y)
    truth = np.minimum(spline["x"], 70)
    assert (spline["y"] - truth).abs().max() < 1
    with pytest.raises(UserError, match="4 different x"):
        spline_fit([1, 2, 3, 4, 4], [1, 2, 3, 4, 5])
