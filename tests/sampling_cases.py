"""Spaces and bands of all kinds, small enough for a plain loop over their candidates."""

from typing import Any

from anynet_study.design_space import DesignSpace

PAPER_BAND = (360e6, 400e6)
TOY = DesignSpace.anynetx(
    "cifar", depths=[1, 4], widths=[8, 64], group_widths=[1, 2, 4, 8], stem_width=16
)
#: A space of sixteen networks: each stage's group width is free.
TINY = DesignSpace.anynetx(depths=[1, 1], widths=[8, 8], bottleneck_ratios=[1], group_widths=[4, 8])
ALL_BANDS = {"flops": (1e8, 6e8), "parameters": (1e6, 5e6), "activations": (1e6, 4e6)}

#: Space, number of networks, bands, resolution, classes.
CASES: dict[str, tuple[Any, int, dict[str, tuple[float, float]], int, int]] = {
    "the paper's": ("anynetx", 20, {"flops": PAPER_BAND}, 224, 1000),
    "cifar": ({"stem": "cifar"}, 20, {"flops": (1e8, 2e8)}, 32, 10),
    "toy": (TOY.to_spec(), 100, {"flops": (0.6e6, 0.9e6)}, 9, 7),
    "tiny": (TINY.to_spec(), 12, {"flops": (0, 1e12)}, 33, 2),
    "no band": ("anynetxa", 50, {}, 224, 1000),
    "all bands": ("anynetxb", 30, ALL_BANDS, 160, 100),
    "shared": ("anynetxc", 40, {"parameters": (2e6, 4e6)}, 1, 1000),
    "rising widths": ("anynetxd", 15, {"activations": (2e6, 5e6)}, 224, 1000),
    "rising widths and depths": ("anynetxe", 8, {}, 224, 1000),
    "all rising": (
        {"strides": [2, 1], "non_decreasing": ["bottleneck_ratios", "group_widths", "depths"]},
        50,
        {"parameters": (1e5, 1e6)},
        64,
        5,
    ),
    "regnetx": ("regnetx", 25, {"flops": (2e8, 8e8)}, 224, 1000),
    "regnety": ("regnety", 25, {"parameters": (1e6, 9e6), "activations": (0, 4e6)}, 224, 1000),
    "three-stage regnets": (
        {"base": "regnety", "strides": [1, 2, 2], "depth": [3, 9], "distribution": "uniform",
         "stem": "cifar", "slope": [0.1, 90.0], "width_multiplier": [1.1, 4.0]},
        40, {"flops": (1e6, 1e8)}, 32, 10,
    ),
    "squeeze-and-excitation": ({"se_ratio": 0.1, "stem": "simple"}, 40, ALL_BANDS, 99, 10),
    "basic": ({"block": "basic", "strides": [1] * 8}, 30, {"flops": (1e9, 3e9)}, 64, 10),
    "vanilla": ({"block": "vanilla", "strides": [2, 3]}, 60, {"parameters": (5e4, 5e6)}, 50, 4),
    "ranges by stage": (
        {"strides": [1, 2], "depths": [[1, 2], [3, 40]], "widths": [[12, 24], [60, 600]],
         "width_divisor": 12, "bottleneck_ratios": [1, 3, 6], "group_widths": [5, 1, 7],
         "depth_distribution": "uniform", "width_distribution": "uniform"},
        80, {"activations": (0, 3e6)}, 40, 10,
    ),
    "nearest": ({"quantization": "nearest"}, 30, {"flops": PAPER_BAND}, 224, 1000),
    "nearest regnets": ({"base": "regnety", "quantization": "nearest"}, 20, {}, 224, 1000),
    "one stage": ({"strides": [4], "shared": ["widths"]}, 60, {}, 224, 1),
}  # fmt: skip


def bounds(bands: dict[str, tuple[float, float]]) -> dict[str, Any]:
    return {"flops": None, "parameters": None, "activations": None, **bands}
