"""Squeeze-and-excitation on rows."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from anynet_study.models.blocks import SqueezeExcitation
from anynet_study.models.rewrites.matmul import outer
from anynet_study.models.rewrites.part import Gradients, Tape


class RowExcitation(nn.Module):
    """`SqueezeExcitation` on rows (n * side * side, channels)."""

    def __init__(self, layer: SqueezeExcitation, side: int) -> None:
        super().__init__()
        self.reduce = layer.reduce
        self.expand = layer.expand
        self.pixels = side * side

    def run(self, rows: Tensor, tape: Tape | None) -> Tensor:
        maps = rows.view(-1, self.pixels, rows.shape[1])
        means = maps.mean(dim=1)
        inside = F.linear(means, self.reduce.weight.flatten(1), self.reduce.bias).relu_()
        scale = F.linear(inside, self.expand.weight.flatten(1), self.expand.bias).sigmoid_()
        if tape is not None:
            tape += (rows, means, inside, scale)
        return (maps * scale[:, None]).view_as(rows)

    def reverse(self, gradient: Tensor, tape: Tape, gradients: Gradients) -> Tensor:
        scale, inside, means, rows = (tape.pop() for _ in range(4))
        to_maps = gradient.view(-1, self.pixels, rows.shape[1])
        to_scale = (to_maps * rows.view_as(to_maps)).sum(dim=1)
        to_expand = torch.ops.aten.sigmoid_backward(to_scale, scale)
        to_inside = _linear_backward(self.expand, to_expand, inside, gradients)
        to_reduce = torch.ops.aten.threshold_backward(to_inside, inside, 0)
        to_means = _linear_backward(self.reduce, to_reduce, means, gradients)
        to_rows = torch.addcmul(to_means[:, None] / self.pixels, to_maps, scale[:, None])
        return to_rows.view_as(rows)


def _linear_backward(
    layer: nn.Conv2d, gradient: Tensor, rows: Tensor, gradients: Gradients
) -> Tensor:
    """Return the gradient by the rows that the layer saw."""
    assert layer.bias is not None
    gradients[layer.weight] = outer(gradient, rows).view_as(layer.weight)
    gradients[layer.bias] = gradient.sum(0)
    return gradient.mm(layer.weight.flatten(1))
