"""How long norms and convolutions of the paper's band take in each way.

Those of convolutions are the table of a model of GPU, written as
`anynet_study/engine/models/convolution_ways.py` reads it: the file is to be copied to
`anynet_study/engine/models/measured/`.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from statistics import median

import numpy as np
import torch
from torch import Tensor, nn

from anynet_study.core.files import write_text
from anynet_study.design_space import Architecture, DesignSpace, Networks, layers
from anynet_study.engine.models import processor
from anynet_study.engine.models.bfloat16 import Normalise, norm_by_torch
from anynet_study.engine.models.convolution_ways import (
    Timed,
    Way,
    convolve,
    file_name,
    way_for,
    ways_of,
    written,
)
from anynet_study.engine.training.graphs import cuda_graph
from benchmarks.serving import BATCH
from benchmarks.training.task import BAND

from .parts import Row, Setup, normed, off_typical

#: Passes of one graph at most, for its start takes as long as a small layer; and the elements of
#: maps that they read in all, at most, but for a few passes.
PASSES, ELEMENTS, FEWEST = 50, 1 << 28, 5
#: Side of maps at both sizes of images, and channels.
SIDES, CHANNELS = (2, 4, 8, 16, 32, 7, 14, 28, 56), (64, 256)
GROUP_WIDTHS = (1, 2, 4, 8, 16, 32)
#: Kernel and group width of each kind of layer; 0: all channels.
KINDS = [(1, 0), *product([3], GROUP_WIDTHS)]
#: Elements of the largest maps measured: larger ones take as much longer as they are larger.
LARGEST = 64 << 20


def measured(setup: Setup) -> Iterator[Row]:
    """Each kind of layer in each way, and what the fastest gains; the table is a file."""
    batch, repeats = (2, 1) if setup.quick else (BATCH, 5)
    sides, channels = ((4,), (64,)) if setup.quick else (SIDES, CHANNELS)
    table, file = list[Timed](), file_name(processor(setup.device.type))
    for kernel, group in KINDS:
        began = time.perf_counter()
        for side, width in product(sides, channels):
            row = Timed(kernel, group or width, width, side, {})
            layer = layer_of(row, setup.device)
            fewer = min(batch, LARGEST // (width * side**2))
            maps = torch.randn(fewer, width, side, side, device=setup.device)
            ways = ways_of(layer)
            times = {way: seconds_of_convolution(layer, maps, way, repeats) for way in ways}
            table.append(replace(row, seconds=times))
        write_text(setup.out / file, written(table))  # what there is if time runs out
        yield Row(f"seconds for {_name(kernel, group)}", round(time.perf_counter() - began, 1))
    for resolution, small in ((32, True), (224, False)):
        chosen = [row for row in table if (row.side in (2, 4, 8, 16, 32)) == small or setup.quick]
        yield from _gains(chosen, resolution)
    yield Row("the table, for models/measured", file)


def _name(kernel: int, group: int) -> str:
    return f"groups of {group}" if kernel == 3 else "1x1"


def layer_of(row: Timed, device: torch.device) -> nn.Conv2d:
    """The layer that a row of the table is of."""
    groups = row.channels // row.group_width
    sizes = row.channels, row.channels, row.kernel
    return nn.Conv2d(*sizes, padding=row.kernel // 2, groups=groups, bias=False, device=device)


def _gains(table: list[Timed], resolution: int) -> Iterator[Row]:
    """By kind, how many times longer the rule takes than the fastest way, and in all."""
    by_rule, fastest = (defaultdict[tuple[int, int], float](float) for _ in range(2))
    best = dict[tuple[int, int], Counter[Way]]()
    for row in table:
        kind = (row.kernel, row.group_width if row.kernel > 1 else 0)
        rule = way_for(layer_of(row, torch.device("meta")), row.side, ())
        way = min(row.seconds, key=lambda it: row.seconds[it])
        area = row.channels * row.side**2
        by_rule[kind] += row.seconds[rule] / area
        fastest[kind] += row.seconds[way] / area
        best.setdefault(kind, Counter())[way] += 1
    for kernel, group in KINDS:
        kind = kernel, group
        ratio, ((way, _),) = by_rule[kind] / fastest[kind], best[kind].most_common(1)
        yield Row(f"{resolution} px, {_name(kernel, group)}", f"{ratio:.2f} x, mostly {way}")
    weights = activations(resolution)
    whole, quick = (sum(weights[it] * of[it] for it in KINDS) for of in (by_rule, fastest))
    gain = round(whole / quick, 3)
    yield Row(f"{resolution} px, times as fast as by the rule", gain, "1.2 to 1.6 at 224 px")


def norms(setup: Setup) -> Iterator[Row]:
    """Norms and ReLUs of a typical network of the band, forward and back, in bfloat16."""
    setup.needs_gpu()
    from anynet_study.engine.models.fused_norms import norm_sum_relu

    sampled = DesignSpace.anynetx().sample(3, flops=BAND, seed=0)
    typical = min(sampled, key=off_typical)
    assert isinstance(typical, Architecture)
    for resolution in (32, 224):
        found = []
        for what, way in (
            ("torch's operators", norm_by_torch),
            ("kernels in Triton", norm_sum_relu),
        ):
            times = [
                number * seconds_of_norm(way, channels, side, setup.device)
                for (channels, side), number in normed(typical, resolution).items()
            ]
            found.append(1000 * sum(times))
            yield Row(f"{resolution} px, ms, {what}", round(found[-1], 3))
        times_as_fast = found[0] / found[1]
        reached = setup.judged(times_as_fast >= 1.5)
        yield Row(
            f"{resolution} px, times as fast", round(times_as_fast, 2), "at least 1.5", reached
        )


def seconds_of_norm(way: Normalise, channels: int, side: int, device: torch.device) -> float:
    norm = nn.BatchNorm2d(channels, device=device)
    maps = torch.randn(BATCH, channels, side, side, device=device)
    maps = maps.to(torch.bfloat16, memory_format=torch.channels_last).requires_grad_()
    gradient = torch.randn_like(maps)

    def one_pass() -> None:
        made = way(maps, norm, None, True)
        torch.autograd.grad(made, (maps, norm.weight, norm.bias), gradient)

    return seconds(one_pass, maps, 5)


def seconds_of_convolution(layer: nn.Conv2d, maps: Tensor, way: Way, repeats: int) -> float:
    """Of a pass forward and back, in bfloat16 and from maps channels last."""
    maps = maps.to(torch.bfloat16, memory_format=torch.channels_last).requires_grad_()
    gradient = torch.randn_like(maps)
    weight = layer.weight.to(torch.bfloat16, memory_format=torch.channels_last)
    weight = weight.detach().requires_grad_()

    def one_pass() -> None:
        made = convolve(layer, maps, weight, way)
        # As the norm behind it takes them.
        made = made.contiguous(memory_format=torch.channels_last)
        torch.autograd.grad(made, (maps, weight), gradient)

    return seconds(one_pass, maps, repeats)


def seconds(one_pass: Callable[[], None], maps: Tensor, repeats: int) -> float:
    """Of a pass over these maps; a median."""
    passes = max(FEWEST, min(PASSES, ELEMENTS // maps.numel())) if maps.is_cuda else 1

    def all_passes() -> None:
        for _ in range(passes):
            one_pass()

    found = []
    stream = torch.cuda.Stream() if maps.is_cuda else None
    if stream is not None:
        stream.wait_stream(torch.cuda.current_stream())  # on which the maps are made
    with torch.cuda.stream(stream):
        all_passes()
        run = cuda_graph(all_passes).replay if maps.is_cuda else all_passes
        for _ in range(repeats):
            began = time.perf_counter()
            run()
            if maps.is_cuda:
                torch.cuda.synchronize()
            found.append((time.perf_counter() - began) / passes)
    return median(found)


def activations(resolution: int) -> Counter[tuple[int, int]]:
    """Output elements of 200 networks of the band, by kind, that a layer's share of time follows.

    Maps of one pixel are left out: the engine has matrices there.
    """
    found: Counter[tuple[int, int]] = Counter()
    (group,) = DesignSpace.anynetx().sample(200, flops=BAND, seed=0).groups
    assert isinstance(group.networks, Networks)
    for layer in layers(group.networks, resolution)[1:]:
        outputs = np.where(np.asarray(layer.area) > 1, layer.activations(), 0)
        for kernel, group_width in KINDS:
            # A group width between two is counted for the lower.
            of_width = np.asarray(layer.width_in) // group_width == 1 if kernel == 3 else True
            if layer.kernel == kernel:
                found[kernel, group_width] += int((outputs * of_width).sum())
    return found
