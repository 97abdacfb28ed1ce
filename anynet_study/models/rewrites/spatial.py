"""Convolutions of rows by torch's kernels."""

from dataclasses import dataclass

import torch
from torch import Tensor

from anynet_study.models.rewrites.rows import as_maps, as_rows


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
        maps = as_maps(rows, self.side)
        reach = self.side + 2 * self.padding - weight.shape[-1]
        to_output = as_maps(gradient, reach // self.stride + 1)
        to_maps, to_weight, _ = torch.ops.aten.convolution_backward.default(
            to_output,
            maps,
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
