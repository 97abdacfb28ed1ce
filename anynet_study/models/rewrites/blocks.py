"""The stem, the blocks and the average of an AnyNet on rows (n * side * side, channels)."""

import torch
from torch import Tensor, nn

from anynet_study.models.blocks import Basic, Bottleneck, SqueezeExcitation, Vanilla
from anynet_study.models.rewrites.excitation import RowExcitation
from anynet_study.models.rewrites.layer import RowLayer
from anynet_study.models.rewrites.part import Gradients, Part, Tape
from anynet_study.models.rewrites.rows import as_maps, as_rows

POOL = [3, 3], [2, 2], [1, 1], [1, 1], False


class RowStem(Part):
    """Images (n, 3, side, side) to rows."""

    def __init__(self, stem: nn.Sequential, side: int) -> None:
        super().__init__()
        layer = RowLayer(stem[0], side)
        self.add_module("0", layer)  # its name in the plain stem
        self.layers = (layer,)
        self.pools = len(stem) > 2
        self.side_in = side
        self.side = (layer.side - 1) // 2 + 1 if self.pools else layer.side

    def forward(self, images: Tensor) -> Tensor:
        if images.shape[2:] != (self.side_in, self.side_in):
            raise ValueError(
                f"images of {tuple(images.shape[2:])} pixels; accelerated for {self.side_in}"
            )
        return super().forward(as_rows(images))

    def run(self, rows: Tensor, tape: Tape | None) -> Tensor:
        (layer,) = self.layers
        rows = layer.run(rows, tape, relu=not self.pools)
        if not self.pools:
            return rows
        pooled, places = torch.ops.aten.max_pool2d_with_indices(as_maps(rows, layer.side), *POOL)
        # The largest of a window is the same before and after the ReLU, and there are fewer.
        y = as_rows(pooled).relu_()
        if tape is not None:
            tape += (rows, places, y)
        return y

    def reverse(self, gradient: Tensor, tape: Tape, gradients: Gradients, wanted: bool) -> Tensor:
        (layer,) = self.layers
        if self.pools:
            y, places, rows = (tape.pop() for _ in range(3))
            gradient = torch.ops.aten.threshold_backward(gradient, y, 0)
            maps = torch.ops.aten.max_pool2d_with_indices_backward(
                as_maps(gradient, self.side), as_maps(rows, layer.side), *POOL, places
            )
            gradient = as_rows(maps)
        return layer.reverse(gradient, tape, gradients, relu=not self.pools, wanted=wanted)[1]


class RowBottleneck(Part):
    """`Bottleneck` on rows."""

    def __init__(self, block: Bottleneck, side: int) -> None:
        super().__init__()
        self.squeeze = RowLayer(block.squeeze, side)
        self.spatial = RowLayer(block.spatial, side)
        self.side = self.spatial.side
        excitation = block.excitation
        self.excitation = (
            RowExcitation(excitation, self.side)
            if isinstance(excitation, SqueezeExcitation)
            else None
        )
        self.expand = RowLayer(block.expand, self.side)
        self.shortcut = _shortcut(block.shortcut, side)

    def run(self, rows: Tensor, tape: Tape | None) -> Tensor:
        residual = rows if self.shortcut is None else self.shortcut.run(rows, tape, relu=False)
        y = self.spatial.run(self.squeeze.run(rows, tape), tape)
        if self.excitation is not None:
            y = self.excitation.run(y, tape)
        return self.expand.run(y, tape, residual=residual)

    def reverse(self, gradient: Tensor, tape: Tape, gradients: Gradients, wanted: bool) -> Tensor:
        to_residual, to_y = self.expand.reverse(gradient, tape, gradients, residual=True)
        if self.excitation is not None:
            to_y = self.excitation.reverse(to_y, tape, gradients)
        _, to_y = self.spatial.reverse(to_y, tape, gradients)
        if self.shortcut is None:
            return self.squeeze.reverse(to_y, tape, gradients, into=to_residual)[1]
        _, to_rows = self.squeeze.reverse(to_y, tape, gradients)
        return self.shortcut.reverse(to_residual, tape, gradients, relu=False, into=to_rows)[1]


class RowBasic(Part):
    """`Basic` or `Vanilla` on rows."""

    def __init__(self, block: Basic | Vanilla, side: int) -> None:
        super().__init__()
        self.first = RowLayer(block.first, side)
        self.second = RowLayer(block.second, self.first.side)
        self.side = self.first.side
        self.residual = isinstance(block, Basic)
        self.shortcut = _shortcut(block.shortcut, side) if isinstance(block, Basic) else None

    def run(self, rows: Tensor, tape: Tape | None) -> Tensor:
        residual = rows if self.residual else None
        if self.shortcut is not None:
            residual = self.shortcut.run(rows, tape, relu=False)
        return self.second.run(self.first.run(rows, tape), tape, residual=residual)

    def reverse(self, gradient: Tensor, tape: Tape, gradients: Gradients, wanted: bool) -> Tensor:
        to_residual, to_y = self.second.reverse(gradient, tape, gradients, residual=self.residual)
        into = to_residual if self.residual and self.shortcut is None else None
        _, to_rows = self.first.reverse(to_y, tape, gradients, into=into)
        if self.shortcut is not None:
            self.shortcut.reverse(to_residual, tape, gradients, relu=False, into=to_rows)
        return to_rows


def _shortcut(shortcut: nn.Module, side: int) -> RowLayer | None:
    return None if isinstance(shortcut, nn.Identity) else RowLayer(shortcut, side)


class RowAverage(nn.Module):
    """Rows to the mean of each map, (n, channels)."""

    def __init__(self, side: int) -> None:
        super().__init__()
        self.pixels = side * side

    def forward(self, rows: Tensor) -> Tensor:
        return rows if self.pixels == 1 else rows.view(-1, self.pixels, rows.shape[1]).mean(dim=1)
