"""Closed-form memory of training, of a whole population at once.

One step of the plain loop (`training.engine`) in float32 on a batch of images: forward, cross
entropy, backward, SGD with momentum. Counted are the bytes of the tensors that are alive:

- parameters, their momentum, the buffers of batch norm, and the logits, always;
- gradients: during the forward pass those of the step before, during the backward pass those of
  the layers that it has been through;
- what autograd saves for the backward pass (`saved_tensors_by_part`) until it has been used;
- what the operation of the moment works on.

The peak is found among few moments: in the forward pass saved tensors pile up; in the backward
pass they are used up, and gradients of the weights take their place. On top comes what the
operation of the moment works on. Blocks 2 to d of a stage are alike: from one to the next the sum
changes by a constant, so the most is reached in the first, the second or the last.

Compared with a record of every tensor that torch makes and frees, this was -0.02% to +0.7% off in
174 cases of all kinds. What the libraries below torch take is not counted: scratch space of
convolutions (0 to 21% more on a CPU, with batches of 4 to 16), gaps that an allocator leaves, the
framework itself and its CUDA context.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from anynet_study.design_space.complexity import by_part
from anynet_study.design_space.layers import (
    IMAGE_CHANNELS,
    Convolution,
    Count,
    layers,
    map_sides,
)
from anynet_study.design_space.networks import STEMS, Counts, Networks, Skeleton

#: Limit under which no network's memory leaves 64 bits.
MAX_BATCH = 8192
FLOAT_BYTES = 4
INTEGER_BYTES = 8
#: What max pool saves over its output: the output, and indices of twice its size.
POOL_SAVES = 3


def training_memory(networks: Networks, resolution: int, classes: int, batch: int) -> Counts:
    """Bytes that a training step on `batch` images takes at its peak, shape (n,)."""
    parts = _rows(training_memory_by_part(networks, resolution, classes, batch))
    total: Counts = parts.sum(axis=0)
    return total


def training_memory_by_part(
    networks: Networks, resolution: int, classes: int, batch: int
) -> tuple[Counts, Counts, Counts]:
    """Part the memory of training into the stem (n,), the stages (S, n) and the head (n,).

    Each has its parameters, gradients, momentum, buffers and what autograd saves of it. The part
    that is at work at the peak has, in addition, what that moment takes beyond all of this.
    """
    weights = _rows(by_part("parameters", networks, 1, classes)) * FLOAT_BYTES
    buffers = _rows(buffers_by_part(networks))
    saved = _rows(saved_tensors_by_part(networks, resolution, classes, batch))
    longer = replace(networks, depths=networks.depths + 1)
    longer_weights = _rows(by_part("parameters", longer, 1, classes)) * FLOAT_BYTES
    longer_saved = _rows(saved_tensors_by_part(longer, resolution, classes, batch))
    # Of each of a stage's blocks but the first.
    block_weights, block_saved = (longer_weights - weights)[1:-1], (longer_saved - saved)[1:-1]
    held = 3 * weights + buffers + saved
    always = (2 * weights + buffers).sum(axis=0) + FLOAT_BYTES * batch * classes
    sizes = resolution, classes, batch
    alive = always + _peaks(networks, *sizes, weights, saved, block_weights, block_saved)
    place = alive.argmax(axis=0)
    everyone = np.arange(len(networks))
    held[place, everyone] += alive[place, everyone] - held.sum(axis=0)
    return held[0], held[1:-1], held[-1]


def _rows(parts: tuple[Counts, ...]) -> Counts:
    """Stem, stages and head as one array, shape (S + 2, n)."""
    stem, stages, head = parts
    return np.vstack([np.broadcast_to(stem, head.shape), stages, head])


def saved_tensors_by_part(
    networks: Networks, resolution: int, classes: int, batch: int
) -> tuple[Counts, Counts, Counts]:
    """Bytes saved for the backward pass of the stem (a number), the stages (S, n), the head (n,).

    For `batch` images, float32: the images, each convolution's output (batch norm's input) with
    batch norm's two statistics per channel, each nonlinearity's output (in place of its input), max
    pool's output and indices (64 bits), squeeze-and-excitation's means and products, the linear
    layer's input, the log-probabilities, the labels (64 bits), and the loss's total weight.
    Parameters and buffers, which the graph holds on to as well, are not counted.
    """
    skeleton = networks.skeleton
    stem, *others = layers(networks, resolution)
    _, sides = map_sides(skeleton, resolution)
    in_stem = np.asarray(_saved_by(stem, batch))
    in_stem = in_stem + FLOAT_BYTES * batch * IMAGE_CHANNELS * resolution**2
    if STEMS[skeleton.stem].pool_stride:
        pooled = batch * skeleton.stem_width * sides[0] ** 2
        in_stem = in_stem + (FLOAT_BYTES + INTEGER_BYTES) * pooled
    in_stages = _over(others, lambda layer: _saved_by(layer, batch))
    if skeleton.se_ratio:
        areas = np.array(sides[1:], dtype=networks.widths.dtype)[:, None] ** 2
        inside = networks.depths * networks.bottleneck_widths
        in_stages = in_stages + FLOAT_BYTES * batch * inside * (1 + areas)
    in_head = batch * (FLOAT_BYTES * (networks.widths[-1] + classes) + INTEGER_BYTES) + FLOAT_BYTES
    return in_stem, in_stages, in_head


def buffers_by_part(networks: Networks) -> tuple[Counts, Counts, Counts]:
    """Bytes of batch norm's running means and variances and its count of steps (64 bits)."""
    stem, *others = layers(networks, 1)
    none = np.zeros_like(networks.widths[-1])
    return np.asarray(_buffers(stem)), _over(others, _buffers), none


