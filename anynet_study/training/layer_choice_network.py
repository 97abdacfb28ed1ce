"""A network whose layers are arranged each in its own way, with the same weights and names."""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from anynet_study.design_space.layers import IMAGE_CHANNELS
from anynet_study.models import AnyNet
from anynet_study.models.anynet import Basic, Bottleneck, SqueezeExcitation, Vanilla
from anynet_study.models.rewrites import MiddleTap
from anynet_study.training.layer_choice import Arrangement, Layer, Maps, Step, output


def steps_of(network: AnyNet, images: int, resolution: int) -> list[Step]:
    """The network's convolutions in order, for `images` of `resolution` pixels at a time."""
    assert isinstance(network.stem, nn.Sequential)
    unit, _, *pools = network.stem
    first = _layer(unit, Maps(images, IMAGE_CHANNELS, resolution))
    steps, maps = [Step(("stem.0",), (first,))], output(first)
    for pool in pools:
        assert isinstance(pool, nn.MaxPool2d)
        assert isinstance(pool.stride, int)
        maps = Maps(images, maps.channels, (maps.side - 1) // pool.stride + 1)
    for number, stage in enumerate(network.stages):
        assert isinstance(stage, nn.Sequential)
        for place, block in enumerate(stage):
            steps += _block_steps(block, f"stages.{number}.{place}", maps)
            maps = output(steps[-1].layers[0])
    return steps


def _block_steps(block: nn.Module, name: str, maps: Maps) -> Iterator[Step]:
    assert isinstance(block, Bottleneck | Basic | Vanilla), "torch's own layers"
    bottleneck = isinstance(block, Bottleneck)
    chain = ["squeeze", "spatial", "expand"] if bottleneck else ["first", "second"]
    entry = maps
    for part in chain[:-1]:
        layer = _layer(block.get_submodule(part), maps)
        yield Step((f"{name}.{part}",), (layer,), ends_block=False)
        maps = output(layer)
    last = _layer(block.get_submodule(chain[-1]), maps)
    names = (f"{name}.{chain[-1]}",)
    if isinstance(block, Vanilla):
        yield Step(names, (last,))
        return
    plain = isinstance(block.shortcut, nn.Identity)
    layers = (last,) if plain else (last, _layer(block.shortcut, entry))
    yield Step((*names, f"{name}.shortcut"), layers, added=entry)


def _layer(unit: nn.Module, maps: Maps) -> Layer:
    convolution = unit.get_submodule("0")
    assert isinstance(convolution, nn.Conv2d)
    assert type(unit) is nn.Sequential, "torch's own layers"
    return Layer(
        maps,
        convolution.out_channels,
        convolution.kernel_size[0],
        convolution.stride[0],
        convolution.groups,
        isinstance(convolution, MiddleTap),
    )


def apply(network: AnyNet, chosen: Mapping[str, Arrangement]) -> None:
    """Let the modules of `steps_of` run as `chosen`, in place.

    Parameters and statistics stay float32, in their own memory; logits are float32.
    """
    for name, arrangement in chosen.items():
        module = network.get_submodule(name)
        kind = Brought if isinstance(module, nn.Identity) else Arranged
        network.set_submodule(name, kind(module, arrangement))
    excitations = [
        (name, module)
        for name, module in network.named_modules()
        if isinstance(module, SqueezeExcitation)
    ]
    for name, module in excitations:
        network.set_submodule(name, Excitation(module))
    network.pool = Average()


class Arranged(nn.Sequential):
    """A convolution and its batch norm that bring their input to their own arrangement."""

    def __init__(self, unit: nn.Module, arrangement: Arrangement) -> None:
        super().__init__(*unit.children())
        self.arrangement = arrangement

    def forward(self, maps: Tensor) -> Tensor:
        convolution, norm = self
        assert isinstance(convolution, nn.Conv2d)
        # What the layer does with an input and weights, which a rewrite may have changed.
        y = convolution._conv_forward(
            brought(maps, self.arrangement), brought(convolution.weight, self.arrangement), None
        )
        normal: Tensor = norm(y)
        return normal


class Brought(nn.Module):
    """An identity shortcut."""

    def __init__(self, _: nn.Module, arrangement: Arrangement) -> None:
        super().__init__()
        self.arrangement = arrangement

    def forward(self, maps: Tensor) -> Tensor:
        return brought(maps, self.arrangement)


class Excitation(nn.Module):
    """Squeeze-and-excitation of maps of any precision; its few numbers are float32."""

    def __init__(self, layer: SqueezeExcitation) -> None:
        super().__init__()
        self.reduce, self.expand = layer.reduce, layer.expand

    def forward(self, maps: Tensor) -> Tensor:
        means = maps.mean(dim=(2, 3), keepdim=True, dtype=torch.float32)
        scale: Tensor = self.expand(self.reduce(means).relu_()).sigmoid_()
        return maps * scale.to(maps.dtype)


class Average(nn.Module):
    """The mean of each map, (n, channels) float32."""

    def forward(self, maps: Tensor) -> Tensor:
        return maps.mean(dim=(2, 3), dtype=torch.float32)


def brought(tensor: Tensor, arrangement: Arrangement) -> Tensor:
    """A tensor of four dimensions in an arrangement; itself where it is so already."""
    last = torch.channels_last if arrangement.channels_last else torch.contiguous_format
    return tensor.to(arrangement.dtype, memory_format=last)
