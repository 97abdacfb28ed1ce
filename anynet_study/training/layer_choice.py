"""In which precision and memory format each layer of a network runs: the cheapest way through."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Arrangement:
    """How maps lie in memory, and in which precision a layer computes on them."""

    dtype: torch.dtype
    channels_last: bool

    def __str__(self) -> str:
        precision = str(self.dtype).removeprefix("torch.")
        return f"{precision} {'NHWC' if self.channels_last else 'NCHW'}"


PLAIN = Arrangement(torch.float32, channels_last=False)
#: As batches of images are made.
IMAGES = Arrangement(torch.float32, channels_last=True)
#: Plain first: it is taken where nothing is better.
ARRANGEMENTS = (
    PLAIN,
    IMAGES,
    Arrangement(torch.bfloat16, channels_last=False),
    Arrangement(torch.bfloat16, channels_last=True),
)


@dataclass(frozen=True)
class Maps:
    """Square feature maps: (images, channels, side, side)."""

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


@dataclass(frozen=True)
class Step:
    """Layers that are arranged alike: one of a chain, and a shortcut that is added to it."""

    #: Names of modules.
    names: tuple[str, ...]
    layers: tuple[Layer, ...]
    #: Whether its output is what the next block begins with.
    ends_block: bool = True
    #: What the block began with, where that is brought along for a sum at its end.
    added: Maps | None = None


LayerSeconds = Callable[[Layer, Arrangement], float]
ConversionSeconds = Callable[[Maps, Arrangement, Arrangement], float]
#: Seconds so far, and what was chosen.
Path = tuple[float, tuple[Arrangement, ...]]


def cheapest(
    steps: Sequence[Step],
    candidates: Sequence[Arrangement],
    layer_seconds: LayerSeconds,
    conversion_seconds: ConversionSeconds,
) -> tuple[Arrangement, ...]:
    """The arrangement of each step, in order, with which all take least time in sum.

    A shortest path: what is to come depends only on how the maps lie now, and the block's input.
    Raises RuntimeError where no arrangement of some step takes a finite time.
    """
    best: dict[tuple[Arrangement, Arrangement], Path] = {(IMAGES, IMAGES): (0.0, ())}
    for step in steps:
        found: dict[tuple[Arrangement, Arrangement], Path] = {}
        for (entry, now), (seconds, path) in best.items():
            for then in candidates:
                total = seconds + conversion_seconds(step.layers[0].maps, now, then)
                total += sum(layer_seconds(layer, then) for layer in step.layers)
                if step.added is not None:
                    total += conversion_seconds(step.added, entry, then)
                key = (then if step.ends_block else entry, then)
                if total < found.get(key, (math.inf, ()))[0]:
                    found[key] = total, (*path, then)
        if not found:
            raise RuntimeError(f"{step.names[0]}: it runs in no arrangement")
        best = found
    return min(best.values(), key=lambda path: path[0])[1]


def output(layer: Layer) -> Maps:
    """The maps that leave a padded convolution."""
    maps, margin = layer.maps, 2 * (layer.kernel // 2) - layer.kernel
    return Maps(maps.images, layer.width, (maps.side + margin) // layer.stride + 1)
