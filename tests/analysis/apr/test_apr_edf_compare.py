"""Comparing design spaces against scipy, brute force and known distributions."""

import warnings
from itertools import pairwise

import hypothesis.extra.numpy as arrays
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from anynet_study.analysis.apr import compare_spaces, edf_summary, match_complexity
from anynet_study.core.errors import UserError

ERRORS = arrays.arrays(float, st.integers(4, 25), elements=st.integers(0, 30).map(lambda i: i / 2))

FEW = 200


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(ERRORS, ERRORS)
def test_estimates_are_scipys(a: np.ndarray, b: np.ndarray) -> None:
    row = compare_spaces({"a": a, "b": b}, resamples=FEW).iloc[0]
    assert row["mean_difference"] == pytest.approx(a.mean() - b.mean())
    assert row["median_difference"] == pytest.approx(np.median(a) - np.median(b))
    wins = stats.mannwhitneyu(b, a).statistic / (len(a) * len(b))
    assert row["probability"] == pytest.approx(wins)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # an exact p-value next to 1
        expected = stats.ks_2samp(a, b)
    assert row["ks"] == pytest.approx(expected.statistic)
    assert row["p"] == pytest.approx(expected.pvalue)
    for name in ("mean_difference", "median_difference", "probability"):
        assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
    assert (row["n_a"], row["n_b"]) == (len(a), len(b))


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(ERRORS, ERRORS)
def test_weighted_estimates_are_brute_force(a: np.ndarray, b: np.ndarray) -> None:
    weights = {"a": 1 + np.arange(len(a)) % 4, "b": 1 + np.arange(len(b)) % 3}
    row = compare_spaces({"a": a, "b": b}, weights, resamples=FEW).iloc[0]
    wins = total = 0.0
    for x, v in zip(a, weights["a"], strict=True):
        for y, w in zip(b, weights["b"], strict=True):
            wins += v * w * ((x < y) + (x == y) / 2)
            total += v * w
    assert row["probability"] == pytest.approx(wins / total)
    assert row["mean_difference"] == pytest.approx(
        np.average(a, weights=weights["a"]) - np.average(b, weights=weights["b"])
    )
    repeated = [np.repeat(each, weights[name]) for name, each in (("a", a), ("b", b))]
    assert row["ks"] == pytest.approx(stats.ks_2samp(*repeated).statistic)


def test_intervals_against_scipys_bootstrap() -> None:
    generator = np.random.default_rng(0)
    a, b = generator.normal(30, 3, 150), generator.gamma(4, 2, 200) + 23
    row = compare_spaces({"a": a, "b": b}, resamples=4_000).iloc[0]
    functions = {
        "mean_difference": lambda x, y: x.mean() - y.mean(),
        "median_difference": lambda x, y: np.median(x) - np.median(y),
        "probability": lambda x, y: (x[:, None] < y).mean(),
    }
    for name, function in functions.items():
        found = stats.bootstrap(
            (a, b),
            function,
            method="percentile",
            n_resamples=2_000,
            random_state=0,
            vectorized=False,
        ).confidence_interval
        width = found.high - found.low
        assert row[f"{name}_low"] == pytest.approx(found.low, abs=0.06 * width)
        assert row[f"{name}_high"] == pytest.approx(found.high, abs=0.06 * width)


def test_weighted_p_agrees_with_the_exact_one() -> None:
    generator = np.random.default_rng(5)
    a, b = generator.normal(30, 3, 100), generator.normal(31, 3, 100)
    nearly = {"a": np.r_[np.ones(99), 1 + 1e-9], "b": np.ones(100)}
    weighted = compare_spaces({"a": a, "b": b}, nearly, resamples=4_000)["p"][0]
    exact = compare_spaces({"a": a, "b": b}, resamples=FEW)["p"][0]
    assert weighted == pytest.approx(exact, abs=0.02)


@pytest.mark.slow
def test_equal_spaces_are_seldom_told_apart() -> None:
    generator = np.random.default_rng(0)
    below = 0
    for number in range(200):
        names = f"a{number}", f"b{number}"
        spaces = {name: generator.normal(30, 3, 30) for name in names}
        weights = {name: generator.uniform(0.5, 2, 30) for name in names}
        below += compare_spaces(spaces, weights, resamples=FEW)["p"][0] < 0.05
    assert below <= stats.binom(200, 0.05).ppf(0.999)


