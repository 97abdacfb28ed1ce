"""The distributions: the documented mass functions, drawn by integer comparison."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from anynet_study.design_space import AnyNet, RegNet
from anynet_study.design_space.distribution import (
    Distribution,
    log_uniform,
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


def test_words_far_down_the_stream() -> None:
    """Philox's counter goes to any place at once; here as one that was advanced in two steps."""
    far = 10**12
    stream = np.random.Philox(key=5)
    stream.advance(far)
    stream.advance(far)
    raw = stream.random_raw(4).tolist()
    words = words_of(5, 2 * far, 1, 8)[:, 0].tolist()
    assert words == [half for one in raw for half in (one & 0xFFFFFFFF, one >> 32)]
