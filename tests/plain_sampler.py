"""The sampler and the complexities once more: one candidate, one block, one number at a time.

Written from the docstrings, in plain Python; nothing of the package's arithmetic is used.
"""

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import log
from typing import Any

import numpy as np

from anynet_study.design_space import Architecture, DesignSpace
from anynet_study.design_space.anynet import AnyNet
from anynet_study.design_space.regnet import RegNet

WIDEST = 4096
Bands = Mapping[str, tuple[float, float]]


@dataclass
class Counter:
    """Sums over the layers of a network, and the side of the map that has been reached."""

    side: int
    flops: int = 0
    parameters: int = 0
    activations: int = 0

    def convolution(
        self, w_in: int, w_out: int, kernel: int, stride: int = 1, groups: int = 1, extra: int = 2
    ) -> None:
        """Count a convolution with its batch norm, or with a bias for `extra` = 1."""
        self.side = (self.side + 2 * (kernel // 2) - kernel) // stride + 1
        weights = kernel * kernel * (w_in // groups) * w_out
        self.flops += weights * self.side**2
        self.parameters += weights + extra * w_out
        self.activations += w_out * self.side**2

    def aside(self, *layers: tuple[int, ...], side: int = 0, extra: int = 2) -> None:
        """Count convolutions (of maps of the given side) off the main path."""
        here = self.side
        self.side = side or here
        for layer in layers:
            self.convolution(*layer, extra=extra)
        self.side = here


def complexity(a: Architecture, resolution: int, classes: int) -> tuple[int, int, int]:
    """FLOPs, parameters and activations, summed over the layers of the network."""
    count = Counter(resolution)
    kernel, stride = {"imagenet": (7, 2), "simple": (3, 2), "cifar": (3, 1)}[a.stem]
    count.convolution(3, a.stem_width, kernel, stride)
    if a.stem == "imagenet":
        count.side = (count.side + 2 - 3) // 2 + 1
    w_in = a.stem_width
    stages = zip(a.depths, a.widths, a.bottleneck_ratios, a.group_widths, a.strides, strict=True)
    for d, w, b, g, s in stages:
        for number in range(d):
            _block(count, a, w_in, w, b, g, 1 if number else s)
            w_in = w
    flops, parameters = count.flops + w_in * classes, count.parameters + (w_in + 1) * classes
    return flops, parameters, count.activations + classes


def _block(count: Counter, a: Architecture, w_in: int, w: int, b: int, g: int, stride: int) -> None:
    if a.block != "vanilla" and (stride != 1 or w_in != w):
        count.aside((w_in, w, 1, stride))
    if a.block != "bottleneck":
        count.convolution(w_in, w, 3, stride)
        count.convolution(w, w, 3)
        return
    v = w // b
    count.convolution(w_in, v, 1)
    count.convolution(v, v, 3, stride, v // g)
    if a.se_ratio:
        inside = max(1, round(a.se_ratio * w_in))
        count.aside((v, inside, 1), (inside, v, 1), side=1, extra=1)
    count.convolution(v, w, 1)


def words(seed: int) -> Iterator[float]:
    """The stream's 32-bit words as numbers in (0, 1): each 64-bit word's low half first."""
    stream = np.random.Philox(key=seed)
    while True:
        raw = int(stream.random_raw())
        for half in (raw & 0xFFFFFFFF, raw >> 32):
            yield (half + 0.5) / 2**32


class Parameter:
    """The values that one number draws."""

    def __init__(self, values: Sequence[Any], mass: Sequence[float] | None = None) -> None:
        """Give all values the same probability, unless there is a mass for each."""
        mass = mass or [1.0] * len(values)
        self.values = list(values)
        self.ends = [end / sum(mass) for end in accumulate(mass)]

    def draw(self, number: float) -> Any:
        """The value that a number in (0, 1) draws."""
        return self.values[min(bisect(self.ends, number), len(self.values) - 1)]


#: A number that is drawn and thrown away.
UNUSED = Parameter([None])


def ranged(kind: str, ends: Sequence[int], step: int, quantization: str) -> Parameter:
    """The multiples of `step` from the first end to the second."""
    values = range(ends[0], ends[1] + 1, step)
    if kind == "uniform":
        return Parameter(values)
    if quantization == "nearest":
        return Parameter(values, [log((x + step / 2) / (x - step / 2)) for x in values])
    start = ends[0] - min(step, ends[0] / 2)
    return Parameter(values, [log(x / max(x - step, start)) for x in values])


def parameters(space: DesignSpace) -> list[Parameter]:
    """What each number of a candidate draws, in order."""
    stages = space.stages
    if isinstance(stages, RegNet):
        rule = stages.quantization
        tenths, thousandths = (
            [round(by * end) for end in ends]
            for by, ends in ((10, stages.slope), (1000, stages.width_multiplier))
        )
        return [
            ranged(stages.depth_distribution, stages.depth, 1, rule),
            ranged(stages.distribution, stages.initial_width, 8, rule),
            ranged(stages.distribution, tenths, 1, rule),
            ranged(stages.distribution, thousandths, 1, rule),
            Parameter(stages.bottleneck_ratios),
            Parameter(stages.group_widths),
        ]
    count = len(space.skeleton.strides)
    depths, widths = (
        ends * count if len(ends) == 1 else ends for ends in (stages.depths, stages.widths)
    )
    each = {
        "depths": [
            ranged(stages.depth_distribution, ends, 1, stages.quantization) for ends in depths
        ],
        "widths": [
            ranged(stages.width_distribution, ends, stages.width_divisor, stages.quantization)
            for ends in widths
        ],
        "bottleneck_ratios": [Parameter(stages.bottleneck_ratios or [None])] * count,
        "group_widths": [Parameter(stages.group_widths or [None])] * count,
    }
    for name in stages.shared:
        each[name][1:] = [UNUSED] * (count - 1)
    return [parameter for one in each.values() for parameter in one]


def build(space: DesignSpace, drawn: Sequence[Any]) -> Architecture | None:
    """The network that drawn values make; None if the space's constraints are not obeyed."""
    make = _regnet if isinstance(space.stages, RegNet) else _anynet
    return make(space, drawn)


def _anynet(space: DesignSpace, values_drawn: Sequence[Any]) -> Architecture | None:
    assert isinstance(space.stages, AnyNet)
    count = len(space.skeleton.strides)
    names = ("depths", "widths", "bottleneck_ratios", "group_widths")
    values = {name: list(values_drawn[n * count : (n + 1) * count]) for n, name in enumerate(names)}
    for name in space.stages.shared:
        values[name] = values[name][:1] * count
    d, w, b, g = values.values()
    if space.skeleton.block == "bottleneck":
        drawn = list(w), list(g)
        w, g = zip(*map(make_compatible, w, b, g), strict=True)
        if space.stages.compatible == "redraw" and (list(w), list(g)) != drawn:
            return None
    else:
        b, g = [1] * count, w
    final = dict(zip(names, (d, w, b, g), strict=True))
    for name in space.stages.non_decreasing:
        if list(final[name]) != sorted(final[name]):
            return None
    return _architecture(space, d, w, b, g)


def make_compatible(w: int, b: int, g: int) -> tuple[int, int]:
    """The width and group width that are built."""
    v = w // b
    g = min(g, v)
    return max(1, round(Fraction(v, g))) * g * b, g


def _regnet(space: DesignSpace, drawn: Sequence[Any]) -> Architecture | None:
    d, w0, tenths, thousandths, b, g = drawn
    levels = block_levels(d, w0, Fraction(tenths, 10), Fraction(thousandths, 1000))
    per_block = [width for _, width in levels]
    widths = sorted(set(per_block))
    if len(widths) != len(space.skeleton.strides) or widths[-1] > WIDEST:
        return None
    if levels[-1][0] + 1 != len(widths):  # a level is skipped, or two have one width
        return None
    w, groups = zip(*(make_compatible(one, b, g) for one in widths), strict=True)
    return _architecture(space, [per_block.count(one) for one in widths], w, [b] * len(w), groups)


def block_levels(d: int, w0: int, wa: Fraction, wm: Fraction) -> list[tuple[int, int]]:
    """The level and the quantised width of each block, in exact arithmetic."""
    widths, s = [], 0
    for j in range(d):
        while (w0 + wa * j) ** 2 >= w0**2 * wm ** (2 * s + 1):  # u_j >= w0 wm^(s + 1/2)
            s += 1
        widths.append((s, 8 * round(w0 * wm**s / 8)))
    return widths


def _architecture(space: DesignSpace, *stages: Sequence[int]) -> Architecture:
    frame = space.skeleton
    d, w, b, g = map(tuple, stages)
    return Architecture(
        d, w, b, g, frame.strides, frame.stem, frame.stem_width, frame.block, frame.se_ratio
    )


@dataclass
class Sample:
    """What was kept, in order, and how many candidates were seen on the way."""

    kept: list[Architecture] = field(default_factory=list)
    candidates: int = 0
    in_space: int = 0
    in_band: int = 0


def sample(
    space: DesignSpace,
    count: int,
    bands: Bands,
    resolution: int,
    classes: int,
    numbers: Iterator[float],
) -> Sample:
    """The first `count` different candidates in all bands, drawn from numbers in (0, 1)."""
    result, known = Sample(), set()
    each = parameters(space)
    while len(result.kept) < count:
        one = build(space, [parameter.draw(next(numbers)) for parameter in each])
        result.candidates += 1
        if one is None:
            continue
        result.in_space += 1
        if not inside(one, bands, resolution, classes):
            continue
        result.in_band += 1
        if one not in known:
            known.add(one)
            result.kept.append(one)
    return result


def inside(a: Architecture, bands: Bands, resolution: int, classes: int) -> bool:
    """Whether the architecture's complexities are in all bands."""
    names = ("flops", "parameters", "activations")
    costs = dict(zip(names, complexity(a, resolution, classes), strict=True))
    return all(low <= costs[name] <= high for name, (low, high) in bands.items())
