"""Convolutions of maps of one pixel, whose middle tap alone sees anything but padding."""

import torch
from torch import Tensor, nn

from anynet_study.models.anynet import AnyNet


class MiddleTap(nn.Conv2d):
    """A padded 3x3 convolution of one pixel: a matrix product for each group.

    In plain autograd: it runs under autocast and in a CUDA graph.
    """

    def __init__(self, layer: nn.Conv2d) -> None:
        widths = layer.in_channels, layer.out_channels
        super().__init__(
            *widths, 3, layer.stride[0], 1, groups=layer.groups, bias=False, device="meta"
        )
        self.weight = layer.weight

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Maps (n, groups * i, 1, 1) to (n, groups * o, 1, 1); there is no bias."""
        vectors = input.reshape(len(input), self.groups, -1).transpose(0, 1)
        matrices = weight[:, :, 1, 1].unflatten(0, (self.groups, -1)).transpose(1, 2)
        return torch.bmm(vectors, matrices).transpose(0, 1).reshape(len(input), -1, 1, 1)


def use_middle_taps(network: AnyNet, resolution: int) -> None:
    """Put a MiddleTap in the place of each convolution that sees one pixel only."""
    side = resolution
    for part in (network.stem, *(block for stage in network.stages for block in stage.children())):
        side = _in_layers(part, side)


def _in_layers(part: nn.Module, side: int) -> int:
    """Rewrite the layers of a block but its shortcut; the side of the maps that leave it."""
    for name, layer in part.named_children():
        if name != "shortcut" and isinstance(layer, nn.Sequential):
            convolution = layer[0]
            assert isinstance(convolution, nn.Conv2d)
            if side == 1 and convolution.kernel_size == (3, 3):
                layer[0] = MiddleTap(convolution)
            side = (side - 1) // convolution.stride[0] + 1
        elif isinstance(layer, nn.MaxPool2d):
            side = (side - 1) // 2 + 1
    return side
