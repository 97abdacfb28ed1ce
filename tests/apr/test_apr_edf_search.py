"""The best of a random search, and the parameters of good models, against brute force."""

from itertools import combinations, product

import hypothesis.extra.numpy as arrays
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anynet_study.apr import good_range, random_search
from anynet_study.errors import UserError

ERRORS = arrays.arrays(float, st.integers(4, 8), elements=st.integers(0, 30).map(lambda i: i / 2))
FEW = 200


@settings(deadline=None, max_examples=30)
@given(ERRORS)
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


def test_the_best_of_one_is_the_mean() -> None:
    errors = np.random.default_rng(0).normal(30, 3, 100)
    row = random_search(errors, [1], resamples=4_000).iloc[0]
    assert row["error"] == pytest.approx(errors.mean())
    half = 1.984 * errors.std(ddof=1) / 10
    assert row["low"] == pytest.approx(errors.mean() - half, abs=0.05)
    assert row["high"] == pytest.approx(errors.mean() + half, abs=0.05)


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


@given(ERRORS, st.sampled_from([0.25, 0.5, 1.0]))
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


def test_the_good_range_of_a_parameter_that_matters_is_narrow() -> None:
    generator = np.random.default_rng(0)
    depth, width = generator.integers(4, 40, 500), generator.integers(8, 1024, 500)
    errors = 30 + (depth - 20) ** 2 / 20 + generator.normal(0, 0.5, 500)
    parameters = pd.DataFrame({"depth": depth, "width": width.astype(float)})
    parameters.loc[7, "width"] = np.nan
    errors[3] = np.nan
    table = good_range(errors, parameters).set_index("parameter")
    assert 17 <= table.loc["depth", "low"] <= table.loc["depth", "best"] <= 22
    assert table.loc["depth", "high"] - table.loc["depth", "low"] < 8
    assert table.loc["width", "high"] - table.loc["width", "low"] > 500
    assert table["n"].tolist() == [499, 498]


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
