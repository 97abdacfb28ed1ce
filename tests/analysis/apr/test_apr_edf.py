"""EDFs, random search and good ranges against scipy, closed forms and brute force."""

from itertools import combinations, product

import hypothesis.extra.numpy as arrays
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from anynet_study.analysis.apr import edf, edf_summary, effective_size, good_range, random_search
from anynet_study.analysis.apr.edf import make_sample
from anynet_study.core.errors import UserError

#: Errors with many ties, as of a small test set.
ERRORS = arrays.arrays(float, st.integers(4, 40), elements=st.integers(0, 30).map(lambda i: i / 2))

FEW = 200

FEW_ERRORS = arrays.arrays(
    float, st.integers(4, 8), elements=st.integers(0, 30).map(lambda i: i / 2)
)


@settings(deadline=None, max_examples=50)
@given(ERRORS)
def test_without_weights_it_is_the_ecdf(errors: np.ndarray) -> None:
    table = edf(errors, resamples=FEW)
    expected = stats.ecdf(errors).cdf
    assert np.array_equal(table["error"], expected.quantiles)
    assert np.allclose(table["fraction"], expected.probabilities, atol=1e-12)


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(ERRORS, st.randoms(use_true_random=False))
def test_it_rises_within_its_band_whatever_the_order(errors: np.ndarray, random: object) -> None:
    weights = 1 + np.arange(len(errors)) % 3
    table = edf(errors, weights, resamples=FEW)
    for column in ("error", "fraction", "low", "high"):
        assert (np.diff(table[column]) >= 0).all()
    assert ((table["low"] <= table["fraction"]) & (table["fraction"] <= table["high"])).all()
    assert table[["fraction", "low", "high"]].to_numpy().min() >= 0
    assert table["fraction"].iloc[-1] == table["high"].iloc[-1] == 1
    order = np.random.default_rng(0).permutation(len(errors))
    pd.testing.assert_frame_equal(table, edf(errors[order], weights[order], resamples=FEW))


def test_the_band_is_that_of_the_binomial_distribution() -> None:
    errors = np.random.default_rng(0).normal(30, 3, 60)
    table = edf(errors, resamples=20_000, level=0.9)
    counts = stats.binom(60, table["fraction"])
    assert np.abs(table["low"] - counts.ppf(0.05) / 60).max() <= 1 / 60 + 1e-9
    assert np.abs(table["high"] - counts.ppf(0.95) / 60).max() <= 1 / 60 + 1e-9
    assert np.abs(table["low"] - counts.ppf(0.05) / 60).mean() < 1e-3


def test_whole_weights_are_repeated_models() -> None:
    errors, times = np.array([3.0, 1.0, 2.0, 2.0, 9.0]), np.array([1, 4, 2, 1, 2])
    weighted = edf_summary({"a": errors}, {"a": times}, below=3, resamples=FEW).iloc[0]
    repeated = np.repeat(errors, times)
    assert weighted["mean"] == pytest.approx(repeated.mean())
    assert weighted["median"] == pytest.approx(np.median(repeated))
    assert weighted["fraction"] == pytest.approx((repeated < 3).mean())
    expected = stats.ecdf(repeated).cdf.probabilities
    assert np.allclose(edf(errors, times, resamples=FEW)["fraction"], expected)


def test_more_distinct_errors_than_band_points() -> None:
    errors = np.random.default_rng(0).uniform(0, 100, 2_500)
    table = edf(errors, resamples=FEW)
    assert len(table) == 2_500
    assert (np.diff(table["low"]) >= 0).all()
    width = table["high"] - table["low"]
    assert width.iloc[1250] == pytest.approx(2 * 1.96 * 0.5 / 50, rel=0.15)


def test_resamples_are_the_sample_drawn_with_replacement() -> None:
    sample = make_sample(np.array([1.0, 2.0, 2.0, 5.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    masses = np.concatenate(list(sample.resampled(40_000, seed=1)))
    assert masses.shape == (40_000, 3)
    assert np.allclose(masses.sum(axis=1), 1)
    brute = np.random.default_rng(9).integers(0, 4, (40_000, 4))
    weights = np.array([1.0, 2.0, 3.0, 4.0])[brute]
    share = (weights * (brute == 3)).sum(axis=1) / weights.sum(axis=1)
    assert masses[:, 2].mean() == pytest.approx(share.mean(), abs=0.01)
    assert masses[:, 2].std() == pytest.approx(share.std(), abs=0.01)


def test_the_summary_has_known_intervals_and_counts() -> None:
    errors = np.random.default_rng(3).normal(40, 5, 400)
    series = pd.Series(np.r_[errors, np.nan, np.nan])
    row = edf_summary({"space": series}, below=40, resamples=4_000).iloc[0]
    assert (row["n"], row["missing"], row["effective"]) == (400, 2, 400)
    assert row["best"] == errors.min()
    half = 1.966 * errors.std(ddof=1) / 20
    assert row["mean_low"] == pytest.approx(errors.mean() - half, abs=0.05)
    assert row["mean_high"] == pytest.approx(errors.mean() + half, abs=0.05)
    interval = stats.bootstrap((errors,), np.median, method="percentile", random_state=0, batch=500)
    assert row["median_low"] == pytest.approx(interval.confidence_interval.low, abs=0.1)
    assert row["median_high"] == pytest.approx(interval.confidence_interval.high, abs=0.1)
    assert row["fraction"] == pytest.approx((errors < 40).mean())


@settings(deadline=None, max_examples=5)
@given(st.integers(0, 10**6))
def test_the_seed_and_the_name_decide_the_resamples(seed: int) -> None:
    errors = np.random.default_rng(0).normal(40, 5, 20)
    table = edf_summary({"a": errors, "b": errors}, resamples=FEW, seed=seed)
    again = edf_summary({"b": errors, "a": errors}, resamples=FEW, seed=seed)
    pd.testing.assert_frame_equal(table, again.iloc[::-1].reset_index(drop=True))
    assert table["mean_low"].nunique() == 2


def test_effective_size_is_kishs() -> None:
    assert effective_size([2, 2, 2, 0]) == 3
    assert effective_size([3, 1]) == pytest.approx(1.6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2, 3],), "errors: 3 models with an error; at least 4 are needed"),
        (([1.0, 2, 3, np.nan],), "errors: 3 models with an error; at least 4"),
        (([1.0, 2, 3, np.inf],), "errors: infinite error"),
        (([1.0, 2, 3, 4], [1, 1, 1]), "errors: weights: 3 for 4 models"),
        (([1.0, 2, 3, 4], [1, 1, 1, -1]), "errors: weights: legal are finite numbers"),
        (([1.0, 2, 3, 4], [1, 1, 1, 0]), "3 models with an error and a weight above 0"),
        ((pd.Series([1.0] * 4), pd.Series([1.0] * 3)), "weights: none for 1 models, such as 3"),
    ],
)
def test_bad_input_is_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        edf(*arguments)


