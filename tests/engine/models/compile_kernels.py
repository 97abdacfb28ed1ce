"""Triton's own compiler and keys for the kernels of a GPU, on a machine that has none.

    python compile_kernels.py

Counts the variants that the kernels would be compiled for over sampled architectures, and makes
machine code of GPUs of architecture 80 and 90 for each kernel, for 90 in each of its ways. Prints
JSON: variants by kernel, under "counted", "80" and "90". A program of its own: what Triton's
interpreter has imported is never compiled.
"""

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

os.environ.pop("TRITON_INTERPRET", None)

import numpy as np
import torch
from torch import Tensor
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from anynet_study.design_space import Architecture, DesignSpace, layers
from anynet_study.engine.models import Backend, build, fused_norms, use_bfloat16

ARCHITECTURES, RESOLUTIONS, BATCHES = 15, (32, 224), (2, 256)
#: Architectures of which a whole network is trained and tested, and their images.
WHOLE, IMAGES, SIDE = 1, 4, 32
#: Residual and ReLU of the layers of blocks: the first ones, the shortcut, the last.
WAYS = ((False, True), (False, False), (True, True))
#: Of `fused_norms`, ALONE and LONGEST, so that a kernel makes all sums, adds some, or takes them.
KINDS = ((1, 1), (0, 1), (0, 0))
#: Channels that are no multiple of 16 whatever is taken together, and one alone.
WIDTHS = (7, 1)


class NoGpu:
    """What Triton asks of a driver before it runs anything."""

    def __init__(self, capability: int) -> None:
        self.get_current_target = lambda: GPUTarget("cuda", capability, 32)
        self.get_current_device = lambda: capability  # what is compiled is kept by device

    def get_current_stream(self, device: int) -> int:
        return 0


def main() -> None:
    found: dict[str, dict[str, set[str]]] = {"counted": {}, "80": {}, "90": {}}

    def hook(part: str) -> Callable[..., bool]:
        def seen(*, key: str, fn: Any, **_: object) -> bool:
            found[part].setdefault(fn.name, set()).add(key)
            return part == "counted"  # then nothing is compiled, and nothing run

        return seen

    driver.set_active(NoGpu(90))
    knobs.runtime.jit_cache_hook = hook("counted")
    sampled = list(DesignSpace.anynetx().sample(ARCHITECTURES, flops=(360e6, 400e6), seed=0))
    for maps in maps_of_layers(sampled):
        run_kernels(maps)
    for architecture in sampled[:WHOLE]:
        run_network(architecture)
    JITFunction.__getitem__ = _compile_only
    for capability, dtype, kinds in (
        (80, torch.float32, KINDS[-1:]),
        (90, torch.bfloat16, KINDS),
    ):
        driver.set_active(NoGpu(capability))
        knobs.runtime.jit_cache_hook = hook(str(capability))
        for fused_norms.ALONE, fused_norms.LONGEST in kinds:
            run_kernels(maps_of(48, dtype))
    for width in WIDTHS:
        run_kernels(maps_of(width, torch.bfloat16), WAYS[-1:])
    print(json.dumps({part: {name: len(it) for name, it in found[part].items()} for part in found}))


def maps_of(width: int, dtype: torch.dtype) -> Tensor:
    return torch.empty(2, 3, 3, width, dtype=dtype).permute(0, 3, 1, 2)


def _compile_only(kernel: Any, grid: Any) -> Any:
    return lambda *given, **keys: kernel.run(*given, grid=grid, warmup=True, **keys)


def maps_of_layers(sampled: list[Architecture]) -> Iterator[Tensor]:
    """Memory for what the convolutions of each architecture put out, in a batch of its own."""
    random, shapes = np.random.default_rng(0), set[tuple[int, int, int]]()
    for architecture in sampled:
        resolution, batch = int(random.choice(RESOLUTIONS)), int(random.integers(*BATCHES))
        for layer in layers(architecture.networks(), resolution):
            sizes = zip(
                *map(np.ravel, np.broadcast_arrays(layer.width_out, layer.area)), strict=True
            )
            shapes |= {(batch, channels, math.isqrt(area)) for channels, area in sizes}
    for batch, channels, side in sorted(shapes):
        yield torch.empty(batch, side, side, channels, dtype=torch.bfloat16).permute(0, 3, 1, 2)


def run_kernels(maps: Tensor, ways: Sequence[tuple[bool, bool]] = WAYS) -> None:
    """Forward in training and in evaluation, and backward, in each way that layers have."""
    numbers = torch.empty(maps.shape[1])
    for residual, relu in ways:
        given = maps, maps if residual else None, numbers, numbers, numbers.clone(), numbers.clone()
        for training in (True, False):
            fused_norms._forward(*given, 0.1, 1e-5, training, relu)
        fused_norms._backward(maps, maps, maps, *[numbers] * 4, relu, residual)


def run_network(architecture: Architecture) -> None:
    network = build(architecture, 10)
    use_bfloat16(network, SIDE, Backend("rewritten", "sm_90", 1, "cuda", triton=True))
    images = torch.randn(IMAGES, 3, SIDE, SIDE)
    network(images).sum().backward()
    with torch.no_grad():
        network.eval()(images)


if __name__ == "__main__":
    main()
