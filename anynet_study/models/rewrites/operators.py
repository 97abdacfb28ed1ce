"""Convolutions of maps kept as rows (n * height * width, channels), and their gradients.

An operator knows the geometry of one layer; it takes the layer's weights as they are in the
network, so that parameters stay those of the plain network.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from anynet_study.models.rewrites.matmul import multiply, multiply_back, outer
from anynet_study.models.rewrites.tiny import tiny


class Operator(Protocol):
    """A convolution from square maps to square maps, with rows on both sides."""

    def forward(self, rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """Return the output's rows."""

    def backward(
        self, gradient: Tensor, rows: Tensor, weight: Tensor, wanted: bool, into: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return the gradients by rows and by weight.

        The first is empty unless `wanted`, and added to `into` if that is given.
        """


def operator_of(layer: nn.Conv2d, side: int) -> Operator:
    """Return the operator of `layer` on maps of `side` pixels."""
    if layer.kernel_size == (1, 1):
        return Pointwise(side, layer.stride[0])
    if layer.kernel_size == (3, 3):
        found = tiny(layer, side)
        if found is not None:
            return found
    return Spatial(side, layer.stride[0], layer.kernel_size[0] // 2, layer.groups)


@dataclass(frozen=True)
class Pointwise:
    """A 1x1 convolution is a matrix product with rows."""

    side: int
    stride: int

    def forward(self, rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return multiply(self._seen(rows), weight.flatten(1), bias)

    def backward(
        self, gradient: Tensor, rows: Tensor, weight: Tensor, wanted: bool, into: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        to_weight = outer(gradient, self._seen(rows)).view_as(weight)
        if not wanted:
            return gradient.new_empty(0), to_weight
        if self.stride == 1:
            return multiply_back(gradient, weight.flatten(1), into=into), to_weight
        if into is None:
            into = torch.zeros_like(rows)
        pixels = self._pixels(into)
        pixels.add_(multiply_back(gradient, weight.flatten(1)).view(pixels.shape))
        return into, to_weight

    def _seen(self, rows: Tensor) -> Tensor:
        return rows if self.stride == 1 else self._pixels(rows).reshape(-1, rows.shape[1])

    def _pixels(self, rows: Tensor) -> Tensor:
        maps = rows.view(-1, self.side, self.side, rows.shape[1])
        return maps[:, :: self.stride, :: self.stride]


@dataclass(frozen=True)
class Spatial:
    """Any padded convolution, by torch's kernels for channels-last memory."""

    side: int
    stride: int
    padding: int
    groups: int

    def forward(self, rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        maps = as_maps(rows, self.side)
        return as_rows(torch.conv2d(maps, weight, bias, self.stride, self.padding, 1, self.groups))

    def backward(
        self, gradient: Tensor, rows: Tensor, weight: Tensor, wanted: bool, into: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        reach = self.side + 2 * self.padding - weight.shape[-1]
        to_maps, to_weight, _ = torch.ops.aten.convolution_backward.default(
            as_maps(gradient, reach // self.stride + 1),
            as_maps(rows, self.side),
            weight,
            None,
            [self.stride, self.stride],
            [self.padding, self.padding],
            [1, 1],
            False,
            [0, 0],
            self.groups,
            [wanted, True, False],
        )
        if not wanted:
            return gradient.new_empty(0), to_weight
        to_rows = as_rows(to_maps)
        return (to_rows if into is None else into.add_(to_rows)), to_weight


def as_maps(rows: Tensor, side: int) -> Tensor:
    """View rows as maps (n, channels, side, side) in channels-last memory."""
    count, channels = rows.shape
    pixels = side * side
    sizes = count // pixels, channels, side, side
    return rows.as_strided(sizes, (pixels * channels, 1, side * channels, channels))


def as_rows(maps: Tensor) -> Tensor:
    """Return maps (n, channels, height, width) as rows; no copy in channels-last memory."""
    n, channels, height, width = maps.shape
    if maps.is_contiguous(memory_format=torch.channels_last):
        return maps.as_strided((n * height * width, channels), (channels, 1))
    return maps.permute(0, 2, 3, 1).reshape(-1, channels)
