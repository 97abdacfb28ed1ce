"""The convolutions of many networks at once: the one place that knows what a block consists of."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from anynet_study.design_space.networks import STEMS, Counts, IntArray, Networks, Skeleton

IMAGE_CHANNELS = 3
Count: TypeAlias = Counts | int


@dataclass(frozen=True)
class Convolution:
    """`count` equal convolutions of square maps.

    Fields are numbers or arrays that broadcast to (S, n), one entry per stage and network.
    """

    kernel: int
    #: Input channels that one output channel sees: the group width of a group convolution.
    width_in: Count
    width_out: Count
    #: Elements of one channel of the output: height times width.
    area: Count
    count: Count
    #: Parameters of an output channel beside its weights: 2 of the batch norm, or 1 bias.
    extra: int = 2
    #: A nonlinearity of its own follows; the shortcut's output is added to another's instead.
    activated: bool = True

    @property
    def normalised(self) -> bool:
        """Tell whether batch norm follows, and not a bias."""
        return self.extra == 2

    def flops(self) -> Count:
        """Multiply-adds for one image."""
        return self.width_out * self.width_in * (self.count * (self.kernel**2 * self.area))

    def parameters(self) -> Count:
        """Trainable parameters."""
        return self.count * self.width_out * (self.kernel**2 * self.width_in + self.extra)

    def activations(self) -> Count:
        """Output elements for one image."""
        return self.count * self.width_out * self.area


def layers(networks: Networks, resolution: int) -> list[Convolution]:
    """List the stem's convolution, then the different kinds of convolutions of the stages."""
    skeleton = networks.skeleton
    after_stem, sides = map_sides(skeleton, resolution)
    kernel, area = STEMS[skeleton.stem].kernel, after_stem**2
    stem = Convolution(kernel, IMAGE_CHANNELS, skeleton.stem_width, area, 1)
    areas = np.array(sides, dtype=networks.widths.dtype)[:, None] ** 2
    width_in = np.empty_like(networks.widths)
    width_in[0] = skeleton.stem_width
    width_in[1:] = networks.widths[:-1]
    if skeleton.block == "bottleneck":
        blocks = _bottleneck(networks, width_in, areas[:-1], areas[1:])
    else:
        blocks = _two_convolutions(networks, width_in, areas[1:])
    if skeleton.block != "vanilla":
        blocks.append(_shortcut(networks, width_in, areas[1:]))
    if skeleton.se_ratio:
        blocks += _squeeze_excitation(networks, width_in)
    return [stem, *blocks]


def map_sides(skeleton: Skeleton, resolution: int) -> tuple[int, list[int]]:
    """Sides of the maps: after the stem's convolution; into stage 1 and out of each stage.

    Every strided layer is padded by half its kernel: it puts out ceil(side / stride).
    """
    stem = STEMS[skeleton.stem]
    after_stem = -(-resolution // stem.stride)
    sides = [-(-after_stem // (stem.pool_stride or 1))]
    for stride in skeleton.strides:
        sides.append(-(-sides[-1] // stride))
    return after_stem, sides


def excitation_widths(networks: Networks, width_in: Counts) -> tuple[Counts, Counts]:
    """Channels inside the squeeze-and-excitation of a stage's first block, and of its others.

    A share of the block's input channels, rounded half to even, at least 1.
    """
    ratio, kind = networks.skeleton.se_ratio, networks.widths.dtype
    first, others = (np.maximum(1, np.rint(ratio * w)) for w in (width_in, networks.widths))
    return first.astype(kind, copy=False), others.astype(kind, copy=False)


def _bottleneck(
    networks: Networks, width_in: Counts, area_in: Counts, area: Counts
) -> list[Convolution]:
    d, w, g = networks.depths, networks.widths, networks.group_widths
    v = networks.bottleneck_widths
    return [
        Convolution(1, width_in, v, area_in, 1),
        Convolution(1, w, v, area, d - 1),
        Convolution(3, g, v, area, d),
        Convolution(1, v, w, area, d),
    ]


def _two_convolutions(networks: Networks, width_in: Counts, area: Counts) -> list[Convolution]:
    w = networks.widths
    return [
        Convolution(3, width_in, w, area, 1),
        Convolution(3, w, w, area, 2 * networks.depths - 1),
    ]


def _shortcut(networks: Networks, width_in: Counts, area: Counts) -> Convolution:
    w = networks.widths
    projected = np.ones_like(w)
    for stage, stride in enumerate(networks.skeleton.strides):
        if stride == 1:
            projected[stage] = width_in[stage] != w[stage]
    return Convolution(1, width_in, w, area, projected, activated=False)


def _squeeze_excitation(networks: Networks, width_in: Counts) -> list[Convolution]:
    v = networks.bottleneck_widths
    first, others = excitation_widths(networks, width_in)
    one: IntArray = np.array(1)
    return [
        convolution
        for inside, count in ((first, one), (others, networks.depths - 1))
        for convolution in (
            Convolution(1, v, inside, 1, count, extra=1),
            Convolution(1, inside, v, 1, count, extra=1),
        )
    ]
