"""The closed forms against a plain loop over layers. (Against torch: tests/models.)"""

import numpy as np
import plain_sampler
import pytest
from architecture_strategies import architectures
from hypothesis import given, settings
from hypothesis import strategies as st

from anynet_study.design_space import Architecture, DesignSpace, complexity
from anynet_study.design_space.networks import MAX_DEPTH, MAX_RESOLUTION, MAX_WIDTH


@given(architectures(most_depth=6), st.integers(1, 300), st.integers(1, 2000))
@settings(derandomize=True, deadline=None)
def test_equal_to_a_loop_over_layers(a: Architecture, resolution: int, classes: int) -> None:
    closed = a.flops(resolution, classes), a.parameters(classes), a.activations(resolution, classes)
    assert closed == plain_sampler.complexity(a, resolution, classes)


@pytest.mark.parametrize("stem", ["imagenet", "cifar"])
def test_a_population_at_once_is_each_one_alone(stem: str) -> None:
    space = DesignSpace.anynetx(stem)
    words = np.random.Philox(key=5).random_raw(100 * 16).reshape(100, 16)
    networks = space.drawn((words >> 32).astype(np.uint32)).realised()
    together = zip(
        complexity.flops(networks, 97, 10).tolist(),
        complexity.parameters(networks, 10).tolist(),
        complexity.activations(networks, 97, 10).tolist(),
        strict=True,
    )
    for row, costs in zip(networks.rows().reshape(-1, 4, 4).tolist(), together, strict=True):
        architecture = Architecture(*map(tuple, row), stem=stem)
        assert costs == plain_sampler.complexity(architecture, 97, 10)


def test_the_largest_network_allowed_does_not_overflow() -> None:
    wide = (MAX_WIDTH,) * 4
    largest = Architecture(
        (MAX_DEPTH,) * 4, wide, (1,) * 4, wide, (1, 1, 1, 1), "cifar", stem_width=MAX_WIDTH - 1
    )
    flops, _, activations = plain_sampler.complexity(largest, MAX_RESOLUTION, 1000)
    assert largest.flops(MAX_RESOLUTION, 1000) == flops > 2**62
    assert largest.activations(MAX_RESOLUTION, 1000) == activations
