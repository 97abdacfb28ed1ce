"""Plain loops over candidates of the paper's space, to compare the vectorised sampler with.

`lean` is the least that a loop can do. `published` follows the steps of pycls' sweep tool
(`sweep_setup` with `list_sampler`s, and the `complexity` methods of its models), in our words:
every parameter is drawn with numpy and quantised in decimal arithmetic; the draw's text is looked
up among those before; the configuration is reset to its defaults, then to the sweep's, then
changed to what was drawn; widths and groups are made compatible; the network is walked layer by
layer, batch norm, pools and map sides included, each layer putting out a new record; and the
configuration is kept if its FLOPs are in the band. Configurations are yacs', as there, with as
many settings (about a hundred in 15 groups). `unconfigured` leaves them out.
"""

from decimal import Decimal
from typing import Any

import numpy as np
from yacs.config import CfgNode  # type: ignore[import-untyped]

BAND = (360e6, 400e6)
CLASSES = 1000
Record = dict[str, int]


def lean(candidates: int) -> int:
    """Draw candidates one at a time; return how many of them are in the band."""
    random = np.random.RandomState(0)
    in_band = 0
    for _ in range(candidates):
        depths = [_log_uniform(random, 1, 16, 1) for _ in range(4)]
        widths = [_log_uniform(random, 8, 1024, 8) for _ in range(4)]
        ratios = [int(random.choice([1, 2, 4])) for _ in range(4)]
        group_widths = [int(random.choice([1, 2, 4, 8, 16, 32])) for _ in range(4)]
        for i in range(4):
            v = widths[i] // ratios[i]
            group_widths[i] = min(group_widths[i], v)
            widths[i] = max(1, round(v / group_widths[i])) * group_widths[i] * ratios[i]
        flops, _, _ = _lean_complexity(list(zip(depths, widths, ratios, group_widths, strict=True)))
        in_band += BAND[0] <= flops <= BAND[1]
    return in_band


def _log_uniform(random: np.random.RandomState, low: int, high: int, step: int) -> int:
    drawn = np.exp(random.uniform(np.log(low - step / 2), np.log(high + step / 2)))
    return int(np.round(drawn / step)) * step


