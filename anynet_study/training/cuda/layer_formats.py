"""In which precision and memory format each layer of a network runs on a GPU.

The formats are chosen so that all layers together, with the conversions between them, take the
least time; the network keeps its weights and their names.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from anynet_study.design_space import IMAGE_CHANNELS
from anynet_study.models import AnyNet, Basic, Bottleneck, MiddleTap, Vanilla


@dataclass(frozen=True)
class Format:
    """How maps lie in memory, and in which precision a layer computes on them."""

    dtype: torch.dtype
    channels_last: bool

    def __str__(self) -> str:
        precision = str(self.dtype).removeprefix("torch.")
        return f"{precision} {'NHWC' if self.channels_last else 'NCHW'}"

    def of(self, tensor: Tensor) -> Tensor:
        """Return a tensor of four dimensions in this format: itself if it already is."""
        memory = torch.channels_last if self.channels_last else torch.contiguous_format
        return tensor.to(self.dtype, memory_format=memory)


PLAIN = Format(torch.float32, channels_last=False)
#: As batches of images are made.
IMAGES = Format(torch.float32, channels_last=True)
#: Plain first: it is taken where nothing is better.
FORMATS = (
    PLAIN,
    IMAGES,
    Format(torch.bfloat16, channels_last=False),
    Format(torch.bfloat16, channels_last=True),
)


@dataclass(frozen=True)
class Maps:
    """The shape of square feature maps: (images, channels, side, side)."""

    images: int
    channels: int
    side: int


@dataclass(frozen=True)
class Layer:
    """A convolution with its batch norm, on the maps that it is given."""

    maps: Maps
    width: int
    kernel: int
    stride: int
    groups: int
    #: Whether it is rewritten as a product of its middle taps.
    middle_tap: bool = False

    def output(self) -> Maps:
        """The maps that leave the padded convolution."""
        margin = 2 * (self.kernel // 2) - self.kernel
        side = (self.maps.side + margin) // self.stride + 1
        return Maps(self.maps.images, self.width, side)


@dataclass(frozen=True)
class LayerGroup:
    """Layers that have one format: one of a chain, and a shortcut that is added to it."""

    #: Names of modules.
    names: tuple[str, ...]
    layers: tuple[Layer, ...]
    #: Whether its output is what the next block begins with.
    ends_block: bool = True
    #: What the block began with, where that is brought along for a sum at its end.
    added: Maps | None = None


LayerSeconds = Callable[[Layer, Format], float]
ConversionSeconds = Callable[[Maps, Format, Format], float]


def cheapest(
    groups: Sequence[LayerGroup],
    candidates: Sequence[Format],
    layer_seconds: LayerSeconds,
    conversion_seconds: ConversionSeconds,
) -> tuple[Format, ...]:
    """Return the format of each group, in order, with which all take the least time in sum.

    A shortest path: what is to come depends only on the formats of the maps now and of the block's
    input. Raises RuntimeError where no format of some group takes a finite time.
    """
    #: Seconds so far and the formats chosen, by the formats of the block's input and of the maps.
    best: dict[tuple[Format, Format], tuple[float, tuple[Format, ...]]]
    best = {(IMAGES, IMAGES): (0.0, ())}
    for group in groups:
        found: dict[tuple[Format, Format], tuple[float, tuple[Format, ...]]] = {}
        for (entry, now), (seconds, path) in best.items():
            for then in candidates:
                total = seconds + conversion_seconds(group.layers[0].maps, now, then)
                total += sum(layer_seconds(layer, then) for layer in group.layers)
                if group.added is not None:
                    total += conversion_seconds(group.added, entry, then)
                key = (then if group.ends_block else entry, then)
                if total < found.get(key, (math.inf, ()))[0]:
                    found[key] = total, (*path, then)
        if not found:
            raise RuntimeError(f"{group.names[0]}: it runs in no format")
        best = found
    return min(best.values(), key=lambda path: path[0])[1]


# The layers of a network.


def layer_groups(network: AnyNet, images: int, resolution: int) -> list[LayerGroup]:
    """The network's convolutions in order, for `images` of `resolution` pixels at a time."""
    assert isinstance(network.stem, nn.Sequential)
    unit, _, *pools = network.stem
    first = _layer(unit, Maps(images, IMAGE_CHANNELS, resolution))
    groups, maps = [LayerGroup(("stem.0",), (first,))], first.output()
    for pool in pools:
        assert isinstance(pool, nn.MaxPool2d)
        assert isinstance(pool.stride, int)
        maps = Maps(images, maps.channels, (maps.side - 1) // pool.stride + 1)
    for number, stage in enumerate(network.stages):
        assert isinstance(stage, nn.Sequential)
        for place, block in enumerate(stage):
            groups += _of_block(block, f"stages.{number}.{place}", maps)
            maps = groups[-1].layers[0].output()
    return groups


def _of_block(block: nn.Module, name: str, maps: Maps) -> Iterator[LayerGroup]:
    assert isinstance(block, Bottleneck | Basic | Vanilla), "torch's own layers"
    bottleneck = isinstance(block, Bottleneck)
    chain = ["squeeze", "spatial", "expand"] if bottleneck else ["first", "second"]
    entry = maps
    for child in chain[:-1]:
        layer = _layer(block.get_submodule(child), maps)
        yield LayerGroup((f"{name}.{child}",), (layer,), ends_block=False)
        maps = layer.output()
    last = _layer(block.get_submodule(chain[-1]), maps)
    names = (f"{name}.{chain[-1]}",)
    if isinstance(block, Vanilla):
        yield LayerGroup(names, (last,))
        return
    plain = isinstance(block.shortcut, nn.Identity)
    layers = (last,) if plain else (last, _layer(block.shortcut, entry))
    yield LayerGroup((*names, f"{name}.shortcut"), layers, added=entry)


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


# The network in the formats that were chosen.


def use_formats(network: AnyNet, chosen: Mapping[str, Format]) -> None:
    """Let the modules that `layer_groups` names run in the formats `chosen`, in place.

    Parameters and statistics stay float32, in their own memory; logits are float32.
    """
    for name, layer_format in chosen.items():
        module = network.get_submodule(name)
        formatted = FormattedShortcut if isinstance(module, nn.Identity) else FormattedLayer
        network.set_submodule(name, formatted(module, layer_format))


class FormattedLayer(nn.Sequential):
    """A convolution and its batch norm that bring their input to their own format."""

    def __init__(self, unit: nn.Module, layer_format: Format) -> None:
        super().__init__(*unit.children())
        self.format = layer_format

    def forward(self, maps: Tensor) -> Tensor:
        convolution, norm = self
        assert isinstance(convolution, nn.Conv2d)
        # What the layer does with an input and weights, which a rewrite may have changed.
        y = convolution._conv_forward(
            self.format.of(maps), self.format.of(convolution.weight), None
        )
        normal: Tensor = norm(y)
        return normal


class FormattedShortcut(nn.Module):
    """An identity shortcut that brings its input to the format of the sum."""

    def __init__(self, _: nn.Module, layer_format: Format) -> None:
        super().__init__()
        self.format = layer_format

    def forward(self, maps: Tensor) -> Tensor:
        return self.format.of(maps)
