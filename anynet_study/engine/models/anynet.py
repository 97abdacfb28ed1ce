"""The torch module of an Architecture: stem, stages of blocks, head."""

import math

import torch
from torch import Tensor, nn

from anynet_study.design_space import IMAGE_CHANNELS, STEMS, Architecture


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
    """A linear layer whose weights have any values until `build` draws them; see `Convolution`."""

    def reset_parameters(self) -> None:
        """Do nothing."""


class Average(nn.Module):
    """Maps (n, channels, height, width) to the mean of each, (n, channels), at least float32."""

    def forward(self, maps: Tensor) -> Tensor:
        return maps.mean(dim=(2, 3), dtype=_at_least_float32(maps))


class GeneralisedMean(nn.Module):
    """Maps (n, channels, height, width) to the p-mean of each, (n, channels); p is learned.

    Radenović et al. 2019, "Fine-tuning CNN image retrieval with no human annotation", section 3.2.
    p of 1 is the average, and the larger it is, the nearer to the maximum.
    """

    #: Values are at least this: of a map of zeros, no power has a gradient.
    LEAST = 1e-6

    def __init__(self) -> None:
        super().__init__()
        self.power = nn.Parameter(torch.tensor(3.0))

    def forward(self, maps: Tensor) -> Tensor:
        values = maps.to(_at_least_float32(maps)).clamp(min=self.LEAST)
        # Of shares of the largest: no power of them is too large, and not all are too small.
        largest = values.detach().amax(dim=(2, 3), keepdim=True)
        means: Tensor = (values / largest).pow(self.power).mean(dim=(2, 3)).pow(1.0 / self.power)
        return means * largest[:, :, 0, 0]


class Stem(nn.Sequential):
    """A normed convolution with a ReLU, and a max pool if there is one."""

    def forward(self, images: Tensor) -> Tensor:
        layer, *pools = self
        maps: Tensor = layer(images, relu=True)
        for pool in pools:
            maps = pool(maps)
        return maps


def _stem(name: str, width: int) -> Stem:
    stem = STEMS[name]
    layers: list[nn.Module] = [convolution(IMAGE_CHANNELS, width, stem.kernel, stem.stride)]
    if stem.pool_stride is not None:
        layers.append(nn.MaxPool2d(kernel_size=3, stride=stem.pool_stride, padding=1))
    return Stem(*layers)


def _stage(architecture: Architecture, stage: int, w_in: int) -> nn.Sequential:
    first = _block(architecture, stage, w_in, architecture.strides[stage])
    w_out = architecture.widths[stage]
    others = [_block(architecture, stage, w_out, 1) for _ in range(1, architecture.depths[stage])]
    return nn.Sequential(first, *others)


def _block(architecture: Architecture, stage: int, w_in: int, stride: int) -> nn.Module:
    w_out = architecture.widths[stage]
    if architecture.block != "bottleneck":
        return {"basic": Basic, "vanilla": Vanilla}[architecture.block](w_in, w_out, stride)
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


