"""How else a device could compute the convolutions of the paper's band than by the engine's rule.

The rule is bfloat16 with channels last for all of them. A part of `benchmarks.gpu`.
"""

import time
from collections import Counter
from itertools import product
from statistics import median

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from anynet_study.design_space import DesignSpace, Networks, layers
from anynet_study.training.graphs import cuda_graph
from benchmarks.training.task import BAND

#: By way the numbers (on a GPU float32 is TF32) and the order in memory; the first is the rule.
#: Joined groups are `JOINED` channels wide: weights between those that were apart are zero.
WAYS = {
    "bfloat16, channels last": (torch.bfloat16, torch.channels_last),
    "bfloat16": (torch.bfloat16, torch.contiguous_format),
    "float32": (torch.float32, torch.contiguous_format),
    "float32, channels last": (torch.float32, torch.channels_last),
    "joined groups": (torch.bfloat16, torch.channels_last),
}
JOINED = 32
#: Passes of one graph.
PASSES = 50
#: Channels of all layers measured, and by side of the images that of the maps.
WIDTH, SIDES = 96, {32: 4, 224: 28}
#: Kernel and group width of each kind of layer.
KINDS = [(1, WIDTH), *product([3], [1, 2, 4, 8, 16, 32])]


def joined(weight: Tensor, width: int = JOINED) -> Tensor:
    """(channels, width, k, k) from (channels, group width, k, k): the same convolution."""
    channels, group = weight.shape[:2]
    first = torch.arange(channels, device=weight.device) // group * group % width
    inputs = first[:, None] + torch.arange(group, device=weight.device)
    wider = weight.new_zeros(channels, width, *weight.shape[2:])
    return wider.scatter(1, inputs[:, :, None, None].expand_as(weight), weight)


def seconds(way: str, kind: tuple[int, int], maps: Tensor, repeats: int) -> float:
    """Of a pass forward and back: a median.

    On a GPU many passes are one graph: the start of a graph takes as long as a small layer.
    """
    (dtype, memory), (kernel, group) = WAYS[way], kind
    maps = maps.detach().to(dtype=dtype, memory_format=memory).requires_grad_()
    weight = torch.randn(WIDTH, group, kernel, kernel, device=maps.device, requires_grad=True)
    gradient = torch.randn_like(maps)

    def body() -> None:
        own = joined(weight) if way == "joined groups" else weight
        own = own.to(dtype, memory_format=memory)
        made = F.conv2d(maps, own, padding=kernel // 2, groups=WIDTH // own.shape[1])
        torch.autograd.grad(made, (maps, weight), gradient)

    passes = PASSES if maps.is_cuda else repeats

    def all_passes() -> None:
        for _ in range(passes):
            body()

    found = []
    stream = torch.cuda.Stream() if maps.is_cuda else None
    if stream is not None:
        stream.wait_stream(torch.cuda.current_stream())  # on which the maps are made
    with torch.cuda.stream(stream):
        for _ in range(3):
            body()
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

    Maps of up to four pixels are left out: the engine has matrices there.
    """
    found: Counter[tuple[int, int]] = Counter()
    (group,) = DesignSpace.anynetx().sample(200, flops=BAND, seed=0).groups
    assert isinstance(group.networks, Networks)
    for layer in layers(group.networks, resolution)[1:]:
        outputs = np.where(np.asarray(layer.area) > 4, layer.activations(), 0)
        for kind in KINDS:
            # A group width between two is counted for the lower.
            of_width = np.asarray(layer.width_in) // kind[1] == 1 if kind[0] == 3 else True
            if layer.kernel == kind[0]:
                found[kind] += int((outputs * of_width).sum())
    return found
