"""What each part of one network consists of and costs."""

from typing import NamedTuple

import numpy as np

from anynet_study.design_space import complexity, memory
from anynet_study.design_space.architecture import Architecture, checked
from anynet_study.design_space.layers import map_sides
from anynet_study.design_space.validation import whole_number


class Costs(NamedTuple):
    """Of one image: multiply-adds, parameters, output elements; of a batch: bytes to train."""

    flops: int
    parameters: int
    activations: int
    training_memory: int


class Part(NamedTuple):
    """Stem, stage or head; what it does not have is None."""

    #: `stem`, `stage 1` and following, `head`.
    name: str
    blocks: int | None
    #: Channels that it puts out; of the head: classes.
    width: int
    bottleneck_width: int | None
    groups: int | None
    #: Side of the maps that it puts out, in pixels.
    side: int
    costs: Costs


def breakdown(
    architecture: Architecture, resolution: int = 224, classes: int = 1000, batch: int = 128
) -> list[Part]:
    """List the parts from stem to head; their costs add up to the architecture's.

    Training memory is that of `memory.training_memory`, for a batch of images.
    """
    checked(resolution, classes)
    whole_number(batch, "batch", 1, memory.MAX_BATCH)
    networks, a = architecture.networks(), architecture
    measures = (
        complexity.flops_by_part(networks, resolution, classes),
        complexity.parameters_by_part(networks, classes),
        complexity.activations_by_part(networks, resolution, classes),
        memory.training_memory_by_part(networks, resolution, classes, batch),
    )
    columns = [np.concatenate([np.ravel(part) for part in parts]).tolist() for parts in measures]
    stem, *stages, head = (Costs(*row) for row in zip(*columns, strict=True))
    _, sides = map_sides(a.frame, resolution)
    inside = a.block == "bottleneck"
    return [
        Part("stem", None, a.stem_width, None, None, sides[0], stem),
        *(
            Part(
                f"stage {stage + 1}",
                a.depths[stage],
                a.widths[stage],
                a.bottleneck_widths[stage] if inside else None,
                a.groups[stage] if inside else None,
                sides[stage + 1],
                costs,
            )
            for stage, costs in enumerate(stages)
        ),
        Part("head", None, classes, None, None, 1, head),
    ]
