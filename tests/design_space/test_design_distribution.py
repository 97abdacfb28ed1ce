"""The distributions: the documented mass functions, drawn by integer comparison."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anynet_study.design_space import AnyNet, RegNet
from anynet_study.design_space.distribution import (
    Distribution,
    log_uniform,
    ranged,
    uniform,
    words_of,
)


def probabilities(distribution: Distribution) -> list[Fraction]:
    """The probability of each value."""
    return [distribution.probability(value) for value in distribution.values.tolist()]


@st.composite
def distributions(draw: st.DrawFn) -> Distribution:
    if draw(st.booleans()):
        return uniform(draw(st.lists(st.integers(1, 500), min_size=1, max_size=40, unique=True)))
    step = draw(st.integers(1, 16))
    low = draw(st.integers(1, 20))
    rule = draw(st.sampled_from(["ceil", "nearest"]))
    return log_uniform(low * step, draw(st.integers(low, 300)) * step, step, rule)


@pytest.mark.parametrize(
    ("low", "high", "step"), [(1, 16, 1), (8, 1024, 8), (1, 1, 1), (8, 8, 4), (24, 96, 8)]
)
@pytest.mark.parametrize("rule", ["ceil", "nearest"])
def test_log_uniform_has_the_documented_mass_function(
    low: int, high: int, step: int, rule: str
) -> None:
    distribution = log_uniform(low, high, step, rule)
    x = np.arange(low, high + 1, step)
    assert distribution.values.tolist() == x.tolist()
    mass = np.log((x + step / 2) / (x - step / 2))
    if rule == "ceil":
        mass = np.log(x / np.maximum(x - step, low - min(step, low / 2)))
    exact = probabilities(distribution)
    np.testing.assert_allclose(np.array(exact, float), mass / mass.sum(), rtol=0, atol=2**-32)
    assert sum(exact) == 1


def test_the_laws_of_depths_and_widths_of_the_paper_s_space() -> None:
    laws = AnyNet().distributions
    (depths,), (widths,) = laws["depths"], laws["widths"]
    assert float(depths.probability(1)) == pytest.approx(0.2, abs=2**-32)
    assert float(widths.probability(8)) == float(widths.probability(16)) == 0.125
    assert depths.probability(17) == widths.probability(12) == 0
    (old,) = AnyNet(quantization="nearest").distributions["depths"]
    assert float(old.probability(1)) == pytest.approx(0.314, abs=0.001)
    for name in ("bottleneck_ratios", "group_widths"):
        (law,) = laws[name]
        assert max(probabilities(law)) - min(probabilities(law)) <= Fraction(1, 2**32)
    assert float(RegNet().distributions["depth"].probability(12)) == pytest.approx(1 / 17)


@given(distributions(), st.lists(st.integers(0, 2**32 - 1)))
@settings(derandomize=True, deadline=None)
def test_every_word_draws_the_value_whose_interval_it_is_in(
    distribution: Distribution, words: list[int]
) -> None:
    last = distribution.last_words
    tried = np.unique(np.concatenate([last, last + np.uint32(1), np.array(words, np.uint32)]))
    expected = distribution.values[np.searchsorted(last, tried)]
    assert distribution.draw(tried.astype(np.int64)).tolist() == expected.tolist()


def test_draws_keep_the_shape_of_the_words() -> None:
    words = words_of(3, 0, 50, 6)
    drawn = log_uniform(8, 1024, 8).draw(words)
    assert drawn.shape == (6, 50)
    assert drawn[4].tolist() == log_uniform(8, 1024, 8).draw(words[4]).tolist()


def test_ranges_by_the_name_of_their_distribution() -> None:
    assert ranged("uniform", 4, 12, 4).values.tolist() == [4, 8, 12]
    log = ranged("log_uniform", 4, 12, 4)
    assert log.last_words.tolist() == log_uniform(4, 12, 4).last_words.tolist()


@given(
    st.integers(0, 2**64 - 1),
    st.integers(0, 500),
    st.integers(1, 40),
    st.integers(1, 16).map(lambda half: 2 * half),
)
@settings(derandomize=True, deadline=None)
def test_words_are_those_of_one_stream_wherever_one_begins(
    seed: int, first: int, count: int, columns: int
) -> None:
    stream = np.random.Philox(key=seed).random_raw((first + count) * columns // 2).tolist()
    halves = [half for raw in stream for half in (raw & 0xFFFFFFFF, raw >> 32)]
    expected = np.array(halves[first * columns :]).reshape(count, columns)
    assert np.array_equal(words_of(seed, first, count, columns), expected.T)


def test_words_far_down_the_stream() -> None:
    """Philox's counter goes to any place at once; here as one that was advanced in two steps."""
    far = 10**12
    stream = np.random.Philox(key=5)
    stream.advance(far)
    stream.advance(far)
    raw = stream.random_raw(4).tolist()
    words = words_of(5, 2 * far, 1, 8)[:, 0].tolist()
    assert words == [half for one in raw for half in (one & 0xFFFFFFFF, one >> 32)]
