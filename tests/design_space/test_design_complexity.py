"""The closed forms against a plain loop over layers. (Against torch: tests/models.)"""

import numpy as np
import plain_sampler
import pytest

from anynet_study.design_space import Architecture, complexity
from anynet_study.design_space.networks import (
    BLOCKS,
    MAX_CLASSES,
    MAX_DEPTH,
    MAX_RESOLUTION,
    MAX_STAGES,
    MAX_WIDTH,
    Networks,
)


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