def _lean_complexity(stages: list[tuple[int, int, int, int]]) -> tuple[int, int, int]:
    flops = parameters = activations = 0

    def add(w_in: int, w_out: int, kernel: int, side: int, groups: int = 1) -> None:
        nonlocal flops, parameters, activations
        weights = kernel * kernel * w_in * w_out // groups
        flops += weights * side * side
        parameters += weights + 2 * w_out
        activations += w_out * side * side

    add(3, 32, 7, 112)
    side, w_in = 56, 32
    for stage, (d, w, b, g) in enumerate(stages):
        for block in range(d):
            out = side // 2 if stage and not block else side
            if out != side or w_in != w:
                add(w_in, w, 1, out)
            add(w_in, w // b, 1, side)
            add(w // b, w // b, 3, out, w // b // g)
            add(w // b, w, 1, out)
            side, w_in = out, w
    return flops + w_in * 1000, parameters + (w_in + 1) * 1000, activations + 1000


def _defaults() -> CfgNode:
    """As many settings as pycls has, those of the network among them; the others are of no use."""
    node = CfgNode()
    node.STAGES = CfgNode(
        {
            "BLOCK": "res_bottleneck_block",
            "DEPTHS": [],
            "WIDTHS": [],
            "STRIDES": [1, 2, 2, 2],
            "RATIOS": [],
            "GROUP_WIDTHS": [],
        }
    )
    node.STEM = CfgNode({"TYPE": "res_stem_in", "WIDTH": 32})
    for group in range(13):
        node[f"GROUP{group}"] = CfgNode(
            {"NAME": "name", "COUNT": 1, "RATE": 0.1, "ON": False, "SIZE": 224, "OF": [], "AT": 2}
        )
    return node


def published(candidates: int, configured: bool = True) -> int:
    """Draw candidates as a published tool does; return how many of them are in the band."""
    random = np.random.RandomState(0)
    kept: dict[str, Any] = {}
    defaults, of_sweep, configuration = _defaults(), _defaults(), _defaults()
    for _ in range(candidates):
        drawn = {
            "STAGES.DEPTHS": [_quantised_log_uniform(random, 1, 16, 1) for _ in range(4)],
            "STAGES.WIDTHS": [_quantised_log_uniform(random, 8, 1024, 8) for _ in range(4)],
            "STAGES.RATIOS": [_one_of(random, [1, 2, 4]) for _ in range(4)],
            "STAGES.GROUP_WIDTHS": [_one_of(random, [1, 2, 4, 8, 16, 32]) for _ in range(4)],
        }
        key = " ".join(f"{name} {value}" for name, value in drawn.items())
        if key in kept:
            continue
        if configured:
            configuration.merge_from_other_cfg(defaults)
            configuration.merge_from_other_cfg(of_sweep)
            configuration.merge_from_list([part for pair in drawn.items() for part in pair])
        else:
            configuration.STAGES.update({k.split(".")[1]: v for k, v in drawn.items()})
        _make_compatible(configuration.STAGES)
        if BAND[0] <= _complexity(configuration)["flops"] <= BAND[1]:
            kept[key] = configuration.clone()
    return len(kept)


def unconfigured(candidates: int) -> int:
    """Do as `published`, but set the network's few settings without a configuration system."""
    return published(candidates, configured=False)


def _quantised_log_uniform(random: np.random.RandomState, low: int, high: int, step: int) -> int:
    drawn = np.exp(random.uniform(np.log(low - step / 2), np.log(high + step / 2)))
    return int(Decimal(float(np.round(drawn / step))) * Decimal(str(step)))


def _one_of(random: np.random.RandomState, values: list[int]) -> int:
    return values[random.randint(len(values))]


def _make_compatible(stages: dict[str, Any]) -> None:
    inside = [int(max(1, w // b)) for w, b in zip(stages["WIDTHS"], stages["RATIOS"], strict=True)]
    groups = [int(min(g, v)) for g, v in zip(stages["GROUP_WIDTHS"], inside, strict=True)]
    inside = [max(g, int(round(v / g) * g)) for v, g in zip(inside, groups, strict=True)]
    stages["WIDTHS"] = [int(v * b) for v, b in zip(inside, stages["RATIOS"], strict=True)]
    stages["GROUP_WIDTHS"] = groups
    fits = zip(stages["WIDTHS"], stages["RATIOS"], groups, strict=True)
    assert all(w // b % g == 0 for w, b, g in fits)


def _complexity(configuration: dict[str, Any]) -> Record:
    stages = configuration["STAGES"]
    width_in = configuration["STEM"]["WIDTH"]
    count = {"height": 224, "width": 224, "flops": 0, "parameters": 0, "activations": 0}
    count = _norm(_convolution(count, 3, width_in, 7, 2), width_in)
    count = _pool(count, width_in, 2)
    names = ("DEPTHS", "WIDTHS", "STRIDES", "RATIOS", "GROUP_WIDTHS")
    for depth, width, stride, ratio, group in zip(*(stages[name] for name in names), strict=True):
        for number in range(depth):
            setting = {"ratio": ratio, "group": group}
            count = _block(count, width_in, width, 1 if number else stride, setting)
            width_in = width
    return _linear(count, width_in, CLASSES)


def _block(count: Record, w_in: int, w: int, stride: int, setting: dict[str, int]) -> Record:
    if w_in != w or stride != 1:
        height, width = count["height"], count["width"]
        count = _norm(_convolution(count, w_in, w, 1, stride), w)
        count["height"], count["width"] = height, width
    inside = round(w / setting["ratio"])
    groups = inside // setting["group"]
    count = _norm(_convolution(count, w_in, inside, 1), inside)
    count = _norm(_convolution(count, inside, inside, 3, stride, groups), inside)
    return _norm(_convolution(count, inside, w, 1), w)


def _convolution(
    count: Record, w_in: int, w: int, kernel: int, stride: int = 1, groups: int = 1
) -> Record:
    height, width = (count["height"] - 1) // stride + 1, (count["width"] - 1) // stride + 1
    return {
        "height": height,
        "width": width,
        "flops": count["flops"] + kernel**2 * w_in * w * height * width // groups,
        "parameters": count["parameters"] + kernel**2 * w_in * w // groups,
        "activations": count["activations"] + w * height * width,
    }


def _norm(count: Record, w: int) -> Record:
    return {**count, "parameters": count["parameters"] + 2 * w}


def _pool(count: Record, w: int, stride: int) -> Record:
    height, width = (count["height"] - 1) // stride + 1, (count["width"] - 1) // stride + 1
    return {**count, "height": height, "width": width}


def _linear(count: Record, w_in: int, w: int) -> Record:
    return {
        **count,
        "height": 1,
        "width": 1,
        "flops": count["flops"] + w_in * w,
        "parameters": count["parameters"] + (w_in + 1) * w,
        "activations": count["activations"] + w,
    }
