"""Closed-form complexity of a whole population at once.

FLOPs are the multiply-adds of convolutions and linear layers (biases not counted); activations
are the elements that these layers put out, for one image; parameters are all that torch trains,
batch norm and biases included.

A stage is d blocks, the first of which carries the stage's stride in a 3x3 and takes w_in channels
to w; where that changes the shape, its shortcut is a strided 1x1 convolution. (Paper 1, section
4.1, describes a strided 1x1 convolution followed by d blocks. Its code is a fork of pycls, in which
the strided 1x1 is the first block's shortcut; sampled bands, and published FLOPs of reference
networks, only come out right with that reading.) Blocks 2 to d are identical, so nothing loops over
depth.

Arrays of results have the type of the networks' arrays: exact as int64; as float64 (for sampling
candidates quickly) within a relative error of 1e-14.
"""

import numpy as np

from anynet_study.design_space.layers import Convolution, layers
from anynet_study.design_space.networks import Counts, Networks

#: The measures of complexity, and what each counts, in words.
UNITS = {"flops": "FLOPs", "parameters": "parameters", "activations": "activations"}
MEASURES = tuple(UNITS)


def measure(name: str, networks: Networks, resolution: int, classes: int) -> Counts:
    """The measure of that name (one of MEASURES), for one image of that side, shape (n,)."""
    stem, stages, head = by_part(name, networks, resolution, classes)
    # Stage by stage, not with `sum`: fixed in order, and twice as fast on so few rows.
    total = head + stem
    for stage in stages:
        total += stage
    return total


def parameters(networks: Networks, classes: int) -> Counts:
    """Trainable parameters, shape (n,)."""
    return measure("parameters", networks, 1, classes)


def by_part(
    name: str, networks: Networks, resolution: int, classes: int
) -> tuple[Counts, Counts, Counts]:
    """The measure of the stem (a number), the stages (S, n) and the head (n,)."""
    width = networks.widths[-1]
    if name == "flops":
        count, head = Convolution.flops, width * classes
    elif name == "parameters":
        count, head = Convolution.parameters, (width + 1) * classes
    else:
        count, head = Convolution.activations, np.full_like(width, classes)
    stem, first, *others = layers(networks, resolution)
    total = np.asarray(count(first))
    for layer in others:
        total += count(layer)
    return np.asarray(count(stem)), total, head
