"""Choose how a convolution is computed in bfloat16: on a GPU as was measured once per model of GPU.

Maps enter channels last. In every way the result is the same function of the same weights, up to
rounding; only the order in memory and the width of groups differ. What is measured includes what a
way does to the maps, so the ways of one layer do not depend on its neighbours.
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from typing import Literal, get_args

import torch
from pydantic import TypeAdapter
from torch import Tensor, nn
from torch.nn import functional as F

#: channels first: of convolutions with one channel in a group these may be torch's own kernels.
#: joined groups: groups are `JOINED` channels wide; weights between those that were apart are zero.
#: float32: on a CPU; maps and weights are brought to it, and what comes out back to bfloat16.
Way = Literal["channels last", "channels first", "joined groups", "float32"]
JOINED = 32
#: What is done where nothing was measured and no timing speaks against it.
RULE: Way = "channels last"
#: Group widths at which channels last was slower: the one published timing of whole networks has
#: 0.66 of the speed with groups of 16, and 1.10 with groups of 8 (timm, RTX 3090, training).
RULE_FIRST = range(12, 24)


@dataclass(frozen=True)
class Timed:
    """A layer that was measured: a convolution of stride 1 from `channels` to as many."""

    kernel: int
    #: Channels of a group; of a 1x1 convolution all.
    group_width: int
    channels: int
    #: Of the maps, in pixels.
    side: int
    #: Of a pass forward and back, by way.
    seconds: dict[Way, float]


TABLE = TypeAdapter(tuple[Timed, ...])


def file_name(gpu: str) -> str:
    """Return the name of the table of a model of GPU, in the folder `measured`."""
    return re.sub(r"\W+", "_", gpu) + ".json"


def written(table: Sequence[Timed]) -> str:
    """A table as its file holds it."""
    return json.dumps([asdict(row) for row in table], indent=1) + "\n"


@cache
def table_of(gpu: str) -> tuple[Timed, ...]:
    """Return what was measured on GPUs of this model; empty where nothing was."""
    file = resources.files("anynet_study.engine.models") / "measured" / file_name(gpu)
    return TABLE.validate_json(file.read_bytes()) if gpu and file.is_file() else ()


def way_for(layer: nn.Conv2d, side: int, table: Sequence[Timed]) -> Way:
    """The fastest way in the most similar row of `table`; by a rule if there is no row.

    `side`: of the maps that enter, in pixels. Similar are rows of the same kernel, by the ratios of
    group widths, sides and channels, group widths first.
    """
    kernel, group = layer.kernel_size[0], layer.in_channels // layer.groups
    ways = ways_of(layer)

    def distance(row: Timed) -> tuple[float, float]:
        ratios = (row.side / side, row.channels / layer.in_channels)
        of_group = abs(math.log(row.group_width / group)) if kernel > 1 else 0.0
        return of_group, sum(abs(math.log(ratio)) for ratio in ratios)

    rows = [row for row in table if row.kernel == kernel]
    if rows:
        nearest = min(rows, key=distance)
        return min(ways, key=lambda way: nearest.seconds.get(way, math.inf))
    return "channels first" if layer.groups > 1 and group in RULE_FIRST else RULE


def way_on_cpu(layer: nn.Conv2d) -> Way:
    """Float32 where oneDNN has no kernel in bfloat16: of narrow groups it then takes a plain loop.

    Of groups of 1 and 2 channels, and of 4 with a stride, these took up to 55 times as long (torch
    2.13, AVX-512 with bfloat16).
    """
    group = layer.in_channels // layer.groups
    narrow = group <= 2 or (group == 4 and layer.stride[0] > 1)
    return "float32" if narrow and layer.kernel_size[0] > 1 else RULE


def ways_of(layer: nn.Conv2d) -> tuple[Way, ...]:
    """The ways that a GPU has for a layer: groups can be joined where there are narrow ones."""
    return get_args(Way)[: 3 if _joined_by(layer) > 1 else 2]


def convolve(layer: nn.Conv2d, maps: Tensor, weight: Tensor, way: Way) -> Tensor:
    """The convolution of `layer` of maps (n, channels, height, width) with this `weight`."""
    if way == "channels first":
        maps, weight = maps.contiguous(), weight.contiguous()
    if way == "float32":
        whole: Tensor = layer._conv_forward(maps.float(), weight.float(), None)
        return whole.to(maps.dtype)
    if way != "joined groups":
        # What the layer does with an input and weights: a MiddleTap does something else.
        made: Tensor = layer._conv_forward(maps, weight, None)
        return made
    factor = _joined_by(layer)
    weight = joined(weight, layer.groups, factor)
    return F.conv2d(maps, weight, None, layer.stride, layer.padding, 1, layer.groups // factor)


def joined(weight: Tensor, groups: int, factor: int) -> Tensor:
    """Weights (out, width, k, k) of `groups` groups as those of `factor` times fewer and wider.

    The result is (out, factor * width, k, k), channels last.
    """
    out, width, *kernel = weight.shape
    apart = weight.view(groups // factor, factor, out // groups, width, *kernel)
    # (groups, factor out, width out, factor in, width in, k, k), zero where the factors differ.
    wide = torch.diag_embed(apart.movedim(1, -1), dim1=1, dim2=3)
    return wide.reshape(out, factor * width, *kernel).contiguous(memory_format=torch.channels_last)


def _joined_by(layer: nn.Conv2d) -> int:
    """Return how many groups are joined to one: a divisor of their number, up to `JOINED`
    channels.
    """
    width, groups = layer.in_channels // layer.groups, layer.groups
    most = min(groups, JOINED // width) if layer.kernel_size[0] > 1 else 1
    return max((k for k in range(1, most + 1) if groups % k == 0), default=1)
