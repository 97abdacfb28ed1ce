"""Closed-form memory of training, of a whole population at once.

One step of the plain loop in float32, on a batch of images: forward, cross entropy, backward, SGD
with momentum. Counted are the bytes of

- parameters, their gradients and their momentum, and the buffers of batch norm;
- what autograd keeps of the forward pass until the backward pass has used it: the images, each
  convolution's output (batch norm's input) with batch norm's two statistics a channel, each
  nonlinearity's output (in place of its input), max pool's output and indices (64 bits),
  squeeze-and-excitation's means and products, the linear layer's input, the log-probabilities,
  the labels (64 bits), and the loss's total weight.

Arrays of results have the type of the networks' arrays.
"""

from collections.abc import Callable

import numpy as np

from anynet_study.design_space import complexity
from anynet_study.design_space.frame import STEMS
from anynet_study.design_space.layers import (
    IMAGE_CHANNELS,
    Convolution,
    Count,
    layers,
    map_sides,
)
from anynet_study.design_space.networks import Counts, Networks

#: Limit under which no network's memory leaves 64 bits.
MAX_BATCH = 8192
FLOAT_BYTES = 4
INTEGER_BYTES = 8


def training_memory(networks: Networks, resolution: int, classes: int, batch: int) -> Counts:
    """Bytes that a step on `batch` images holds as its backward pass begins, shape (n,)."""
    stem, stages, head = training_memory_by_part(networks, resolution, classes, batch)
    total: Counts = stem + stages.sum(axis=0) + head
    return total


def training_memory_by_part(
    networks: Networks, resolution: int, classes: int, batch: int
) -> tuple[Counts, ...]:
    """The same of the stem (a number), the stages (S, n) and the head (n,)."""
    trained = complexity.parameters_by_part(networks, classes)
    kept = saved_by_part(networks, resolution, classes, batch)
    return tuple(
        3 * FLOAT_BYTES * one + other + buffers
        for one, other, buffers in zip(trained, kept, _buffers_by_part(networks), strict=True)
    )


def saved_by_part(
    networks: Networks, resolution: int, classes: int, batch: int
) -> tuple[Counts, ...]:
    """Bytes that autograd keeps of a forward pass, by part; parameters and buffers not counted."""
    frame = networks.frame
    stem, *others = layers(networks, resolution)
    _, sides = map_sides(frame, resolution)
    in_stem = np.asarray(_saved(stem, batch)) + FLOAT_BYTES * batch * IMAGE_CHANNELS * resolution**2
    if STEMS[frame.stem].pool_stride:
        in_stem = in_stem + (FLOAT_BYTES + INTEGER_BYTES) * batch * frame.stem_width * sides[0] ** 2
    in_stages = _over_layers(others, lambda layer: _saved(layer, batch))
    if frame.se_ratio:
        areas = np.array(sides[1:], dtype=networks.widths.dtype)[:, None] ** 2
        inside = networks.depths * networks.bottleneck_widths
        in_stages += FLOAT_BYTES * batch * inside * (1 + areas)
    in_head = batch * (FLOAT_BYTES * (networks.widths[-1] + classes) + INTEGER_BYTES) + FLOAT_BYTES
    return in_stem, in_stages, in_head


def _buffers_by_part(networks: Networks) -> tuple[Counts, Counts, int]:
    """Bytes of running means and variances, and of batch norm's counts of steps (64 bits)."""
    stem, *others = layers(networks, 1)
    return np.asarray(_buffers(stem)), _over_layers(others, _buffers), 0


def _over_layers(of: list[Convolution], count: Callable[[Convolution], Count]) -> Counts:
    total = np.asarray(count(of[0]))
    for layer in of[1:]:
        total = total + count(layer)
    return total


def _saved(layer: Convolution, batch: int) -> Count:
    maps = layer.normalised + layer.activated
    statistics = 2 * layer.normalised * layer.count * layer.width_out
    return FLOAT_BYTES * (batch * maps * layer.activations() + statistics)


def _buffers(layer: Convolution) -> Count:
    if not layer.normalised:
        return 0
    return layer.count * (2 * FLOAT_BYTES * layer.width_out + INTEGER_BYTES)
