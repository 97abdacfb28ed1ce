"""3x3 convolutions of maps of a few pixels, as products with matrices.

On a map of one pixel eight of the nine taps see padding only; on 2x2 pixels every output pixel sees
every input pixel. So each group's convolution is a product with a matrix that has a block for each
pair of an input and an output pixel: without padding, and at the speed of matrix products.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

TAPS = 9
#: Elements of a layer's matrices up to which they are quick to make.
SMALL_MATRICES = 24_000


def tiny(layer: nn.Conv2d, side: int) -> "Tiny | None":
    """Return the operator of a 3x3 layer, or None where torch's convolution is as quick.

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
    return Tiny(pixels, seen, groups, _taps(side, stride))


def _taps(side: int, stride: int) -> Tensor:
    """One where a tap leads from an input pixel to an output pixel: (9, pixels * seen)."""
    out = (side - 1) // stride + 1
    found = torch.zeros(3, 3, side, side, out, out)
    for y in range(out):
        for x in range(out):
            for i in range(3):
                for j in range(3):
                    row, column = y * stride + i - 1, x * stride + j - 1
                    if 0 <= row < side and 0 <= column < side:
                        found[i, j, row, column, y, x] = 1
    return found.view(TAPS, -1)


@dataclass(frozen=True, eq=False)
class Tiny:
    """See the module. Shapes below name groups g, and the channels of a group i and o."""

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
