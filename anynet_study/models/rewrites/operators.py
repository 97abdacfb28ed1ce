"""Convolutions of maps kept as rows (n * height * width, channels), and their gradients.

An operator knows the geometry of one layer; it takes the layer's weights as they are in the
network, so that parameters stay those of the plain network.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from anynet_study.models.rewrites.grouped import grouped
from anynet_study.models.rewrites.matmul import multiply, multiply_back, outer
from anynet_study.models.rewrites.rows import seen, strided
from anynet_study.models.rewrites.spatial import Spatial
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
        found = grouped(layer, side) or tiny(layer, side)
        if found is not None:
            return found
    return Spatial(side, layer.stride[0], layer.kernel_size[0] // 2, layer.groups)


@dataclass(frozen=True)
class Pointwise:
    """A 1x1 convolution is a matrix product with rows."""

    side: int
    stride: int

    def forward(self, rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return multiply(seen(rows, self.side, self.stride), weight.flatten(1), bias)

    def backward(
        self, gradient: Tensor, rows: Tensor, weight: Tensor, wanted: bool, into: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        to_weight = outer(gradient, seen(rows, self.side, self.stride)).view_as(weight)
        if not wanted:
            return gradient.new_empty(0), to_weight
        if self.stride == 1:
            return multiply_back(gradient, weight.flatten(1), into=into), to_weight
        if into is None:
            into = torch.zeros_like(rows)
        pixels = strided(into, self.side, self.stride)
        pixels.add_(multiply_back(gradient, weight.flatten(1)).view(pixels.shape))
        return into, to_weight
