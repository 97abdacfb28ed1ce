"""Closed-form complexity of a whole population at once.

FLOPs are the multiply-adds of convolutions and linear layers (biases not counted); activations
are the elements that these layers put out, for one image; parameters are all that torch trains,
batch norm and biases included.

A network is written down once, as its convolutions (`layers`). The structure is that of the code
the study's experiments ran on: a stage is d blocks, the first of which carries the stage's stride
in a 3x3 and takes w_in channels to w; where that changes the shape, its shortcut is a strided 1x1
convolution, otherwise the identity. (Paper 1, section 4.1, describes this as a strided 1x1
convolution followed by d blocks. Its code is a fork of pycls, in which the strided 1x1 is the
first block's shortcut; sampled bands, and published FLOPs of reference networks, only come out
right with that reading.) Blocks 2 to d are identical, so nothing loops over depth.

Arrays of results have the type of the networks' arrays: exact as int64; as float64 (for sampling
candidates quickly) within a relative error of 1e-14.
"""

from collections.abc import Callable

import numpy as np

from anynet_study.design_space.layers import Convolution, Count, layers
from anynet_study.design_space.networks import Counts, Networks

#: The measures of complexity, and what each counts, in words.
UNITS = {"flops": "FLOPs", "parameters": "parameters", "activations": "activations"}
MEASURES = tuple(UNITS)


def flops(networks: Networks, resolution: int, classes: int) -> Counts:
    """Multiply-adds for one image of `resolution` x `resolution` pixels, shape (n,)."""
    return _total(flops_by_part(networks, resolution, classes))


def parameters(networks: Networks, classes: int) -> Counts:
    """Trainable parameters, shape (n,)."""
    return _total(parameters_by_part(networks, classes))


def activations(networks: Networks, resolution: int, classes: int) -> Counts:
    """Output elements of convolutions and the linear layer for one image, shape (n,)."""
    return _total(activations_by_part(networks, resolution, classes))


def measure(name: str, networks: Networks, resolution: int, classes: int) -> Counts:
    """The measure of that name (one of MEASURES), shape (n,)."""
    if name == "parameters":
        return parameters(networks, classes)
    return (flops if name == "flops" else activations)(networks, resolution, classes)


def flops_by_part(networks: Networks, resolution: int, classes: int) -> tuple[Counts, ...]:
    """Multiply-adds of the stem (a number), the stages (S, n) and the head (n,)."""
    head = networks.widths[-1] * classes
    return *_stem_and_stages(networks, resolution, Convolution.flops), head


def parameters_by_part(networks: Networks, classes: int) -> tuple[Counts, ...]:
    """Trainable parameters of the stem (a number), the stages (S, n) and the head (n,)."""
    head = (networks.widths[-1] + 1) * classes
    return *_stem_and_stages(networks, 1, Convolution.parameters), head


def activations_by_part(networks: Networks, resolution: int, classes: int) -> tuple[Counts, ...]:
    """Activations of the stem (a number), the stages (S, n) and the head (n,)."""
    head = np.full_like(networks.widths[-1], classes)
    return *_stem_and_stages(networks, resolution, Convolution.activations), head


def _stem_and_stages(
    networks: Networks, resolution: int, count: Callable[[Convolution], Count]
) -> tuple[Counts, Counts]:
    stem, first, *others = layers(networks, resolution)
    total = np.asarray(count(first))
    for layer in others:
        total += count(layer)
    return np.asarray(count(stem)), total


def _total(parts: tuple[Counts, ...]) -> Counts:
    stem, stages, head = parts
    # Stage by stage, not with `sum`: fixed in order, and twice as fast on so few rows.
    total = head + stem
    for stage in stages:
        total += stage
    return total