def test_every_space_needs_weights() -> None:
    with pytest.raises(UserError, match="weights: none for b"):
        edf_summary({"a": [1.0] * 4, "b": [1.0] * 4}, {"a": [1.0] * 4}, resamples=FEW)


@settings(deadline=None, max_examples=30)
@given(FEW_ERRORS)
def test_the_expected_best_of_all_subsets(errors: np.ndarray) -> None:
    sizes = range(1, len(errors) + 1)
    table = random_search(errors, sizes, resamples=FEW)
    expected = [np.mean([min(c) for c in combinations(errors, size)]) for size in sizes]
    assert table["error"].to_numpy() == pytest.approx(expected)
    assert (np.diff(table["error"]) <= 1e-9).all()
    assert table["error"].iloc[-1] == errors.min()


def test_with_weights_models_are_drawn_with_replacement() -> None:
    errors, weights = np.array([4.0, 1.0, 3.0, 3.0]), np.array([0.1, 0.2, 0.3, 0.4])
    table = random_search(errors, [1, 2, 3], weights, resamples=FEW)
    for size, found in zip(table["size"], table["error"], strict=True):
        draws = product(range(4), repeat=size)
        expected = sum(min(errors[list(d)]) * np.prod(weights[list(d)]) for d in draws)
        assert found == pytest.approx(expected)


def test_a_uniform_population() -> None:
    table = random_search(np.arange(1, 501) / 5, resamples=FEW)
    expected = 501 / (table["size"] + 1) / 5  # the mean of the least of m of 1 to n
    assert table["error"].to_numpy() == pytest.approx(expected.to_numpy())
    assert list(table["size"]) == [1, 2, 5, 10, 20, 50, 100, 200, 500]
    assert table["low"].notna().tolist() == [True] * 7 + [False] * 2
    known = table.dropna()
    assert ((known["low"] <= known["error"]) & (known["error"] <= known["high"])).all()


@pytest.mark.slow
def test_intervals_of_a_search_cover() -> None:
    generator = np.random.default_rng(0)
    covered = 0
    for number in range(300):
        row = random_search(generator.uniform(0, 60, 50), [5], resamples=FEW, name=str(number))
        covered += row["low"][0] <= 10 <= row["high"][0]
    assert covered / 300 > 0.88


def test_sizes_beyond_the_models_are_refused() -> None:
    with pytest.raises(UserError, match="sizes: 5 is not from 1 to the 4 models"):
        random_search([1.0, 2, 3, 4], [5])


@given(FEW_ERRORS, st.sampled_from([0.25, 0.5, 1.0]))
@settings(deadline=None, max_examples=20)
def test_the_good_range_is_that_of_every_possible_resample(
    errors: np.ndarray, fraction: float
) -> None:
    errors = errors[:5]
    depths = np.arange(len(errors))[::-1] // 2
    draws = max(1, round(fraction * len(errors)))
    chances = np.zeros(len(errors))
    for picked in product(range(len(errors)), repeat=draws):
        best = np.flatnonzero(errors == errors[list(picked)].min())
        chances[best] += 1 / len(best) / len(errors) ** draws
    row = good_range(errors, pd.DataFrame({"depth": depths}), fraction=fraction, level=0.8).iloc[0]
    order = np.argsort(depths, kind="stable")
    cumulated = np.cumsum(chances[order])
    for tail, name in ((0.1, "low"), (0.5, "best"), (0.9, "high")):
        assert row[name] == depths[order][np.flatnonzero(cumulated >= tail - 1e-9)[0]]


def test_the_good_range_of_weighted_models() -> None:
    parameters = pd.DataFrame({"depth": [1, 2, 3, 4, 5]})
    errors = np.array([10.0, 11, 12, 13, 14])
    assert good_range(errors, parameters, [1, 1, 1, 1, 100])["best"][0] == 5
    assert good_range(errors, parameters, [0, 1, 1, 1, 1])["n"][0] == 4


def test_bad_parameters_are_refused() -> None:
    frame = pd.DataFrame({"depth": [1, 2, 3, 4]})
    with pytest.raises(UserError, match="parameters: 4 rows for 5 errors"):
        good_range([1.0] * 5, frame)
    with pytest.raises(UserError, match="legal: between 0 and 1"):
        good_range([1.0] * 4, frame, fraction=0)
    with pytest.raises(UserError, match="depth: 3 models with an error"):
        good_range([1.0, 2, 3, np.nan], frame)
