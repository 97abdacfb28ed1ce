"""The distributions: the documented mass functions, drawn by integer comparison."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anynet_study.design_space.distribution import Distribution, log_uniform, uniform


@st.composite
def distributions(draw: st.DrawFn) -> Distribution:
    if draw(st.booleans()):
        return uniform(draw(st.lists(st.integers(1, 500), min_size=1, max_size=40, unique=True)))
    step = draw(st.integers(1, 16))
    low = draw(st.integers(1, 20))
    return log_uniform(low * step, draw(st.integers(low, 300)) * step, step)


@pytest.mark.parametrize(("low", "high", "step"), [(1, 16, 1), (8, 1024, 8), (1, 1, 1), (8, 8, 4)])
def test_log_uniform_has_the_documented_mass_function(low: int, high: int, step: int) -> None:
    distribution = log_uniform(low, high, step)
    x = np.arange(low, high + 1, step)
    mass = np.log((x + step / 2) / (x - step / 2))
    assert distribution.values.tolist() == x.tolist()
    np.testing.assert_allclose(distribution.probabilities, mass / mass.sum(), rtol=0, atol=3e-10)
    assert distribution.probabilities.sum() == 1


def test_uniform_gives_all_values_the_same_mass() -> None:
    distribution = uniform([4, 1, 2])
    assert distribution.values.tolist() == [1, 2, 4]
    np.testing.assert_allclose(distribution.probabilities, 1 / 3, rtol=0, atol=3e-10)


@given(distributions(), st.lists(st.integers(0, 2**32 - 1)))
@settings(derandomize=True, deadline=None)
def test_every_word_draws_the_value_whose_interval_it_is_in(
    distribution: Distribution, words: list[int]
) -> None:
    last = distribution.last_words
    tried = np.unique(np.concatenate([last, last + np.uint32(1), np.array(words, np.uint32)]))
    expected = distribution.values[np.searchsorted(last, tried)]
    assert distribution.draw(tried).tolist() == expected.tolist()


def test_thresholds_never_change() -> None:
    assert log_uniform(1, 4, 1).last_words.tolist() == [
        2147483647,
        3146006679,
        3803716986,
        4294967295,
    ]
    widths = log_uniform(8, 1024, 8)
    assert widths.last_words[[0, 1, 63, 126]].tolist() == [
        850322427,
        1245699840,
        3761479391,
        4288920414,
    ]
