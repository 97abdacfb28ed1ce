"""3x3 convolutions of maps of a few pixels, as products with matrices.

On a map of one pixel eight of the nine taps see padding only; on 2x2 pixels every output pixel sees
every input pixel. So each group's convolution is a product with a matrix that has a block for each
pair of an input and an output pixel: without padding, and at the speed of matrix products.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

TAPS = 9
#: Columns that a block's matrix has at least, where there are enough groups to fill it: narrow
#: matrix products are slow, so the groups of a block share one matrix that is zero between them.
BLOCK_COLUMNS = 16
#: Elements of a layer's matrices up to which they are quick to make.
SMALL_MATRICES = 24_000


def tiny(layer: nn.Conv2d, side: int) -> "Tiny | None":
    """Return the operator of a 3x3 layer, or None where torch's convolution is as quick.

    The rule was measured. A matrix does as many multiplications as there are pairs of pixels, a
    convolution only nine an output pixel, but the latter slowly where groups are narrow, and
    depthwise convolutions have kernels of their own.
    """
    groups, stride = layer.groups, layer.stride[0]
    width = layer.in_channels // groups
    out = (side - 1) // stride + 1
    pixels, seen = side * side, out * out
    pairs = pixels * seen * width
    few = seen == 1 or (pixels <= 4 and width <= 16)
    narrow = pairs <= 512 and 1 < width <= 4
    small = pairs * layer.out_channels <= SMALL_MATRICES and groups == 1
    if not (few or narrow or small):
        return None
    merged = next(
        k
        for k in range(1, groups + 1)
        if groups % k == 0 and (k * width * seen >= BLOCK_COLUMNS or k == groups)
    )
    return Tiny(pixels, seen, groups, merged, _taps(side, stride))


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
    """See the module. Blocks are `merged` groups; shapes below name them b, m, and the channels
    of a group i and o."""

    pixels: int
    seen: int
    groups: int
    merged: int
    taps: Tensor

    def forward(self, rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        blocks = torch.bmm(self._packed(rows, self.pixels), self._matrices(weight))
        result = self._unpacked(blocks, self.seen)
        return result if bias is None else result.add_(bias)

    def backward(
        self, gradient: Tensor, rows: Tensor, weight: Tensor, wanted: bool, into: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        packed = self._packed(gradient, self.seen)
        products = torch.bmm(self._packed(rows, self.pixels).transpose(1, 2), packed)
        to_weight = self._to_weight(products, weight)
        if not wanted:
            return gradient.new_empty(0), to_weight
        blocks = torch.bmm(packed, self._matrices(weight).transpose(1, 2))
        to_rows = self._unpacked(blocks, self.pixels)
        return (to_rows if into is None else into.add_(to_rows)), to_weight

    def _packed(self, rows: Tensor, pixels: int) -> Tensor:
        """Rows (n * pixels, channels) to blocks (b, n, pixels * channels of a block)."""
        blocks = self.groups // self.merged
        apart = rows.view(-1, pixels, blocks, rows.shape[1] // blocks).permute(2, 0, 1, 3)
        return apart.flatten(2)

    def _unpacked(self, blocks: Tensor, pixels: int) -> Tensor:
        b, n, columns = blocks.shape
        apart = blocks.view(b, n, pixels, columns // pixels).permute(1, 2, 0, 3)
        return apart.reshape(n * pixels, -1)

    def _matrices(self, weight: Tensor) -> Tensor:
        """Weight (groups * o, i, 3, 3) to (b, pixels * m * i, seen * m * o)."""
        o, i = weight.shape[0] // self.groups, weight.shape[1]
        if self.pixels == 1:
            pairs = weight[:, :, 1, 1].reshape(-1, self.merged, o, i, 1, 1)
        else:
            pairs = weight.reshape(-1, TAPS) @ self.taps.to(weight)
            pairs = pairs.view(-1, self.merged, o, i, self.pixels, self.seen)
        if self.merged == 1:
            return pairs[:, 0].permute(0, 3, 2, 4, 1).reshape(-1, self.pixels * i, self.seen * o)
        blocks = pairs.new_zeros(len(pairs), self.pixels, self.merged, i, self.seen, self.merged, o)
        blocks.diagonal(0, 2, 5).copy_(pairs.permute(0, 4, 3, 5, 2, 1))
        return blocks.view(-1, self.pixels * self.merged * i, self.seen * self.merged * o)

    def _to_weight(self, matrices: Tensor, weight: Tensor) -> Tensor:
        """The transpose of `_matrices`: what each weight did, summed over pairs of pixels."""
        o, i, m = weight.shape[0] // self.groups, weight.shape[1], self.merged
        blocks = matrices.view(-1, self.pixels, m, i, self.seen, m, o).diagonal(0, 2, 5)
        pairs = blocks.permute(0, 5, 4, 2, 1, 3).reshape(-1, self.pixels * self.seen)
        if self.pixels == 1:
            result = torch.zeros_like(weight)
            result[:, :, 1, 1] = pairs.view(-1, i)
            return result
        return pairs.mm(self.taps.to(weight).t()).view_as(weight)
