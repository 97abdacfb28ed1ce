"""The torch module of an Architecture."""

import math

import torch
from torch import Tensor, nn

from anynet_study.design_space.architecture import Architecture
from anynet_study.design_space.complexity import IMAGE_CHANNELS
from anynet_study.design_space.networks import STEMS


def build(
    architecture: Architecture, classes: int, generator: torch.Generator | None = None
) -> "AnyNet":
    """Return the network, initialised: images (n, 3, side, side) to logits (n, classes).

    The weights are a function of `generator`'s state alone; without one, torch's global generator
    is drawn from. Any side from 1 pixel works; in training mode a batch of one image fails on
    maps of one pixel, where batch norm has nothing to normalise over.
    """
    # Built without memory first: torch's own initialisation would be thrown away, and would draw
    # from the global generator.
    with torch.device("meta"):
        network = AnyNet(architecture, classes)
    network.to_empty(device="cpu")
    for module in network.modules():
        _initialise(module, generator)
    return network


class AnyNet(nn.Module):
    """Stem, four stages of residual bottleneck blocks, head; see `Architecture`."""

    def __init__(self, architecture: Architecture, classes: int) -> None:
        super().__init__()
        widths = (architecture.stem_width, *architecture.widths)
        self.stem = _stem(architecture.stem, architecture.stem_width)
        self.stages = nn.Sequential(
            *(_stage(architecture, stage, widths[stage]) for stage in range(len(widths) - 1))
        )
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, images: Tensor) -> Tensor:
        maps = self.stages(self.stem(images))
        logits: Tensor = self.head(maps.mean(dim=(2, 3)))
        return logits


class Block(nn.Module):
    """A residual bottleneck block: relu(shortcut(x) + f(x)).

    f is a 1x1 convolution to the bottleneck width, a 3x3 in groups (with the stride), and a 1x1
    to the block's width. The shortcut is the identity where the shape stays the same.
    """

    def __init__(self, w_in: int, w_out: int, w_bottleneck: int, groups: int, stride: int) -> None:
        super().__init__()
        self.squeeze = _convolution(w_in, w_bottleneck, kernel=1)
        self.spatial = _convolution(w_bottleneck, w_bottleneck, 3, stride, groups)
        self.expand = _convolution(w_bottleneck, w_out, kernel=1)
        same_shape = stride == 1 and w_in == w_out
        self.shortcut = nn.Identity() if same_shape else _convolution(w_in, w_out, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = self.spatial(self.squeeze(x).relu_()).relu_()
        z: Tensor = self.expand(y) + self.shortcut(x)
        return z.relu_()


def _stem(name: str, width: int) -> nn.Sequential:
    stem = STEMS[name]
    layers = [_convolution(IMAGE_CHANNELS, width, stem.kernel, stem.stride), nn.ReLU(inplace=True)]
    if stem.pool_stride is not None:
        layers.append(nn.MaxPool2d(kernel_size=3, stride=stem.pool_stride, padding=1))
    return nn.Sequential(*layers)


def _stage(architecture: Architecture, stage: int, w_in: int) -> nn.Sequential:
    w_out = architecture.widths[stage]
    shape = (w_out, architecture.bottleneck_widths[stage], architecture.groups[stage])
    first = Block(w_in, *shape, architecture.strides[stage])
    others = [Block(w_out, *shape, stride=1) for _ in range(architecture.depths[stage] - 1)]
    return nn.Sequential(first, *others)


def _convolution(
    w_in: int, w_out: int, kernel: int, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    """Return a convolution that keeps the map's size (over stride), and its batch norm."""
    padding = kernel // 2
    convolution = nn.Conv2d(w_in, w_out, kernel, stride, padding, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(w_out))


def _initialise(module: nn.Module, generator: torch.Generator | None) -> None:
    """Normal weights as in the code the study extends (fan-out not divided by the groups)."""
    if isinstance(module, nn.Conv2d):
        fan_out = module.kernel_size[0] * module.kernel_size[1] * module.out_channels
        nn.init.normal_(module.weight, 0.0, math.sqrt(2.0 / fan_out), generator)
    elif isinstance(module, nn.BatchNorm2d):
        module.reset_parameters()
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, 0.0, 0.01, generator)
        nn.init.zeros_(module.bias)
