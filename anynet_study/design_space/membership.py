"""Whether a network is of a space: the inverse of drawing, by trying every draw that could be."""

import numpy as np
import numpy.typing as npt

from anynet_study.design_space.anynet import AnyNet
from anynet_study.design_space.frame import MAX_WIDTH
from anynet_study.design_space.networks import FloatArray, Networks, realised
from anynet_study.design_space.regnet import (
    MULTIPLIER_STEP,
    SLOPE_STEP,
    WIDTH_DIVISOR,
    RegNet,
    linear_stages,
)

Truths = npt.NDArray[np.bool_]


def contains(space: AnyNet | RegNet, network: Networks) -> bool:
    """Whether some draw of the space is realised as this network, a batch of one.

    For RegNets this takes up to seconds: all slopes and multipliers are tried.
    """
    if isinstance(space, RegNet):
        return _regnet_contains(space, network)
    obeyed = space.obeyed(network)
    return (obeyed is None or bool(obeyed[0])) and _anynet_contains(space, network)


def _anynet_contains(space: AnyNet, network: Networks) -> bool:
    stages = network.frame.stages
    d, b = network.depths[:, 0], network.bottleneck_ratios[:, 0]
    low, high = np.array(_each(space.depths, stages)).T
    if not ((d >= low) & (d <= high)).all() or not np.isin(b, space.bottleneck_ratios or 1).all():
        return False
    drawn_as_they_are = {"depths": d, "bottleneck_ratios": b}
    if any(len(set(drawn_as_they_are.get(name, ()))) > 1 for name in space.shared):
        return False
    reached = [_reached(space, network, stage) for stage in range(stages)]
    for axis, name in enumerate(("widths", "group_widths")):
        if name not in space.shared:
            reached = [np.logical_or.reduce(one, axis, keepdims=True) for one in reached]
    return bool(np.logical_and.reduce(reached).any())


def _reached(space: AnyNet, network: Networks, stage: int) -> Truths:
    """Which widths (rows) and group widths (columns) are realised as this stage of the network."""
    low, high = _each(space.widths, network.frame.stages)[stage]
    widths = np.arange(low, high + 1, space.width_divisor, dtype=np.float64)
    # Blocks without groups have one, which is never wider than the stage.
    group_widths = np.array(space.group_widths or (MAX_WIDTH,), dtype=np.float64)
    w, g = np.meshgrid(widths, group_widths, indexing="ij")
    drawn = realised(w, w, np.full_like(w, network.bottleneck_ratios[stage, 0]), g, network.frame)
    reached: Truths = drawn.widths == network.widths[stage, 0]
    reached &= drawn.group_widths == network.group_widths[stage, 0]
    return reached


def _regnet_contains(space: RegNet, network: Networks) -> bool:
    """Try all w0, wa, wm and group widths; depth and ratio are those of the network."""
    depth, ratios = int(network.depths.sum()), set(network.bottleneck_ratios[:, 0].tolist())
    if not space.depth[0] <= depth <= space.depth[1] or len(ratios) > 1:
        return False
    if not ratios <= set(space.bottleneck_ratios):
        return False
    wa, wm = np.meshgrid(
        _grid(space.slope, SLOPE_STEP), _grid(space.width_multiplier, MULTIPLIER_STEP)
    )
    lowest, highest = space.initial_width
    for w0 in range(lowest, highest + 1, WIDTH_DIVISOR):
        if _some_fit(np.full((1, 1), float(w0)), network, space, stages=1):
            ends = np.full(wa.size, float(depth)), np.full(wa.size, float(w0))
            d, w, legal = linear_stages(*ends, wa.ravel(), wm.ravel(), network.frame.stages)
            fitting = legal & (d == network.depths).all(axis=0)
            if _some_fit(w[:, fitting], network, space, network.frame.stages):
                return True
    return False


def _some_fit(widths: FloatArray, network: Networks, space: RegNet, stages: int) -> bool:
    """Whether a column of drawn widths can be realised as the first stages of the network."""
    ratios = np.full_like(widths, network.bottleneck_ratios[0, 0])
    for group_width in space.group_widths:
        groups = np.full_like(widths, group_width)
        drawn = realised(widths, widths, ratios, groups, network.frame)
        same = drawn.widths == network.widths[:stages]
        same &= drawn.group_widths == network.group_widths[:stages]
        if same.all(axis=0).any():
            return True
    return False


def _grid(ends: tuple[float, float], step: float) -> FloatArray:
    first, last = (round(end / step) for end in ends)
    return np.arange(first, last + 1, dtype=np.float64) * step


def _each(ranges: tuple[tuple[int, int], ...], stages: int) -> tuple[tuple[int, int], ...]:
    return ranges * stages if len(ranges) == 1 else ranges
