"""Closed form of what autograd saves of a forward pass, of a whole population at once."""

from collections.abc import Callable

import numpy as np

from anynet_study.design_space.frame import STEMS
from anynet_study.design_space.layers import (
    IMAGE_CHANNELS,
    Convolution,
    Count,
    layers,
    map_sides,
)
from anynet_study.design_space.networks import Counts, Networks

FLOAT_BYTES = 4
INTEGER_BYTES = 8


def saved_by_part(
    networks: Networks, resolution: int, classes: int, batch: int
) -> tuple[Counts, Counts, Counts]:
    """Bytes saved for the backward pass of the stem (a number), the stages (S, n), the head (n,).

    For `batch` images, float32: the images, each convolution's output (batch norm's input) with
    batch norm's two statistics a channel, each nonlinearity's output (in place of its input), max
    pool's output and indices (64 bits), squeeze-and-excitation's means and products, the linear
    layer's input, the log-probabilities, the labels (64 bits), and the loss's total weight.
    Parameters and buffers, which the graph holds on to as well, are not counted.
    """
    frame = networks.frame
    stem, *others = layers(networks, resolution)
    _, sides = map_sides(frame, resolution)
    in_stem = np.asarray(_saved(stem, batch))
    in_stem = in_stem + FLOAT_BYTES * batch * IMAGE_CHANNELS * resolution**2
    if STEMS[frame.stem].pool_stride:
        in_stem = in_stem + (FLOAT_BYTES + INTEGER_BYTES) * batch * frame.stem_width * sides[0] ** 2
    in_stages = _over(others, lambda layer: _saved(layer, batch))
    if frame.se_ratio:
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


def _saved(layer: Convolution, batch: int) -> Count:
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
