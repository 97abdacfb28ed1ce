"""Convolutions of rows by torch's kernels."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from anynet_study.models.rewrites.rows import as_maps, as_rows

#: Channels that torch's kernels convolve together, and groups from which joining them pays.
REGISTER = 16
MANY_GROUPS = 8


@dataclass(frozen=True)
class Spatial:
    """Any padded convolution, by torch's kernels for channels-last memory."""

    side: int
    stride: int
    padding: int
    groups: int
    #: So many groups are convolved as one; see `joined_groups`.
    joined: int = 1

    def forward(self, rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        maps, groups = as_maps(rows, self.side), self.groups // self.joined
        return as_rows(
            torch.conv2d(maps, self._joined(weight), bias, self.stride, self.padding, 1, groups)
        )

    def backward(
        self, gradient: Tensor, rows: Tensor, weight: Tensor, wanted: bool, into: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        maps = as_maps(rows, self.side)
        reach = self.side + 2 * self.padding - weight.shape[-1]
        to_output = as_maps(gradient, reach // self.stride + 1)
        at_once = wanted and self.joined == 1
        to_maps, to_weight = self._gradients(to_output, maps, weight, self.groups, at_once, True)
        if not wanted:
            return gradient.new_empty(0), to_weight
        if not at_once:
            groups = self.groups // self.joined
            joined = self._joined(weight)
            to_maps, _ = self._gradients(to_output, maps, joined, groups, True, False)
        to_rows = as_rows(to_maps)
        return (to_rows if into is None else into.add_(to_rows)), to_weight

    def _gradients(
        self, gradient: Tensor, maps: Tensor, weight: Tensor, groups: int, *wanted: bool
    ) -> tuple[Tensor, Tensor]:
        """Those that are `wanted` of the gradients by maps and by weight."""
        to_maps, to_weight, _ = torch.ops.aten.convolution_backward.default(
            gradient,
            maps,
            weight,
            None,
            [self.stride, self.stride],
            [self.padding, self.padding],
            [1, 1],
            False,
            [0, 0],
            groups,
            [*wanted, False],
        )
        return to_maps, to_weight

    def _joined(self, weight: Tensor) -> Tensor:
        """Weight (groups * o, i, h, w) to (groups * o, joined * i, h, w), zero between groups."""
        if self.joined == 1:
            return weight
        apart = weight.unflatten(0, (self.groups // self.joined, self.joined, -1))
        g, j, o, i, *kernel = apart.shape
        wide = weight.new_zeros(g, j, o, j, i, *kernel)
        wide.diagonal(0, 1, 3).copy_(apart.permute(0, 2, 3, 4, 5, 1))
        return wide.view(-1, j * i, *kernel)


def joined_groups(layer: nn.Conv2d) -> int:
    """Return how many groups are quicker convolved as one, with weights of zero between them.

    The rule was measured: torch's kernels take a register for a group of few channels, too.
    """
    width = layer.in_channels // layer.groups
    narrow = width in (2, 4) or (width == 8 and layer.stride[0] == 2)
    if layer.groups < MANY_GROUPS or not narrow:
        return 1
    return math.gcd(layer.groups, REGISTER // width)