class Bottleneck(nn.Module):
    """A residual bottleneck block: relu(shortcut(x) + f(x)).

    f is a 1x1 convolution to the bottleneck width, a 3x3 in groups (with the stride), and a 1x1
    to the block's width. With `w_excitation` channels, squeeze-and-excitation follows the 3x3.
    """

    def __init__(
        self,
        w_in: int,
        w_out: int,
        stride: int,
        w_bottleneck: int,
        groups: int,
        w_excitation: int = 0,
    ) -> None:
        super().__init__()
        self.squeeze = convolution(w_in, w_bottleneck, kernel=1)
        self.spatial = convolution(w_bottleneck, w_bottleneck, 3, stride, groups)
        self.excitation = (
            SqueezeExcitation(w_bottleneck, w_excitation) if w_excitation else nn.Identity()
        )
        self.expand = convolution(w_bottleneck, w_out, kernel=1)
        self.shortcut = _shortcut(w_in, w_out, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = self.excitation(self.spatial(self.squeeze(x, relu=True), relu=True))
        z: Tensor = self.expand(y, self.shortcut(x), relu=True)
        return z


class Basic(nn.Module):
    """A residual basic block: relu(shortcut(x) + f(x)), f = two 3x3 convolutions."""

    def __init__(self, w_in: int, w_out: int, stride: int) -> None:
        super().__init__()
        self.first = convolution(w_in, w_out, 3, stride)
        self.second = convolution(w_out, w_out, 3)
        self.shortcut = _shortcut(w_in, w_out, stride)

    def forward(self, x: Tensor) -> Tensor:
        z: Tensor = self.second(self.first(x, relu=True), self.shortcut(x), relu=True)
        return z


class Vanilla(nn.Module):
    """Two 3x3 convolutions without a shortcut."""

    def __init__(self, w_in: int, w_out: int, stride: int) -> None:
        super().__init__()
        self.first = convolution(w_in, w_out, 3, stride)
        self.second = convolution(w_out, w_out, 3)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.second(self.first(x, relu=True), relu=True)
        return y


class SqueezeExcitation(nn.Module):
    """Scales each channel by a number in (0, 1) that two layers make of all channels' means.

    Hu et al. 2018, "Squeeze-and-excitation networks", section 3; its convolutions have biases.
    The maps may have any precision; the few numbers in between are at least float32.
    """

    def __init__(self, width: int, w_inside: int) -> None:
        super().__init__()
        self.reduce = Convolution(width, w_inside, kernel_size=1)
        self.expand = Convolution(w_inside, width, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        means = x.mean(dim=(2, 3), keepdim=True, dtype=_at_least_float32(x))
        scale: Tensor = self.expand(self.reduce(means).relu_())
        return x * scale.sigmoid_().to(x.dtype)


class Convolution(nn.Conv2d):
    """A convolution whose weights have any values until `build` draws them.

    Torch's own initialisation would be thrown away, takes most of the time of building a network,
    and draws from the global generator.
    """

    def reset_parameters(self) -> None:
        """Do nothing."""


class NormedConvolution(nn.Sequential):
    """A convolution and its batch norm, with the residual sum and the ReLU behind them, if any."""

    def forward(self, x: Tensor, residual: Tensor | None = None, relu: bool = False) -> Tensor:
        convolution, norm = self
        y: Tensor = norm(convolution(x))
        if residual is not None:
            y = y + residual
        return y.relu_() if relu else y


def convolution(
    w_in: int, w_out: int, kernel: int, stride: int = 1, groups: int = 1
) -> NormedConvolution:
    """Return a convolution that keeps the map's size (over stride), and its batch norm."""
    padding = kernel // 2
    layer = Convolution(w_in, w_out, kernel, stride, padding, groups=groups, bias=False)
    return NormedConvolution(layer, nn.BatchNorm2d(w_out))


def layers_by_side(network: AnyNet, resolution: int) -> dict[NormedConvolution, int]:
    """Each normed convolution, and the side of the maps that it is given, in pixels.

    For images of `resolution` pixels; from the stem to the last stage.
    """
    found: dict[NormedConvolution, int] = {}
    side = resolution
    blocks = (block for stage in network.stages for block in stage.children())
    for module in (network.stem, *blocks):
        entered = side
        for name, layer in module.named_children():
            if name == "shortcut" and isinstance(layer, NormedConvolution):
                found[layer] = entered
            elif isinstance(layer, NormedConvolution):
                found[layer] = side
                convolution = layer[0]
                assert isinstance(convolution, nn.Conv2d)
                side = (side - 1) // convolution.stride[0] + 1
            elif isinstance(layer, nn.MaxPool2d):
                side = (side - 1) // 2 + 1
    return found


def _shortcut(w_in: int, w_out: int, stride: int) -> nn.Module:
    """The identity where the shape stays the same; otherwise a strided 1x1 convolution."""
    same_shape = stride == 1 and w_in == w_out
    return nn.Identity() if same_shape else convolution(w_in, w_out, 1, stride)


def _at_least_float32(x: Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)
