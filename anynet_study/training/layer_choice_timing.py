"""How long layers and conversions take on a device."""

import time

import torch
from torch import nn

from anynet_study.design_space.layers import IMAGE_CHANNELS
from anynet_study.models.anynet import convolution
from anynet_study.models.rewrites import MiddleTap
from anynet_study.training.graphs import Body, Program
from anynet_study.training.layer_choice import ARRANGEMENTS, Arrangement, Layer, Maps
from anynet_study.training.layer_choice_network import Arranged, brought

#: Timings of which the shortest counts, each of so many repetitions.
ROUNDS, REPEATS = 3, 5
#: Seconds after which a round is the last: what takes long is told apart soon.
ENOUGH = 0.05


def candidates(device: torch.device) -> tuple[Arrangement, ...]:
    """The arrangements that a device computes in without detours."""
    if device.type != "cuda" or torch.cuda.is_bf16_supported(including_emulation=False):
        return ARRANGEMENTS
    return tuple(one for one in ARRANGEMENTS if one.dtype == torch.float32)


def layer_body(layer: Layer, arrangement: Arrangement, device: torch.device) -> Body:
    """A pass forward and backward of one layer, to be repeated."""
    maps, groups = layer.maps, layer.groups
    unit = convolution(maps.channels, layer.width, layer.kernel, layer.stride, groups)
    plain = unit[0]
    assert isinstance(plain, nn.Conv2d)
    if layer.middle_tap:
        unit[0] = MiddleTap(plain)
    arranged = Arranged(unit, arrangement).to(device)
    x = _random(maps, arrangement, device)
    inputs: list[torch.Tensor] = list(arranged.parameters())
    if maps.channels != IMAGE_CHANNELS:  # images have no gradients
        inputs.append(x.requires_grad_())

    def body() -> None:
        y = arranged(x).relu_()
        torch.autograd.grad(y, inputs, torch.ones_like(y))

    return body


def conversion_body(maps: Maps, now: Arrangement, then: Arrangement, device: torch.device) -> Body:
    """A conversion there and back."""
    x = _random(maps, now, device)

    def body() -> None:
        brought(brought(x, then), now)

    return body


def seconds_of(body: Body, device: torch.device) -> float:
    """Of one run of `body`, which on a GPU is a CUDA graph: its start takes no time."""
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


def _random(maps: Maps, arrangement: Arrangement, device: torch.device) -> torch.Tensor:
    shape = (maps.images, maps.channels, maps.side, maps.side)
    return brought(torch.randn(shape, device=device), arrangement)
