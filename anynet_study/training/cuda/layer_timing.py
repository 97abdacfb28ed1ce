"""Seconds of layers and conversions on this device: measured once per shape, kept on disk."""

import json
import math
import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch
from torch import nn

from anynet_study.design_space import IMAGE_CHANNELS
from anynet_study.files import replacing
from anynet_study.models import AnyNet, MiddleTap, convolution
from anynet_study.training.cuda.failures import is_out_of_memory
from anynet_study.training.cuda.graphs import Body, Program
from anynet_study.training.cuda.layer_formats import (
    FORMATS,
    PLAIN,
    Format,
    FormattedLayer,
    Layer,
    Maps,
    cheapest,
    layer_groups,
    use_formats,
)

#: Of `ROUNDS` timings the shortest counts; each is of `REPEATS` repetitions.
ROUNDS, REPEATS = 3, 5
#: Seconds after which a round is the last: what takes long is told apart soon.
ENOUGH = 0.05


def format_layers(
    network: AnyNet, images: int, resolution: int, device: torch.device, folder: Path | None = None
) -> None:
    """Let each layer of `network` run in the format that is quickest on `device`, in place.

    `images` of `resolution` pixels make a batch. Where layers cannot be measured, all are float32
    and NCHW, and a message says so. `folder` keeps the measurements; by default the user's cache.
    """
    groups = layer_groups(network, images, resolution)
    try:
        known = Measured(device, (folder or cache_folder()) / f"layers-{identity(device)}.json")
        with _aside(device):
            path = cheapest(
                groups, candidates(device), known.layer_seconds, known.conversion_seconds
            )
        known.save()
    except (RuntimeError, MemoryError) as error:
        reason = str(error).partition("\n")[0][:200]
        print(f"layers are float32, they could not be measured: {reason}", file=sys.stderr)
        path = (PLAIN,) * len(groups)
    chosen = zip(groups, path, strict=True)
    use_formats(network, {name: found for group, found in chosen for name in group.names})


class Measured:
    """Seconds by shape, from a file or the device.

    Shapes count as one whose channels differ by less than a fifth and are aligned alike: all of a
    population are known after a few of its networks. Several processes may share the file: each
    replaces it whole, with what it has read and measured itself; what is lost is measured anew.
    """

    def __init__(self, device: torch.device, path: Path) -> None:
        self.device, self.path = device, path
        self._known = self._read()
        self._new: dict[str, float] = {}

    def layer_seconds(self, layer: Layer, layer_format: Format) -> float:
        """Seconds of both passes, with batch norm and ReLU; infinite if the layer cannot run so."""
        key = (
            f"{_key(layer.maps)} to {_width(layer.width)} {layer.kernel}x{layer.kernel}"
            f"/{layer.stride} of {_width(layer.maps.channels // layer.groups)}"
            f"{' by its middle tap' if layer.middle_tap else ''}: {layer_format}"
        )
        return self._seconds(key, lambda: layer_body(layer, layer_format, self.device))

    def conversion_seconds(self, maps: Maps, now: Format, then: Format) -> float:
        """Seconds to convert maps in the forward pass and their gradients in the backward pass."""
        if now == then:
            return 0.0
        # There and back: the same in both directions.
        first, second = sorted((now, then), key=str)
        key = f"{_key(maps)}: {first} and {second}"
        return self._seconds(key, lambda: conversion_body(maps, first, second, self.device))

    def save(self) -> None:
        """Keep what is new; where that is impossible it is measured again another time."""
        if not self._new:
            return
        try:
            with replacing(self.path) as temporary:
                temporary.write_text(json.dumps(self._read() | self._new, indent=0, sort_keys=True))
        except OSError as error:
            print(f"measurements of layers are not kept: {error}", file=sys.stderr)

    def _seconds(self, key: str, make: Callable[[], Body]) -> float:
        if key in self._known:
            return self._known[key]
        try:
            self._known[key] = self._new[key] = seconds_of(make(), self.device)
        except RuntimeError as error:
            if is_out_of_memory(error):
                raise
            self._known[key] = math.inf  # not for others: the reason may pass
        return self._known[key]

    def _read(self) -> dict[str, float]:
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            known = {str(key): float(value) for key, value in content.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}
        return {key: value for key, value in known.items() if 0 < value < math.inf}


def _aside(device: torch.device) -> AbstractContextManager[object]:
    """On a GPU the current stream, or another one if that is the default: it records no graphs.

    A run's own stream is the right one, before its own graphs: torch gives streams out again, and
    the end of one graph takes the workspaces of all that were recorded on its stream.
    """
    if device.type != "cuda":
        return nullcontext()
    if torch.cuda.current_stream(device) != torch.cuda.default_stream(device):
        return nullcontext()
    return torch.cuda.stream(torch.cuda.Stream(device))


def cache_folder() -> Path:
    """Where programs of this user keep what they can make again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anynet-study"


def identity(device: torch.device) -> str:
    """What measurements depend on besides shapes, as part of a file's name."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    text = f"{name}-torch-{torch.__version__}-cudnn-{torch.backends.cudnn.version()}"
    return re.sub(r"[^\w.+-]+", "-", text)


def _key(maps: Maps) -> str:
    return f"{maps.images} x {_width(maps.channels)} x {maps.side}"


def _width(channels: int) -> str:
    """Half an octave, and up to which power of two it is divisible."""
    return f"{round(2 * math.log2(channels))}a{math.gcd(channels, 8)}"


def candidates(device: torch.device) -> tuple[Format, ...]:
    """The formats that a device computes in without detours."""
    if device.type != "cuda" or torch.cuda.is_bf16_supported(including_emulation=False):
        return FORMATS
    return tuple(known for known in FORMATS if known.dtype == torch.float32)


def layer_body(layer: Layer, layer_format: Format, device: torch.device) -> Body:
    """A pass forward and backward of one layer, to be repeated."""
    maps, groups = layer.maps, layer.groups
    unit = convolution(maps.channels, layer.width, layer.kernel, layer.stride, groups)
    plain = unit[0]
    assert isinstance(plain, nn.Conv2d)
    if layer.middle_tap:
        unit[0] = MiddleTap(plain)
    formatted = FormattedLayer(unit, layer_format).to(device)
    x = _random(maps, layer_format, device)
    inputs: list[torch.Tensor] = list(formatted.parameters())
    if maps.channels != IMAGE_CHANNELS:  # images have no gradients
        inputs.append(x.requires_grad_())

    def body() -> None:
        y = formatted(x).relu_()
        torch.autograd.grad(y, inputs, torch.ones_like(y))

    return body


def conversion_body(maps: Maps, now: Format, then: Format, device: torch.device) -> Body:
    """A conversion there and back."""
    x = _random(maps, now, device)

    def body() -> None:
        now.of(then.of(x))

    return body


def seconds_of(body: Body, device: torch.device) -> float:
    """Seconds of one run of `body`; on a GPU it is a CUDA graph, whose start takes no time."""
    program = Program(graph=device.type == "cuda")

    def now() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    def repeated() -> float:
        began = now()
        for _ in range(REPEATS):
            program(body, list)
        return (now() - began) / REPEATS

    program(body, list)
    rounds = [repeated()]
    while len(rounds) < ROUNDS and sum(rounds) * REPEATS < ENOUGH:
        rounds.append(repeated())
    return min(rounds)


def _random(maps: Maps, layer_format: Format, device: torch.device) -> torch.Tensor:
    shape = (maps.images, maps.channels, maps.side, maps.side)
    return layer_format.of(torch.randn(shape, device=device))
