"""Seconds of layers and conversions on this device: measured once a shape, kept on disk."""

import json
import math
import os
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch

from anynet_study.files import replacing
from anynet_study.models import AnyNet
from anynet_study.training.fallback import is_out_of_memory
from anynet_study.training.graphs import Body
from anynet_study.training.layer_choice import PLAIN, Arrangement, Layer, Maps, cheapest
from anynet_study.training.layer_choice_network import apply, steps_of
from anynet_study.training.layer_choice_timing import (
    candidates,
    conversion_body,
    layer_body,
    seconds_of,
)

Timer = Callable[[Body, torch.device], float]


def arrange_layers(
    network: AnyNet, images: int, resolution: int, device: torch.device, folder: Path | None = None
) -> None:
    """Let each layer of `network` run as is quickest on `device`, in place.

    `images` of `resolution` pixels make a batch. Where it cannot be measured all is float32,
    NCHW, which a message tells. `folder`: of the measurements; by default the user's cache.
    """
    steps = steps_of(network, images, resolution)
    try:
        known = Measured(device, (folder or cache_folder()) / f"layers-{identity(device)}.json")
        with _aside(device):
            path = cheapest(
                steps, candidates(device), known.layer_seconds, known.conversion_seconds
            )
        known.save()
    except (RuntimeError, MemoryError) as error:
        reason = str(error).partition("\n")[0][:200]
        print(f"layers are float32, they could not be measured: {reason}", file=sys.stderr)
        path = (PLAIN,) * len(steps)
    chosen = zip(steps, path, strict=True)
    apply(network, {name: how for step, how in chosen for name in step.names})


class Measured:
    """Seconds by shape, from a file or the device.

    Shapes count as one whose channels differ by less than a fifth and are aligned alike: all of a
    population are known after a few of its networks. Several processes may share the file: each
    replaces it whole, with what it has read and measured itself; what is lost is measured anew.
    """

    def __init__(self, device: torch.device, path: Path, timer: Timer | None = None) -> None:
        self.device, self.path = device, path
        self.timer = timer or seconds_of
        self._known = self._read()
        self._new: dict[str, float] = {}

    def layer_seconds(self, layer: Layer, arrangement: Arrangement) -> float:
        """Of the passes forward and backward, with batch norm and ReLU; infinite if it cannot."""
        key = (
            f"{_key(layer.maps)} to {_width(layer.width)} {layer.kernel}x{layer.kernel}"
            f"/{layer.stride} of {_width(layer.maps.channels // layer.groups)}"
            f"{' by its middle tap' if layer.middle_tap else ''}: {arrangement}"
        )
        return self._seconds(key, lambda: layer_body(layer, arrangement, self.device))

    def conversion_seconds(self, maps: Maps, now: Arrangement, then: Arrangement) -> float:
        """Of maps, forward, and of their gradients, backward."""
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
            self._known[key] = self._new[key] = self.timer(make(), self.device)
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
