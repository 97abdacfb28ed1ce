"""The moments of a training step that can be those of most memory.

In the forward pass saved tensors pile up. In the backward pass, from the head to the stem, they
are used up, and gradients of the weights take their place. On top comes what the operation of the
moment works on. Blocks 2 to d of a stage are alike: from one to the next the sum changes by a
constant, so the most is reached in the first, the second or the last.

Sizes are bytes. Maps, statistics and products of one pixel a channel are left out here, being
small.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from anynet_study.design_space.frame import STEMS, Frame
from anynet_study.design_space.layers import layers, map_sides
from anynet_study.design_space.networks import Counts, Networks
from anynet_study.design_space.saved import FLOAT_BYTES

#: What max pool saves over its output: the output, and indices of twice its size.
POOL_SAVES = 3


@dataclass(frozen=True)
class Step:
    """What a step has of each part (stem, stages, head), shape (S + 2, n), and of a block."""

    #: Of the parameters; gradients take as much.
    weights: Counts
    #: What autograd saves.
    saved: Counts
    #: The same of each of a stage's blocks but the first, shape (S, n).
    block_weights: Counts
    block_saved: Counts


class Block(NamedTuple):
    """The maps of a stage's block for a batch, shape (S, n)."""

    entering: Counts
    #: Outputs of its convolutions but the last, in order.
    inner: tuple[Counts, ...]
    leaving: Counts
    #: Output of the shortcut's convolution; 0 where the shortcut is the identity.
    shortcut: Counts


def peaks(networks: Networks, resolution: int, classes: int, batch: int, step: Step) -> Counts:
    """The most that is alive while each part is at work, shape (S + 2, n).

    Parameters, momentum, buffers and logits, which are alive throughout, are not counted.
    """
    after_stem, sides = map_sides(networks.frame, resolution)
    gradients, saved = step.weights.sum(axis=0), step.saved.sum(axis=0)
    # Backward through the stem's max pool, and its ReLU, when what the pool saved is used up.
    one_channel = FLOAT_BYTES * batch * networks.frame.stem_width
    stem_map, pooled = one_channel * after_stem**2, one_channel * sides[0] ** 2
    used = POOL_SAVES * pooled if STEMS[networks.frame.stem].pool_stride else 0
    stem = gradients + step.saved[0] + max(stem_map, 2 * stem_map - used)
    # The loss, forward (the gradients of the step before are still there) and backward.
    logits = FLOAT_BYTES * batch * classes
    head = saved + np.maximum(gradients, 2 * logits)
    stages = _stages(networks, *_blocks(networks, resolution, batch), step)
    return np.vstack([stem, stages, head])


def _stages(networks: Networks, first: Block, other: Block, step: Step) -> Counts:
    frame, others = networks.frame, networks.depths - 1
    saved, block_saved = step.saved[1:-1], step.block_saved
    weights, block_weights = step.weights[1:-1], step.block_weights
    end = step.saved.cumsum(axis=0)[1:-1]
    second = end - others * block_saved  # what is saved when the second block begins
    later = step.weights[::-1].cumsum(axis=0)[::-1][2:]  # gradients of the parts behind
    in_first = _backward(first, frame, weights - others * block_weights)
    in_other = _backward(other, frame, block_weights)
    moments = [
        end - saved + in_first + later + others * block_weights,
        (others > 0) * (second + in_other + later + (others - 1) * block_weights),
        (others > 0) * (end - block_saved + in_other + later),
    ]
    if frame.block != "vanilla":
        # The sum of a block and its shortcut, forward: what batch norm put out is still there.
        gradients = step.weights.sum(axis=0)
        moments.append(gradients + second + first.leaving + first.shortcut)
        moments.append(gradients + end + other.leaving)
    most: Counts = np.max(moments, axis=0)
    return most


def _backward(block: Block, frame: Frame, weights: Counts) -> Counts:
    """The most, of what is saved of a block and of gradients, while its backward pass lasts."""
    # The gradient of the block's input by way of the shortcut, which is run through first.
    waiting = block.entering if frame.block != "vanilla" else np.zeros_like(block.entering)
    moments = []
    saved = np.zeros_like(block.entering)
    for inner in block.inner:
        saved = saved + 2 * inner
        moments.append(saved + waiting + 2 * inner)  # its ReLU
    if frame.se_ratio:
        moments.append(saved + waiting + 3 * inner)  # the product of maps and excitation
        saved = saved + inner
    moments.append(saved + waiting + inner + block.leaving)  # the last convolution
    saved = saved + 2 * block.leaving + block.shortcut
    moments.append(saved + waiting)  # the shortcut's convolution
    moments.append(3 * waiting)  # the sum of both gradients of the block's input
    before_weights = saved + 2 * block.leaving  # the block's ReLU
    most: Counts = np.maximum(before_weights, weights + np.max(moments, axis=0))
    return most


def _blocks(networks: Networks, resolution: int, batch: int) -> tuple[Block, Block]:
    """The first block of each stage, and its others."""
    frame, w, v = networks.frame, networks.widths, networks.bottleneck_widths
    _, sides = map_sides(frame, resolution)
    areas = FLOAT_BYTES * batch * np.array(sides, dtype=w.dtype)[:, None] ** 2
    entering = np.vstack([np.full_like(w[:1], frame.stem_width), w[:-1]]) * areas[:-1]
    leaving, inside = w * areas[1:], v * areas[1:]
    convolutions = layers(networks, resolution)
    shortcuts = [layer for layer in convolutions if not layer.activated]
    shortcut = sum(FLOAT_BYTES * batch * layer.activations() for layer in shortcuts)
    none = np.zeros_like(leaving)
    first: tuple[Counts, ...] = (inside,)
    other: tuple[Counts, ...] = (inside,)
    if frame.block == "bottleneck":
        first, other = (v * areas[:-1], inside), (inside, inside)
    return Block(entering, first, leaving, none + shortcut), Block(leaving, other, leaving, none)
