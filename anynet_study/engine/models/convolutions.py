"""Convolutions of maps kept as rows, and their gradients.

Maps (n, channels, height, width) in channels-last memory are the same memory as rows
(n * height * width, channels). A convolution here knows the geometry of one layer; it takes the
layer's weights as they are in the network, so that parameters stay those of the plain network.

Which one is for a layer follows from shapes alone, so that a run is repeatable bit for bit. The
limits were measured in one thread (`python -m benchmarks.rewrites`).
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

TAPS = 9
#: Elements of a layer's matrices up to which they are quick to make.
SMALL_MATRICES = 24_000
#: Side of maps, in pixels, from which on torch's 1x1 convolution is quicker than a matrix product,
#: by a tenth; below, it is slower, and several times at one pixel.
LARGE_MAPS = 12


class Convolution(Protocol):
    """A convolution from square maps to square maps, with rows on both sides."""

    def forward(self, rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """Return the output's rows."""

    def backward(
        self, gradient: Tensor, rows: Tensor, weight: Tensor, wanted: bool, into: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return the gradients by rows and by weight.

        The first is empty unless `wanted`, and added to `into` if that is given.
        """


def convolution_on_rows(layer: nn.Conv2d, side: int) -> Convolution:
    """Return what does the work of `layer` on maps of `side` pixels."""
    # With a stride, torch's backward pass crashes from 8 channels to 128 or more (torch 2.13,
    # channels last, AVX-512).
    if layer.kernel_size == (1, 1) and (side < LARGE_MAPS or layer.stride[0] > 1):
        return PointwiseConvolution(side, layer.stride[0])
    found = matrix_convolution(layer, side) if layer.kernel_size == (3, 3) else None
    return found or TorchConvolution(side, layer.stride[0], layer.kernel_size[0] // 2, layer.groups)


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
    # Of one image, what is reshaped may be a view with other strides.
    return maps.permute(0, 2, 3, 1).reshape(-1, channels).contiguous()


def seen_rows(rows: Tensor, side: int, stride: int) -> Tensor:
    """Return the rows that a 1x1 convolution with this stride sees; a copy if not all."""
    if stride == 1:
        return rows
    return _strided(rows, side, stride).reshape(-1, rows.shape[1]).contiguous()


def add_to_seen(part: Tensor, rows: Tensor, side: int, stride: int, into: Tensor | None) -> Tensor:
    """Add `part` to those of `into`, by default zeros like `rows`, that `seen_rows` gives."""
    into = torch.zeros_like(rows) if into is None else into
    pixels = _strided(into, side, stride)
    pixels.add_(part.view(pixels.shape))
    return into


def _strided(rows: Tensor, side: int, stride: int) -> Tensor:
    """View every `stride`-th pixel, both ways, of maps of `side` pixels: (n, ..., channels)."""
    return rows.view(-1, side, side, rows.shape[1])[:, ::stride, ::stride]


@dataclass(frozen=True)
class PointwiseConvolution:
    """A 1x1 convolution is a matrix product with rows."""

    side: int
    stride: int

    def forward(self, rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return F.linear(seen_rows(rows, self.side, self.stride), weight.flatten(1), bias)

    def backward(
        self, gradient: Tensor, rows: Tensor, weight: Tensor, wanted: bool, into: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        matrix = weight.flatten(1)
        to_weight = gradient.t().mm(seen_rows(rows, self.side, self.stride)).view_as(weight)
        if not wanted:
            return gradient.new_empty(0), to_weight
        if self.stride == 1:
            to_rows = gradient.mm(matrix) if into is None else into.addmm_(gradient, matrix)
            return to_rows, to_weight
        return add_to_seen(gradient.mm(matrix), rows, self.side, self.stride, into), to_weight


@dataclass(frozen=True)
class TorchConvolution:
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
        maps = as_maps(rows, self.side)
        reach = self.side + 2 * self.padding - weight.shape[-1]
        to_output = as_maps(gradient, reach // self.stride + 1)
        geometry = (2 * [self.stride], 2 * [self.padding], [1, 1], False, [0, 0], self.groups)
        to_maps, to_weight, _ = torch.ops.aten.convolution_backward.default(
            to_output, maps, weight, None, *geometry, [wanted, True, False]
        )
        if not wanted:
            return gradient.new_empty(0), to_weight
        to_rows = as_rows(to_maps)
        return (to_rows if into is None else into.add_(to_rows)), to_weight


def matrix_convolution(layer: nn.Conv2d, side: int) -> "MatrixConvolution | None":
    """Return the convolution of a 3x3 layer, or None where torch's is as quick.

    The rule was measured. A matrix does as many multiplications as there are pairs of pixels, a
    convolution only nine an output pixel.
    """
    groups, stride = layer.groups, layer.stride[0]
    width = layer.in_channels // groups
    out = (side - 1) // stride + 1
    pixels, seen = side * side, out * out
    pairs = pixels * seen * width
    few = seen == 1 or (pixels <= 4 and width <= 16)
    small = pairs * layer.out_channels <= SMALL_MATRICES and groups == 1
    if not (few or small):
        return None
    return MatrixConvolution(pixels, seen, groups, _taps(side, stride))


def _taps(side: int, stride: int) -> Tensor:
    """One where a tap leads from an input pixel to an output pixel: (9, pixels * seen)."""
    single_pixels = torch.eye(side * side).view(-1, 1, side, side)
    seen = F.unfold(single_pixels, 3, padding=1, stride=stride)  # pixels, taps, seen pixels
    return seen.transpose(0, 1).reshape(TAPS, -1)


@dataclass(frozen=True, eq=False)
class MatrixConvolution:
    """A 3x3 convolution of maps of a few pixels, as a product with a matrix for each group.

    On a map of one pixel eight of the nine taps see padding only; on 2x2 pixels every output pixel
    sees every input pixel. So the matrix has a block for each pair of an input and an output pixel:
    no padding, and the speed of matrix products. Shapes below name groups g, and the channels of a
    group i and o.
    """

    pixels: int
    seen: int
    groups: int
    taps: Tensor

    def forward(self, rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        parts = torch.bmm(self._packed(rows, self.pixels), self._matrices(weight))
        result = self._unpacked(parts, self.seen)
        return result if bias is None else result.add_(bias)

    def backward(
        self, gradient: Tensor, rows: Tensor, weight: Tensor, wanted: bool, into: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        packed = self._packed(gradient, self.seen)
        products = torch.bmm(self._packed(rows, self.pixels).transpose(1, 2), packed)
        to_weight = self._to_weight(products, weight)
        if not wanted:
            return gradient.new_empty(0), to_weight
        parts = torch.bmm(packed, self._matrices(weight).transpose(1, 2))
        to_rows = self._unpacked(parts, self.pixels)
        return (to_rows if into is None else into.add_(to_rows)), to_weight

    def _packed(self, rows: Tensor, pixels: int) -> Tensor:
        """Rows (n * pixels, channels) to (g, n, pixels * channels of a group)."""
        apart = rows.view(-1, pixels, self.groups, rows.shape[1] // self.groups)
        return apart.permute(2, 0, 1, 3).flatten(2)

    def _unpacked(self, parts: Tensor, pixels: int) -> Tensor:
        g, n, columns = parts.shape
        apart = parts.view(g, n, pixels, columns // pixels).permute(1, 2, 0, 3)
        return apart.reshape(n * pixels, -1)

    def _matrices(self, weight: Tensor) -> Tensor:
        """Weight (groups * o, i, 3, 3) to (g, pixels * i, seen * o)."""
        o, i = weight.shape[0] // self.groups, weight.shape[1]
        if self.pixels == 1:
            return weight[:, :, 1, 1].reshape(-1, o, i).transpose(1, 2)
        pairs = (weight.reshape(-1, TAPS) @ self.taps.to(weight)).view(
            -1, o, i, self.pixels, self.seen
        )
        return pairs.permute(0, 3, 2, 4, 1).reshape(-1, self.pixels * i, self.seen * o)

    def _to_weight(self, matrices: Tensor, weight: Tensor) -> Tensor:
        """The transpose of `_matrices`: what each weight did, summed over pairs of pixels."""
        o, i = weight.shape[0] // self.groups, weight.shape[1]
        apart = matrices.view(-1, self.pixels, i, self.seen, o).permute(0, 4, 2, 1, 3)
        if self.pixels == 1:
            result = torch.zeros_like(weight)
            result[:, :, 1, 1] = apart.reshape(-1, i)
            return result
        pairs = apart.reshape(-1, self.pixels * self.seen)
        return pairs.mm(self.taps.to(weight).t()).view_as(weight)
