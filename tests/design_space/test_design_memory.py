"""Training memory without torch; against torch: tests/models."""

from typing import Any

import numpy as np
import pytest

from anynet_study.core.errors import UserError
from anynet_study.design_space import Architecture, memory
from anynet_study.design_space.memory import saved_tensors_by_part
from anynet_study.design_space.networks import (
    MAX_DEPTH,
    MAX_RESOLUTION,
    MAX_STAGES,
    MAX_WIDTH,
    Networks,
)

SMALL = Architecture((2,), (4,), strides=(1,), stem="cifar", stem_width=2, block="vanilla")


def test_a_small_network_by_hand() -> None:
    # Two images of 3 x 3 pixels: 18 floats a channel. The stem has 2 channels, 4 convolutions
    # follow that have 4. Each map is kept before batch norm and after ReLU.
    floats = 3 * 18 + 2 * (2 * 18) + 4 * 2 * (4 * 18)
    statistics = 2 * (2 + 4 * 4)
    head = 4 * (2 * 4 + 2 * 5) + 8 * 2 + 4
    stem, stages, of_head = saved_tensors_by_part(SMALL.networks(), 3, 5, 2)
    assert stem + stages.sum() + of_head[0] == 4 * (floats + statistics) + head
    # The head is at work at the peak: the gradients of the step before, and the logits.
    parameters = 9 * (3 * 2 + 2 * 4 + 3 * 4 * 4) + statistics + 4 * 5 + 5
    assert parameters == SMALL.parameters(5)
    buffers = 4 * statistics + 5 * 8
    held = 4 * 3 * parameters + buffers + 4 * (floats + statistics) + head
    assert SMALL.training_memory(2, 3, 5) == held + 4 * 2 * 5


@pytest.mark.parametrize("block", ["bottleneck", "basic", "vanilla"])
def test_the_largest_network_allowed_does_not_overflow(block: str) -> None:
    stages = MAX_STAGES
    largest = Architecture(
        (MAX_DEPTH,) * stages,
        (MAX_WIDTH,) * stages,
        strides=(1,) * stages,
        stem="cifar",
        stem_width=MAX_WIDTH - 1,
        block=block,
        se_ratio=float(block == "bottleneck"),
    )
    found = largest.training_memory(memory.MAX_BATCH, MAX_RESOLUTION, 10_000_000)
    parts = (
        getattr(largest.networks(), name)
        for name in ("depths", "widths", "bottleneck_widths", "group_widths")
    )
    networks = Networks(*(part.astype(np.float64) for part in parts), largest.skeleton)
    exact = memory.training_memory(networks, MAX_RESOLUTION, 10_000_000, memory.MAX_BATCH)
    assert found > 2**61
    assert found == pytest.approx(exact[0], rel=1e-12)


def test_the_peak_can_be_inside_a_block() -> None:
    """The stride shrinks the maps behind the first convolution, whose ReLU takes most."""
    a = Architecture((1,), (64,), strides=(4,), stem="cifar", stem_width=8)
    assert a.training_memory(16, 32, 10) == 19069152


@pytest.mark.parametrize("batch", [0, 2.5, True, memory.MAX_BATCH + 1])
def test_a_batch_that_makes_no_sense_is_refused(batch: Any) -> None:
    with pytest.raises(UserError, match=r"^batch: .* is not a whole number from 1 to 8,192$"):
        SMALL.training_memory(batch)
