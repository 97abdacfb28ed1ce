import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from anynet_study.apr import binomial_interval, wilson_interval
from anynet_study.errors import UserError


@given(st.integers(1, 60_000), st.floats(0, 1), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_intervals_are_scipys_exact_ones(images: int, share: float, level: float) -> None:
    wrong = round(share * images)
    expected = binomtest(wrong, images).proportion_ci(level, method="exact")
    wanted = [100 * expected.low, 100 * expected.high]  # found by root finding, to 1e-10
    low, high = binomial_interval(100 * wrong / images, images, level)
    np.testing.assert_allclose([low, high], wanted, rtol=1e-9, atol=1e-9)


def test_errors_of_a_few_digits_mean_whole_images() -> None:
    rounded, exact = (binomial_interval(error, 10_000) for error in (23.87, 100 * 2387 / 10_000))
    assert rounded == exact


def test_what_is_missing_stays_missing_and_arrays_broadcast() -> None:
    low, high = binomial_interval([[10.0, np.nan], [0.0, 100.0]], [50, np.nan])
    assert np.isnan(low).tolist() == [[False, True], [False, True]]
    assert (low[:, 0] <= [10, 0]).all()
    assert (high[:, 0] >= [10, 0]).all()


@pytest.mark.parametrize("bad", [(101, 10), (-1, 10), (5, 0), (5, 10, 1.0)])
def test_what_is_no_error_rate(bad: tuple[float, ...]) -> None:
    with pytest.raises(UserError):
        binomial_interval(*bad)


@given(st.integers(1, 5_000), st.floats(0, 1), st.sampled_from([0.5, 0.95, 0.999]))
def test_wilson_intervals_are_scipys(count: int, share: float, level: float) -> None:
    found = round(share * count)
    expected = binomtest(found, count).proportion_ci(level, method="wilson")
    low, high = wilson_interval(found / count, count, level)
    np.testing.assert_allclose([low, high], [expected.low, expected.high], atol=1e-12)


def test_wilson_intervals_of_nothing_and_of_bad_shares() -> None:
    assert np.array_equal(wilson_interval([0.0, 0.5], 0), [[0, 0], [1, 1]])
    with pytest.raises(UserError, match="share: outside 0 to 1"):
        wilson_interval(1.5, 10)
