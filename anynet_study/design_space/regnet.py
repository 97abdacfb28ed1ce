"""RegNet: depths and widths follow from four numbers (Radosavovic et al. 2020, section 3.3)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from anynet_study.core.errors import UserError
from anynet_study.design_space.distribution import (
    KINDS,
    QUANTIZATIONS,
    Distribution,
    ranged,
    uniform,
)
from anynet_study.design_space.networks import (
    MAX_DEPTH,
    MAX_WIDTH,
    FloatArray,
    Networks,
    Skeleton,
    compatible,
)
from anynet_study.design_space.validation import choices, divides, grid_range, one_of, whole_range

#: Steps of the grids that slopes and width multipliers are drawn from.
SLOPE_STEP = 0.1
MULTIPLIER_STEP = 0.001
WORDS = 6
#: Widths are rounded to a multiple of this.
WIDTH_DIVISOR = 8


@dataclass(frozen=True)
class RegNet:
    """Widths that rise linearly with the block's number, quantised to a few stages.

    Block j = 0, 1, ..., d - 1 is meant to have the width u_j = w0 + wa j. It gets
    w_j = w0 wm^s rounded to a multiple of 8 (half to even), where its level s is
    log(u_j / w0) / log(wm) rounded to a whole number (half up). The blocks of a level are a stage.
    As in pycls, networks are drawn again that do not have as many levels as the skeleton has
    strides, that skip a level or have two of one width; and those wider than 4096. All stages share
    bottleneck ratio and group width.

    d is uniform; w0, wa and wm are log-uniform variables made multiples of q = 8, 0.1 and 0.001 as
    in `AnyNet`; ratios and group widths are uniform over their sets. The defaults are the depths of
    pycls's sampler, the other ranges of the paper's section 3.3 and, as it says, the sets of
    AnyNetX.
    """

    #: Fewest and most blocks of all stages together, d.
    depth: tuple[int, int] = (12, 28)
    #: Lowest and highest w0, multiples of 8.
    initial_width: tuple[int, int] = (8, 256)
    #: Lowest and highest wa, multiples of 0.1.
    slope: tuple[float, float] = (8.0, 256.0)
    #: Lowest and highest wm, multiples of 0.001.
    width_multiplier: tuple[float, float] = (1.5, 3.0)
    #: How much narrower a block's middle may be.
    bottleneck_ratios: tuple[int, ...] = (1, 2, 4)
    #: Channels of a group of the middle convolution.
    group_widths: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    #: Of d: `log_uniform` or `uniform`.
    depth_distribution: str = "uniform"
    #: Of w0, wa and wm: `log_uniform` or `uniform`.
    distribution: str = "log_uniform"
    #: Of log-uniform parameters: `ceil`, or `nearest` (see `distribution.log_uniform`).
    quantization: str = "ceil"

    @classmethod
    def checked(cls, skeleton: Skeleton, values: dict[str, Any]) -> "RegNet":
        """Build from unchecked values for networks of this skeleton. Raises UserError."""
        given = {name: field.default for name, field in cls.__dataclass_fields__.items()}
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
            one_of(given["depth_distribution"], "space: depth_distribution", KINDS),
            one_of(given["distribution"], "space: distribution", KINDS),
            one_of(given["quantization"], "space: quantization", QUANTIZATIONS),
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
        """Return compatible networks, float64, and which of them are in the space.

        `words` has shape (6, n): d, w0, wa, wm, bottleneck ratio, group width. The networks that
        are not in the space are there with stages of one block, for the shape's sake.
        """
        d, w0, wa, wm, b, g = (
            distribution.draw(row)
            for distribution, row in zip(self.distributions.values(), words, strict=True)
        )
        depths, widths, legal = linear_stages(
            d, w0, wa * SLOPE_STEP, wm * MULTIPLIER_STEP, skeleton.stages
        )
        b, g = (np.ascontiguousarray(np.broadcast_to(row, depths.shape)) for row in (b, g))
        return compatible(depths, widths, b, g, skeleton), legal

    @cached_property
    def distributions(self) -> dict[str, Distribution]:
        """The distributions of each parameter, of wa in tenths and of wm in thousandths."""
        rule = self.quantization
        slope = [round(end / SLOPE_STEP) for end in self.slope]
        multiplier = [round(end / MULTIPLIER_STEP) for end in self.width_multiplier]
        return {
            "depth": ranged(self.depth_distribution, *self.depth, 1, rule),
            "initial_width": ranged(self.distribution, *self.initial_width, WIDTH_DIVISOR, rule),
            "slope": ranged(self.distribution, slope[0], slope[1], 1, rule),
            "width_multiplier": ranged(self.distribution, multiplier[0], multiplier[1], 1, rule),
            "bottleneck_ratios": uniform(self.bottleneck_ratios),
            "group_widths": uniform(self.group_widths),
        }


def linear_stages(
    d: FloatArray, w0: FloatArray, wa: FloatArray, wm: FloatArray, stages: int
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Depths and widths, shape (S, n), of quantised linear widths; all arguments have shape (n,).

    The third result says which networks have exactly S levels, none of them skipped, of different
    widths up to the limit; the others' depths and widths are 1 and 8. Nothing but additions,
    multiplications, divisions and a square root is used, which all platforms round alike; ties are
    those of exact arithmetic.
    """
    powers = np.vstack([np.ones((1, len(d))), np.tile(wm, (stages - 1, 1))]).cumprod(axis=0)
    # Level s ends where u_j >= w0 wm^(s + 1/2): a tie goes up.
    ends = np.minimum(np.ceil(_snapped(w0 * (powers * np.sqrt(wm) - 1) / wa)), d)
    depths = np.diff(ends, axis=0, prepend=0)
    widths = np.rint(_snapped(w0 * powers / WIDTH_DIVISOR)) * WIDTH_DIVISOR
    legal = (ends[-1] == d) & (depths > 0).all(axis=0) & (widths[-1] <= MAX_WIDTH // 2)
    legal &= (widths[1:] > widths[:-1]).all(axis=0)
    depths[:, ~legal], widths[:, ~legal] = 1, WIDTH_DIVISOR
    return depths, widths, legal


def _snapped(values: FloatArray) -> FloatArray:
    """Round to multiples of 2^-30, so that what is a tie in exact arithmetic is one here, too."""
    return np.rint(values * 2.0**30) / 2.0**30
