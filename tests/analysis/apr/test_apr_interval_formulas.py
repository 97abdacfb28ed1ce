"""Intervals by formula against scipy."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binomtest

from anynet_study.analysis.apr import (
    architectures_needed,
    binomial_interval,
    correlations,
    fisher_interval,
    wilson_interval,
)
from anynet_study.analysis.apr.interval_formulas import student_interval
from anynet_study.core.errors import UserError


@given(st.integers(1, 60_000), st.floats(0, 1), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
@settings(deadline=None, max_examples=50)
def test_intervals_are_scipys_exact_ones(images: int, share: float, level: float) -> None:
    wrong = round(share * images)
    expected = binomtest(wrong, images).proportion_ci(level, method="exact")
    wanted = [100 * expected.low, 100 * expected.high]  # found by root finding, to 1e-10
    low, high = binomial_interval(100 * wrong / images, images, level)
    np.testing.assert_allclose([low, high], wanted, rtol=1e-9, atol=1e-9)


#: Accuracies on CIFAR-10 and on its new test set, with 95% intervals: paper 2, Table 1.
CIFAR10 = [(98.4, 98.1, 98.6), (97.1, 96.8, 97.4), (95.9, 95.5, 96.3), (93.5, 93.0, 93.9)]
CIFAR10 += [(93.0, 92.5, 93.5), (88.5, 87.9, 89.2), (85.6, 84.9, 86.3)]
NEW = [(95.5, 94.5, 96.4), (93.0, 91.8, 94.1), (89.7, 88.3, 91.0), (85.2, 83.5, 86.7)]
NEW += [(84.9, 83.2, 86.4), (77.5, 75.7, 79.3), (73.1, 71.1, 75.1)]


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
@settings(deadline=None, max_examples=50)
def test_wilson_intervals_are_scipys(count: int, share: float, level: float) -> None:
    found = round(share * count)
    expected = binomtest(found, count).proportion_ci(level, method="wilson")
    low, high = wilson_interval(found / count, count, level)
    np.testing.assert_allclose([low, high], [expected.low, expected.high], atol=1e-12)


def test_wilson_intervals_of_nothing_and_of_bad_shares() -> None:
    assert np.array_equal(wilson_interval([0.0, 0.5], 0), [[0, 0], [1, 1]])
    with pytest.raises(UserError, match="share: outside 0 to 1"):
        wilson_interval(1.5, 10)


def test_fisher_intervals_of_pearson_are_scipys() -> None:
    values = np.random.default_rng(0).normal(size=(30, 2)) + np.arange(30)[:, None] / 20
    found = stats.pearsonr(*values.T)
    truth = found.confidence_interval(0.9)
    ours = fisher_interval(found.statistic, 30, 0.9, "pearson")
    np.testing.assert_allclose(ours, truth)
    table = correlations(pd.DataFrame(values, columns=["a", "b"]), "pearson", 50, level=0.9)
    np.testing.assert_allclose(table[["fisher_low", "fisher_high"]].to_numpy()[0], truth)


@pytest.mark.parametrize("method", ["spearman", "kendall"])
def test_fisher_intervals_of_ranks_hold_the_truth(method: str) -> None:
    rho, n, generator = 0.6, 60, np.random.default_rng(1)
    truth = {"spearman": 6 / np.pi * np.arcsin(rho / 2), "kendall": 2 / np.pi * np.arcsin(rho)}
    samples = generator.multivariate_normal([0, 0], [[1, rho], [rho, 1]], (600, n))
    function = {"spearman": stats.spearmanr, "kendall": stats.kendalltau}[method]
    found = np.array([function(*sample.T).statistic for sample in samples])
    low, high = fisher_interval(found, n, 0.95, method)  # type: ignore[arg-type]
    assert 0.93 < ((low < truth[method]) & (truth[method] < high)).mean() < 0.97


def test_fisher_intervals_of_ranks_have_the_published_standard_errors() -> None:
    """On z: Spearman by Bonett and Wright (2000), Kendall by Fieller and others (1957)."""
    for r in (-0.8, 0.2, 0.95):
        spearman = ((1 + r * r / 2) / (20 - 3)) ** 0.5
        kendall = (0.437 / (20 - 4)) ** 0.5
        for method, error in (("spearman", spearman), ("kendall", kendall)):
            ends = np.tanh(stats.norm.interval(0.9, np.arctanh(r), error))
            np.testing.assert_allclose(fisher_interval(r, 20, 0.9, method), ends)  # type: ignore[arg-type]


def test_fisher_intervals_of_few_or_perfect() -> None:
    low, high = fisher_interval([0.5, 1.0, np.nan], [3, 10, 10])
    np.testing.assert_array_equal(low, [np.nan, 1, np.nan])
    np.testing.assert_array_equal(high, [np.nan, 1, np.nan])


@given(
    r=st.floats(-1, 1),
    width=st.floats(0.02, 1.9),
    method=st.sampled_from(["spearman", "pearson", "kendall"]),
)
@settings(deadline=None, max_examples=50)
def test_the_fewest_architectures_for_a_width(r: float, width: float, method: str) -> None:
    n = int(architectures_needed(r, width, method=method))  # type: ignore[arg-type]
    low, high = fisher_interval(r, np.array([n, n - 1]), method=method)  # type: ignore[arg-type]
    assert not high[0] - low[0] > width * (1 + 1e-6)
    assert n <= 5 or high[1] - low[1] > width * (1 - 1e-6)


def test_bad_sample_sizes_are_refused() -> None:
    with pytest.raises(UserError, match="width: 2 is not"):
        architectures_needed(0.5, 2)
    with pytest.raises(UserError, match="between -1 and 1"):
        architectures_needed([0.5, np.nan], 0.1)


def test_intervals_of_means_are_students() -> None:
    values = np.random.default_rng(0).normal(size=(3, 6))
    mean, low, high = student_interval(values, 0.9)
    for place, row in enumerate(values):
        expected = stats.t.interval(0.9, 5, row.mean(), stats.sem(row))
        assert (mean[place], low[place], high[place]) == pytest.approx((row.mean(), *expected))
    assert np.isnan(student_interval([4.0])[1:]).all()