def _saved_by(layer: Convolution, batch: int) -> Count:
    maps = layer.normalised + layer.activated
    statistics = 2 * layer.normalised * layer.count * layer.width_out
    return FLOAT_BYTES * (batch * maps * layer.activations() + statistics)


def _buffers(layer: Convolution) -> Count:
    in_one = 2 * FLOAT_BYTES * layer.width_out + INTEGER_BYTES
    return layer.normalised * layer.count * in_one


def _over(convolutions: list[Convolution], measure: Callable[[Convolution], Count]) -> Counts:
    total = np.asarray(measure(convolutions[0]))
    for layer in convolutions[1:]:
        total = total + measure(layer)
    return total


class _Block(NamedTuple):
    """The maps of a stage's block for a batch, shape (S, n)."""

    entering: Counts
    #: Outputs of its convolutions but the last, in order.
    inner: tuple[Counts, ...]
    leaving: Counts
    #: Output of the shortcut's convolution; 0 where the shortcut is the identity.
    shortcut: Counts


def _peaks(
    networks: Networks,
    resolution: int,
    classes: int,
    batch: int,
    weights: Counts,
    saved: Counts,
    block_weights: Counts,
    block_saved: Counts,
) -> Counts:
    """The most that is alive while each part is at work, shape (S + 2, n).

    Parameters, momentum, buffers and logits, which are alive throughout, are not counted.
    `weights` are bytes of parameters, and so of gradients; `saved` is for the backward pass.
    """
    skeleton, others = networks.skeleton, networks.depths - 1
    after_stem, sides = map_sides(skeleton, resolution)
    gradients = weights.sum(axis=0)
    # Backward through the stem's max pool, and its ReLU, when what the pool saved is used up.
    one_channel = FLOAT_BYTES * batch * skeleton.stem_width
    stem_map, pooled = one_channel * after_stem**2, one_channel * sides[0] ** 2
    used = POOL_SAVES * pooled if STEMS[skeleton.stem].pool_stride else 0
    stem = gradients + saved[0] + max(stem_map, 2 * stem_map - used)
    # The loss, forward (the gradients of the step before are still there) and backward.
    head = saved.sum(axis=0) + np.maximum(gradients, 2 * FLOAT_BYTES * batch * classes)
    first, other = _blocks(networks, resolution, batch)
    end = saved.cumsum(axis=0)[1:-1]
    second = end - others * block_saved  # what is saved when the second block begins
    later = weights[::-1].cumsum(axis=0)[::-1][2:]  # gradients of the parts behind
    in_first = _backward(first, skeleton, weights[1:-1] - others * block_weights)
    in_other = _backward(other, skeleton, block_weights)
    moments = [
        end - saved[1:-1] + in_first + later + others * block_weights,
        (others > 0) * (second + in_other + later + (others - 1) * block_weights),
        (others > 0) * (end - block_saved + in_other + later),
    ]
    if skeleton.block != "vanilla":
        # The sum of a block and its shortcut, forward: what batch norm put out is still there.
        moments.append(gradients + second + first.leaving + first.shortcut)
        moments.append(gradients + end + other.leaving)
    return np.vstack([stem, np.max(moments, axis=0), head])


def _backward(block: _Block, skeleton: Skeleton, weights: Counts) -> Counts:
    """The most, of what is saved of a block and of gradients, while its backward pass lasts."""
    # The gradient of the block's input by way of the shortcut, which is run through first.
    waiting = block.entering if skeleton.block != "vanilla" else np.zeros_like(block.entering)
    moments = []
    saved = np.zeros_like(block.entering)
    for inner in block.inner:
        saved = saved + 2 * inner
        moments.append(saved + waiting + 2 * inner)  # its ReLU
    if skeleton.se_ratio:
        moments.append(saved + waiting + 3 * inner)  # the product of maps and excitation
        saved = saved + inner
    moments.append(saved + waiting + inner + block.leaving)  # the last convolution
    saved = saved + 2 * block.leaving + block.shortcut
    moments.append(saved + waiting)  # the shortcut's convolution
    moments.append(3 * waiting)  # the sum of both gradients of the block's input
    before_weights = saved + 2 * block.leaving  # the block's ReLU
    most: Counts = np.maximum(before_weights, weights + np.max(moments, axis=0))
    return most


def _blocks(networks: Networks, resolution: int, batch: int) -> tuple[_Block, _Block]:
    """The first block of each stage, and its others."""
    skeleton, w, v = networks.skeleton, networks.widths, networks.bottleneck_widths
    _, sides = map_sides(skeleton, resolution)
    areas = FLOAT_BYTES * batch * np.array(sides, dtype=w.dtype)[:, None] ** 2
    entering = np.vstack([np.full_like(w[:1], skeleton.stem_width), w[:-1]]) * areas[:-1]
    leaving, inside = w * areas[1:], v * areas[1:]
    convolutions = layers(networks, resolution)
    shortcuts = [layer for layer in convolutions if not layer.activated]
    shortcut = sum(FLOAT_BYTES * batch * layer.activations() for layer in shortcuts)
    none = np.zeros_like(leaving)
    first: tuple[Counts, ...] = (inside,)
    other: tuple[Counts, ...] = (inside,)
    if skeleton.block == "bottleneck":
        first, other = (v * areas[:-1], inside), (inside, inside)
    return _Block(entering, first, leaving, none + shortcut), _Block(leaving, other, leaving, none)
