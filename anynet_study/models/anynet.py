"""The torch module of an Architecture."""

import math

import torch
from torch import Tensor, nn

from anynet_study.design_space.architecture import Architecture
from anynet_study.design_space.layers import IMAGE_CHANNELS
from anynet_study.design_space.networks import STEMS
from anynet_study.models.blocks import Basic, Bottleneck, Vanilla, convolution


def build(
    architecture: Architecture, classes: int, generator: torch.Generator | None = None
) -> "AnyNet":
    """Return the network, initialised: images (n, 3, side, side) to logits (n, classes).

    The weights are a function of `generator`'s state alone; without one, torch's global generator
    is drawn from. Any side from 1 pixel works; in training mode a batch of one image fails on
    maps of one pixel, where batch norm has nothing to normalise over.
    """
    network = AnyNet(architecture, classes)
    for module in network.modules():
        _initialise(module, generator)
    return network


class AnyNet(nn.Module):
    """Stem, stages of blocks, head; see `Architecture`. `build` gives the weights values."""

    def __init__(self, architecture: Architecture, classes: int) -> None:
        super().__init__()
        widths = (architecture.stem_width, *architecture.widths)
        self.stem: nn.Module = _stem(architecture.stem, architecture.stem_width)
        self.stages = nn.Sequential(
            *(_stage(architecture, stage, widths[stage]) for stage in range(len(widths) - 1))
        )
        self.pool: nn.Module = Average()
        self.head = Linear(widths[-1], classes)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.head(self.pool(self.stages(self.stem(images))))
        return logits


class Linear(nn.Linear):
    """With weights of any values, as `blocks.Convolution`."""

    def reset_parameters(self) -> None:
        """Do nothing."""


class Average(nn.Module):
    """Maps (n, channels, height, width) to the mean of each, (n, channels)."""

    def forward(self, maps: Tensor) -> Tensor:
        return maps.mean(dim=(2, 3))


def _stem(name: str, width: int) -> nn.Sequential:
    stem = STEMS[name]
    layers = [convolution(IMAGE_CHANNELS, width, stem.kernel, stem.stride), nn.ReLU(inplace=True)]
    if stem.pool_stride is not None:
        layers.append(nn.MaxPool2d(kernel_size=3, stride=stem.pool_stride, padding=1))
    return nn.Sequential(*layers)


def _stage(architecture: Architecture, stage: int, w_in: int) -> nn.Sequential:
    first = _block(architecture, stage, w_in, architecture.strides[stage])
    w_out = architecture.widths[stage]
    others = [_block(architecture, stage, w_out, 1) for _ in range(1, architecture.depths[stage])]
    return nn.Sequential(first, *others)


def _block(architecture: Architecture, stage: int, w_in: int, stride: int) -> nn.Module:
    w_out = architecture.widths[stage]
    if architecture.block == "basic":
        return Basic(w_in, w_out, stride)
    if architecture.block == "vanilla":
        return Vanilla(w_in, w_out, stride)
    se_ratio = architecture.se_ratio
    return Bottleneck(
        w_in,
        w_out,
        stride,
        architecture.bottleneck_widths[stage],
        architecture.groups[stage],
        max(1, round(se_ratio * w_in)) if se_ratio else 0,
    )


def _initialise(module: nn.Module, generator: torch.Generator | None) -> None:
    """Normal weights as in the code the study extends (fan-out not divided by the groups)."""
    if isinstance(module, nn.Conv2d):
        fan_out = module.kernel_size[0] * module.kernel_size[1] * module.out_channels
        nn.init.normal_(module.weight, 0.0, math.sqrt(2.0 / fan_out), generator)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.BatchNorm2d):
        module.reset_parameters()
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, 0.0, 0.01, generator)
        nn.init.zeros_(module.bias)
