"""Closed-form complexity of a whole population at once.

FLOPs are the multiply-adds of convolutions and linear layers (biases not counted); activations
are the elements that these layers put out, for one image; parameters are all that torch trains,
batch norm and the head's bias included.

A network is written down once, as its convolutions. The structure is that of the code the
study's experiments ran on: a stage is d bottleneck blocks (1x1, 3x3 in groups, 1x1), the first of
which carries the stage's stride in its 3x3 and takes w_in channels to w; where that changes the
shape, its shortcut is a strided 1x1 convolution, otherwise the identity. (Paper 1, section 4.1,
describes this as a strided 1x1 convolution followed by d blocks. Its code is a fork of pycls, in
which the strided 1x1 is the first block's shortcut; sampled bands, and published FLOPs of
reference networks, only come out right with that reading.) Blocks 2 to d are identical, so
nothing loops over depth.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from anynet_study.design_space.networks import STEMS, IntArray, Networks

IMAGE_CHANNELS = 3
Count: TypeAlias = IntArray | int


@dataclass(frozen=True)
class Convolution:
    """`count` equal convolutions without bias, each with its batch norm; square maps.

    Fields are numbers or arrays that broadcast to (n, 4), one entry a network and stage.
    """

    kernel: int
    #: Input channels that one output channel sees: the group width of a group convolution.
    width_in: Count
    width_out: Count
    #: Height and width of the output.
    resolution: Count
    count: Count

    def flops(self) -> Count:
        return self.count * self.width_out * self.kernel**2 * self.width_in * self.resolution**2

    def parameters(self) -> Count:
        return self.count * self.width_out * (self.kernel**2 * self.width_in + 2)

    def activations(self) -> Count:
        return self.count * self.width_out * self.resolution**2


def flops(networks: Networks, resolution: int, classes: int) -> IntArray:
    """Multiply-adds for one image of `resolution` x `resolution` pixels, shape (n,)."""
    stem, *stages = _convolutions(networks, resolution)
    head = networks.widths[:, -1] * classes
    return _total([layer.flops() for layer in stages]) + stem.flops() + head


def parameters(networks: Networks, classes: int) -> IntArray:
    """Trainable parameters, shape (n,)."""
    stem, *stages = _convolutions(networks, resolution=1)
    head = (networks.widths[:, -1] + 1) * classes
    return _total([layer.parameters() for layer in stages]) + stem.parameters() + head


def activations(networks: Networks, resolution: int, classes: int) -> IntArray:
    """Output elements of convolutions and the linear layer for one image, shape (n,)."""
    stem, *stages = _convolutions(networks, resolution)
    return _total([layer.activations() for layer in stages]) + stem.activations() + classes


def _total(terms: list[Count]) -> IntArray:
    total: IntArray = np.asarray(sum(terms)).sum(axis=1)
    return total


def _convolutions(networks: Networks, resolution: int) -> list[Convolution]:
    """List the stem's convolution, then the five kinds of the stages' convolutions."""
    after_stem, r_in, r_out = _resolutions(networks, resolution)
    d, w, g = networks.depths, networks.widths, networks.group_widths
    v = networks.bottleneck_widths
    w_in = np.empty_like(w)
    w_in[:, 0] = networks.stem_width
    w_in[:, 1:] = w[:, :-1]
    projected = (w_in != w) | (np.array(networks.strides) != 1)
    stem_kernel = STEMS[networks.stem].kernel
    return [
        Convolution(stem_kernel, IMAGE_CHANNELS, networks.stem_width, after_stem, 1),
        Convolution(1, w_in, v, r_in, 1),
        Convolution(1, w, v, r_out, d - 1),
        Convolution(3, g, v, r_out, d),
        Convolution(1, v, w, r_out, d),
        Convolution(1, w_in, w, r_out, projected.astype(np.int64)),
    ]


def _resolutions(networks: Networks, resolution: int) -> tuple[int, IntArray, IntArray]:
    """Map sizes after the stem's convolution, and at each stage's input and output.

    Every strided layer is padded by half its kernel: it puts out ceil(input / stride).
    """
    stem = STEMS[networks.stem]
    after_stem = -(-resolution // stem.stride)
    sizes = [-(-after_stem // (stem.pool_stride or 1))]
    for stride in networks.strides:
        sizes.append(-(-sizes[-1] // stride))
    return after_stem, np.array(sizes[:-1]), np.array(sizes[1:])