def test_one_space_is_not_a_comparison() -> None:
    with pytest.raises(UserError, match="1 design spaces; a comparison needs two"):
        compare_spaces({"a": [1.0] * 4})


def test_at_equal_complexity_equal_spaces_are_equal() -> None:
    generator = np.random.default_rng(0)
    flops = {
        "small": 10 ** generator.uniform(8, 9, 400),
        "large": 10 ** generator.uniform(8.5, 9.5, 400),
    }
    errors = {
        name: pd.Series(60 - 10 * (np.log10(each) - 8) + generator.normal(0, 1, 400))
        for name, each in flops.items()
    }
    raw = compare_spaces(errors, resamples=FEW).iloc[0]
    assert raw["mean_difference_low"] > 3
    weights = match_complexity({name: pd.Series(each) for name, each in flops.items()})
    matched = compare_spaces(errors, weights, resamples=FEW).iloc[0]
    assert matched["mean_difference_low"] < 0 < matched["mean_difference_high"]
    assert matched["p"] > 0.05
    summary = edf_summary(errors, weights, resamples=FEW)
    assert (summary["effective"] < summary["n"]).all()
    assert (summary["n"] < 400).all()


def test_matched_weights_are_uniform_over_the_bins() -> None:
    generator = np.random.default_rng(1)
    complexities = {
        "a": pd.Series(generator.uniform(1, 8, 100), [f"a{i}" for i in range(100)]),
        "b": pd.Series(generator.uniform(2, 16, 150)),
    }
    complexities["b"].iloc[3] = np.nan
    weights = match_complexity(complexities, bins=4)
    low, high = complexities["b"].min(), complexities["a"].max()
    edges = low * (high / low) ** (np.arange(5) / 4)
    for name, each in complexities.items():
        assert list(weights[name].index) == list(each.index)
        assert weights[name].sum() == pytest.approx(1)
        for start, stop in pairwise(edges):
            inside = (each > start * (1 + 1e-12)) & (each < stop * (1 - 1e-12))
            assert weights[name][inside].nunique() == 1
        bins = np.digitize(each, edges[1:-1])
        counted = weights[name] > 0
        totals = weights[name][counted].groupby(bins[counted]).sum()
        assert list(totals) == pytest.approx([0.25] * 4)
        assert (weights[name][(each < low) | (each > high) | each.isna()] == 0).all()


def test_matching_keeps_the_weights_of_the_sampling() -> None:
    flops = {"a": [1.0, 1.0, 4.0, 4.0], "b": [1.0, 2.0, 3.9, 4.0]}
    weights = match_complexity(flops, {"a": [1, 3, 1, 1], "b": [1, 1, 1, 1]}, bins=1)
    assert list(weights["a"]) == pytest.approx([1 / 6, 1 / 2, 1 / 6, 1 / 6])


def test_bins_that_not_all_have_are_left_out() -> None:
    weights = match_complexity({"a": [1.0, 1.1, 8.0], "b": [1.0, 3.0, 8.0]}, bins=3)
    assert list(weights["a"]) == pytest.approx([1 / 4, 1 / 4, 1 / 2])
    assert list(weights["b"]) == pytest.approx([1 / 2, 0, 1 / 2])


@pytest.mark.parametrize(
    ("complexities", "bins", "message"),
    [
        ({"a": [1.0, 2.0], "b": [3.0, 4.0]}, 5, "flops: the ranges do not overlap: b begins at 3"),
        ({"a": [1.0, 8.0], "b": [np.nan] * 2}, 5, "flops: not known of any model of b"),
        ({"a": [1.0, 3.0, 8.0], "b": [2.0, 2.0, 8.1]}, 0, "bins: 0; legal: 1, 2"),
        ({"a": [1.0, 1.5, 8.0], "b": [1.1, 3.5, 9.0]}, 50, "no bin of 50 has models of all"),
    ],
)
def test_what_cannot_be_matched_is_refused(
    complexities: dict[str, list[float]], bins: int, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        match_complexity(complexities, bins=bins, name="flops")
