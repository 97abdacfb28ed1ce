"""RegNet: depths and widths follow from four numbers (Radosavovic et al. 2020, section 3.3)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from anynet_study.design_space.distribution import KINDS, Distribution, ranged, uniform
from anynet_study.design_space.networks import (
    MAX_DEPTH,
    MAX_WIDTH,
    FloatArray,
    Networks,
    Skeleton,
    compatible,
)
from anynet_study.design_space.validation import choices, divides, grid_range, one_of, whole_range
from anynet_study.errors import UserError

#: Steps of the grids that slopes and width multipliers are drawn from.
SLOPE_STEP = 0.1
MULTIPLIER_STEP = 0.01
WORDS = 6
#: Widths are rounded to a multiple of this.
WIDTH_DIVISOR = 8


@dataclass(frozen=True)
class RegNet:
    """Widths that rise linearly with the block's number, quantised to a few stages.

    Block j = 0, 1, ..., d - 1 is meant to have the width u_j = w0 + wa j. It gets
    w_j = w0 wm^s rounded to a multiple of 8 (half to even), where s is log(u_j / w0) / log(wm)
    rounded to a whole number (half up). Blocks of equal width are a stage; what does not have as
    many stages as the skeleton has strides, or is wider than 4096, is drawn again. All stages share
    bottleneck ratio and group width.

    d, w0, wa and wm are log-uniform (or uniform) variables rounded to a multiple of their step q
    (1, 8, 0.1 and 0.01): P(x) ~ log((x + q/2) / (x - q/2)). Ratios and group widths are uniform
    over their sets. The defaults are the ranges of the paper's section 3.3 and, as it says, the
    sets of AnyNetX; its text leaves the distributions open.
    """

    #: Fewest (by default, at least one a stage) and most blocks of all stages together, d.
    depth: tuple[int, int] = (4, 63)
    #: Lowest and highest w0, multiples of 8.
    initial_width: tuple[int, int] = (8, 256)
    #: Lowest and highest wa, multiples of 0.1.
    slope: tuple[float, float] = (8.0, 256.0)
    #: Lowest and highest wm, multiples of 0.01.
    width_multiplier: tuple[float, float] = (1.5, 3.0)
    bottleneck_ratios: tuple[int, ...] = (1, 2, 4)
    group_widths: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    #: `log_uniform` or `uniform`, of d, w0, wa and wm.
    distribution: str = "log_uniform"

    @classmethod
    def checked(cls, skeleton: Skeleton, values: dict[str, Any]) -> "RegNet":
        """Build from unchecked values for networks of this skeleton. Raises UserError."""
        given = {name: field.default for name, field in cls.__dataclass_fields__.items()}
        given["depth"] = (max(skeleton.stages, cls.depth[0]), cls.depth[1])
        given.update(values)
        if skeleton.block != "bottleneck":
            raise UserError(
                f"space: block: RegNets are made of bottleneck blocks, not {skeleton.block}"
            )
        space = cls(
            whole_range(given["depth"], "space: depth", skeleton.stages, MAX_DEPTH),
            whole_range(given["initial_width"], "space: initial_width", 1, MAX_WIDTH // 2),
            grid_range(given["slope"], "space: slope", SLOPE_STEP, 0.1, MAX_WIDTH),
            grid_range(
                given["width_multiplier"], "space: width_multiplier", MULTIPLIER_STEP, 1.1, 16
            ),
            choices(given["bottleneck_ratios"], "space: bottleneck_ratios", MAX_WIDTH),
            choices(given["group_widths"], "space: group_widths", MAX_WIDTH),
            one_of(given["distribution"], "space: distribution", KINDS),
        )
        for width in space.initial_width:
            divides(WIDTH_DIVISOR, width, f"space: initial_width: {width} is not a multiple of")
        for ratio in space.bottleneck_ratios:
            divides(
                ratio, WIDTH_DIVISOR, "space: widths are multiples of 8, which is not one of ratio"
            )
        return space

    def words(self, skeleton: Skeleton) -> int:
        """The number of 32-bit words that a candidate takes, whatever it becomes."""
        return WORDS

    def draw(
        self, words: npt.NDArray[np.int64], skeleton: Skeleton
    ) -> tuple[Networks, npt.NDArray[np.bool_]]:
        """Return compatible networks, float64, and which of them have the skeleton's stages.

        `words` has shape (6, n): d, w0, wa, wm, bottleneck ratio, group width. The networks that
        do not have as many stages are there with stages of one block, for the shape's sake.
        """
        d, w0, wa, wm, b, g = (
            distribution.draw(row)
            for distribution, row in zip(self.distributions, words, strict=True)
        )
        depths, widths, legal = linear_stages(
            d, w0, wa * SLOPE_STEP, wm * MULTIPLIER_STEP, skeleton.stages
        )
        b, g = (np.ascontiguousarray(np.broadcast_to(row, depths.shape)) for row in (b, g))
        return compatible(depths, widths, b, g, skeleton), legal

    @cached_property
    def distributions(self) -> tuple[Distribution, ...]:
        """The distributions of d, w0, wa / 0.1, wm / 0.01, bottleneck ratio and group width."""
        slope = [round(end / SLOPE_STEP) for end in self.slope]
        multiplier = [round(end / MULTIPLIER_STEP) for end in self.width_multiplier]
        return (
            ranged(self.distribution, *self.depth, 1),
            ranged(self.distribution, *self.initial_width, WIDTH_DIVISOR),
            ranged(self.distribution, slope[0], slope[1], 1),
            ranged(self.distribution, multiplier[0], multiplier[1], 1),
            uniform(self.bottleneck_ratios),
            uniform(self.group_widths),
        )


def linear_stages(
    d: FloatArray, w0: FloatArray, wa: FloatArray, wm: FloatArray, stages: int
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Depths and widths, shape (S, n), of quantised linear widths; all arguments have shape (n,).

    The third result says which networks have exactly S stages (and none wider than the limit);
    the others' depths and widths are 1 and 8. Nothing but additions, multiplications, divisions
    and a square root is used, which all platforms round alike; ties are those of exact arithmetic.
    """
    depths, widths = np.zeros((stages, len(d))), np.full((stages, len(d)), float(WIDTH_DIVISOR))
    columns = np.arange(len(d))  # of the networks that have blocks left, and are legal so far
    found = np.zeros(len(d), dtype=np.int64)  # stages so far
    before: FloatArray = np.zeros(len(d))  # width of the last of them
    begun: FloatArray = np.zeros(len(d))  # blocks so far
    power: FloatArray = np.ones(len(d))  # wm^s
    root: FloatArray = np.sqrt(wm)
    legal = np.ones(len(d), dtype=bool)
    while len(columns):
        # Level s ends where u_j >= w0 wm^(s + 1/2): a tie goes up.
        end = np.minimum(np.ceil(_snapped(w0 * (power * root - 1) / wa)), d)
        width = np.rint(_snapped(w0 * power / WIDTH_DIVISOR)) * WIDTH_DIVISOR
        blocks = end - begun
        found += (blocks > 0) & (width != before)
        before = np.where(blocks > 0, width, before)
        fits = (found <= stages) & (before <= MAX_WIDTH // 2)
        legal[columns] = fits
        place = np.clip(found - 1, 0, stages - 1), columns
        depths[place] += blocks
        widths[place] = before
        left = np.flatnonzero(fits & (end < d))
        power, begun = power * wm, end
        columns, found = columns[left], found[left]
        d, w0, wa, wm, root, power, begun, before = (
            array[left] for array in (d, w0, wa, wm, root, power, begun, before)
        )
    legal &= depths.all(axis=0)
    depths[:, ~legal], widths[:, ~legal] = 1, WIDTH_DIVISOR
    return depths, widths, legal


def _snapped(values: FloatArray) -> FloatArray:
    """Round to multiples of 2^-30, so that what is a tie in exact arithmetic is one here, too."""
    return np.rint(values * 2.0**30) / 2.0**30
