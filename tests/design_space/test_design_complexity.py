"""The closed forms against a plain loop over layers. (Against torch: tests/models.)"""

from typing import Any

import numpy as np
import plain_sampler
import pytest
from architecture_strategies import architectures
from hypothesis import given, settings
from hypothesis import strategies as st

from anynet_study.design_space import Architecture, DesignSpace, complexity
from anynet_study.design_space.distribution import words_of
from anynet_study.design_space.networks import (
    BLOCKS,
    MAX_CLASSES,
    MAX_DEPTH,
    MAX_RESOLUTION,
    MAX_STAGES,
    MAX_WIDTH,
    Networks,
)


@given(architectures(most_depth=6), st.integers(1, 300), st.integers(1, 2000))
@settings(derandomize=True, deadline=None)
def test_equal_to_a_loop_over_layers(a: Architecture, resolution: int, classes: int) -> None:
    closed = a.flops(resolution, classes), a.parameters(classes), a.activations(resolution, classes)
    assert closed == plain_sampler.complexity(a, resolution, classes)


@pytest.mark.parametrize(
    "spec",
    [
        "anynetx",
        {"stem": "cifar", "strides": [1] * 8, "se_ratio": 0.3},
        {"block": "basic", "strides": [2, 1, 3]},
        {"block": "vanilla", "stem": "simple", "strides": [1]},
        "anynetxe",
        "regnety",
    ],
)
def test_a_population_at_once_is_each_one_alone(spec: Any) -> None:
    space = DesignSpace.from_spec(spec)
    floats, _ = space.draw(words_of(5, 0, 100, space.words))
    whole = floats.select(np.arange(100))
    rows = whole.rows().reshape(100, 4, -1).tolist()
    shared = vars(space.skeleton)
    plain = [
        plain_sampler.complexity(Architecture(*map(tuple, row), **shared), 97, 10) for row in rows
    ]
    for networks in (whole, floats):
        together = [complexity.measure(name, networks, 97, 10) for name in complexity.MEASURES]
        assert {costs.dtype for costs in together} == {networks.widths.dtype}
        assert list(zip(*(costs.tolist() for costs in together), strict=True)) == plain


def largest(block: str) -> Architecture:
    wide = (MAX_WIDTH,) * MAX_STAGES
    return Architecture(
        (MAX_DEPTH,) * MAX_STAGES,
        wide,
        strides=(1,) * MAX_STAGES,
        stem="cifar",
        stem_width=MAX_WIDTH - 1,
        block=block,
        se_ratio=1.0 if block == "bottleneck" else 0.0,
    )


@pytest.mark.parametrize("block", BLOCKS)
def test_the_largest_network_allowed_does_not_overflow(block: str) -> None:
    network = largest(block)
    costs = plain_sampler.complexity(network, MAX_RESOLUTION, MAX_CLASSES)
    assert 2**61 < costs[0] < 2**63
    assert network.flops(MAX_RESOLUTION, MAX_CLASSES) == costs[0]
    assert network.parameters(MAX_CLASSES) == costs[1]
    assert network.activations(MAX_RESOLUTION, MAX_CLASSES) == costs[2]


def test_float64_is_near_where_it_is_not_exact() -> None:
    """So that what is above every band cannot seem to be inside."""
    networks = largest("basic").networks()
    parts = (networks.depths, networks.widths, networks.bottleneck_widths, networks.group_widths)
    floats = Networks(*(part.astype(np.float64) for part in parts), networks.skeleton)
    exact = complexity.measure("flops", networks, MAX_RESOLUTION, 1000)
    near = complexity.measure("flops", floats, MAX_RESOLUTION, 1000)
    np.testing.assert_allclose(near, exact, rtol=1e-14)
