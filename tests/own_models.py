"""Networks of a user's own, for images of few pixels, and functions that make none."""

import random

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F


def plain(classes: int) -> nn.Module:
    """Two convolutions, one of them depthwise, with dropout."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8),
        nn.ReLU(),
        nn.Conv2d(8, 12, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(12, classes),
    )


class Transformer(nn.Module):
    """A tiny vision transformer, whose position embedding has a place for each patch."""

    def __init__(self, classes: int, resolution: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, stride=4)
        self.positions = nn.Parameter(0.02 * torch.randn(1, (resolution // 4) ** 2, 16))
        self.mix = nn.Linear(16, 48)
        self.head = nn.Linear(16, classes)

    def forward(self, images: Tensor) -> Tensor:
        tokens = self.patches(images).flatten(2).transpose(1, 2) + self.positions
        queries, keys, values = self.mix(tokens).chunk(3, dim=-1)
        tokens = tokens + F.scaled_dot_product_attention(queries, keys, values)
        logits: Tensor = self.head(tokens.mean(dim=1))
        return logits


def transformer(classes: int, resolution: int) -> nn.Module:
    return Transformer(classes, resolution)


def convolutional(classes: int) -> nn.Module:
    """No linear layer: its head is a convolution."""
    return nn.Sequential(nn.Conv2d(3, classes, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())


class Functional(nn.Module):
    """What it does is not all in its modules."""

    def __init__(self, classes: int, stride: int = 1) -> None:
        super().__init__()
        self.weight = nn.Parameter(0.1 * torch.randn(6, 3, 3, 3))
        self.unused = nn.Linear(2, 2)
        self.head = nn.Linear(6, classes)
        self.stride = stride

    def forward(self, images: Tensor) -> Tensor:
        maps = F.conv2d(images, self.weight, stride=self.stride).relu()
        logits: Tensor = self.head(maps.mean(dim=(2, 3)))
        return logits


def functional(classes: int) -> nn.Module:
    return Functional(classes)


def strided(classes: int) -> nn.Module:
    """The parameters of `functional`, but another network."""
    return Functional(classes, stride=2)


def drawn_by_numpy(classes: int) -> nn.Module:
    """All weights are constant but those that NumPy draws."""
    network = Functional(classes)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.fill_(0.1)
        network.weight.fill_(np.random.rand())  # noqa: NPY002
    return network


def drawn_by_python(classes: int) -> nn.Module:
    """The same, by Python."""
    network = drawn_by_numpy(classes)
    with torch.no_grad():
        network.weight.fill_(random.random())
    return network


class Spectrum(nn.Module):
    """It multiplies and adds in a way that is not counted."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.head = nn.LazyLinear(classes) if classes < 0 else nn.Linear(3, classes)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.head(torch.fft.rfft2(images).abs().mean(dim=(2, 3)))
        return logits


def spectrum(classes: int) -> nn.Module:
    return Spectrum(classes)


def raises(classes: int) -> nn.Module:
    raise RuntimeError("no such weights\nin the file")


def no_module(classes: int) -> object:
    return "resnet"


def too_many(classes: int) -> nn.Module:
    return plain(classes + 1)


def no_classes(resolution: int) -> nn.Module:
    return plain(10)


class Auxiliary(nn.Module):
    """Two outputs in training."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.network = plain(classes)

    def forward(self, images: Tensor) -> object:
        logits = self.network(images)
        return (logits, logits) if self.training else logits


def auxiliary(classes: int) -> nn.Module:
    return Auxiliary(classes)


def large_images(classes: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, 31), nn.Flatten(), nn.Linear(4, classes))


def nothing_to_train(classes: int) -> nn.Module:
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
