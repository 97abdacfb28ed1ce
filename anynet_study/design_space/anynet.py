"""AnyNet: every stage has its own depth, width, bottleneck ratio and group width."""

from collections.abc import Sequence
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
    STAGE_FIELDS,
    FloatArray,
    Networks,
    Skeleton,
    compatible,
)
from anynet_study.design_space.validation import (
    choices,
    divides,
    one_of,
    whole_number,
    whole_range,
)

#: A width can be up to half as wide again as the drawn one: see `networks.compatible`.
MAX_DRAWN_WIDTH = MAX_WIDTH // 2
COMPATIBLE = ("adjust", "redraw")
Range = tuple[int, int]


@dataclass(frozen=True)
class AnyNet:
    """Stages whose parameters are drawn independently (paper 1, section 4.1), then constrained.

    Depths and widths are log-uniform variables that are made multiples of q (1, `width_divisor`),
    by default as pycls's sweep code of May 2021 does it: the ceil of a variable on
    (low - min(q, low/2), high]. So P(x) = log(x / (x - q)) / L, and of the lowest
    log(low / start) / L, where start = low - min(q, low/2), L = log(high / start): of depths 1 to
    16, P(1) = 1/5; of widths 8 to 1024, P(8) = 1/8. Bottleneck ratios and group widths are uniform
    over their sets. Probabilities are exact to 2^-32 (`distributions`, `Distribution.probability`).

    Draws whose widths and groups do not fit together are made compatible (`networks.compatible`),
    so that widths can leave the range a little, and group widths the set; or, by `compatible`, they
    are drawn again. Constraints are on the compatible networks, and what does not obey them is
    drawn again. The defaults are the space of paper 1. Raises UserError for ranges that make no
    sense.
    """

    #: Fewest and most blocks of a stage: one pair for all, or one pair per stage.
    depths: tuple[Range, ...] = ((1, 16),)
    #: Narrowest and widest stage, multiples of `width_divisor`: one pair for all, or one per stage.
    widths: tuple[Range, ...] = ((8, 1024),)
    #: Widths are multiples of this.
    width_divisor: int = 8
    #: How much narrower a block's middle may be; empty for blocks without bottleneck.
    bottleneck_ratios: tuple[int, ...] = (1, 2, 4)
    #: Channels of a group of the middle convolution; empty for blocks without bottleneck.
    group_widths: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    #: Of depths: `log_uniform` or `uniform`.
    depth_distribution: str = "log_uniform"
    #: Of widths: `log_uniform` or `uniform`.
    width_distribution: str = "log_uniform"
    #: Of log-uniform parameters: `ceil`, or `nearest` (see `distribution.log_uniform`).
    quantization: str = "ceil"
    #: Parameters of which all stages draw one value in common (a group is as wide as its stage's
    #: bottleneck, if that is narrower).
    shared: tuple[str, ...] = ()
    #: Parameters that never decrease from one stage to the next.
    non_decreasing: tuple[str, ...] = ()
    #: What becomes of draws in which the group width does not divide the bottleneck's: `adjust`
    #: (`networks.compatible`), or `redraw`: they are no part of the space.
    compatible: str = "adjust"

    @classmethod
    def checked(cls, skeleton: Skeleton, values: dict[str, Any]) -> "AnyNet":
        """Build from unchecked values for networks of this skeleton. Raises UserError."""
        given = {**_defaults(cls, skeleton), **values}
        divisor = whole_number(given["width_divisor"], "space: width_divisor", 1, MAX_DRAWN_WIDTH)
        space = cls(
            _ranges(given["depths"], "depths", skeleton.stages, MAX_DEPTH),
            _ranges(given["widths"], "widths", skeleton.stages, MAX_DRAWN_WIDTH),
            divisor,
            _choices(given["bottleneck_ratios"], "bottleneck_ratios", skeleton),
            _choices(given["group_widths"], "group_widths", skeleton),
            one_of(given["depth_distribution"], "space: depth_distribution", KINDS),
            one_of(given["width_distribution"], "space: width_distribution", KINDS),
            one_of(given["quantization"], "space: quantization", QUANTIZATIONS),
            _names(given["shared"], "shared"),
            _names(given["non_decreasing"], "non_decreasing"),
            one_of(given["compatible"], "space: compatible", COMPATIBLE),
        )
        for width in np.unique(space.widths).tolist():
            divides(divisor, width, f"space: widths: {width} is not a multiple of width_divisor")
        for ratio in space.bottleneck_ratios:
            divides(ratio, divisor, f"space: width_divisor: {divisor} is not a multiple of ratio")
        for name in set(space.shared) & {"depths", "widths"}:
            if len(set(getattr(space, name))) > 1:
                raise UserError(f"space: shared: {name} differ in their range from stage to stage")
        return space

    def words(self, skeleton: Skeleton) -> int:
        """The number of 32-bit words that a candidate takes, whatever it becomes."""
        return 4 * skeleton.stages

    def draw(
        self, words: npt.NDArray[np.int64], skeleton: Skeleton
    ) -> tuple[Networks, npt.NDArray[np.bool_] | None]:
        """Return compatible networks, float64, and which of them obey the constraints (None: all).

        `words` has shape (4 S, n): S depths, then widths, bottleneck ratios and group widths.
        A shared parameter is drawn by the first word of its S.
        """
        stages, obeyed = skeleton.stages, None
        columns = dict(zip(STAGE_FIELDS, words.reshape(4, stages, -1), strict=True))
        for name in self.shared:
            columns[name] = columns[name][:1]
        d, w = (
            _draw_stages(self.distributions[name], columns[name], stages)
            for name in ("depths", "widths")
        )
        if skeleton.block == "bottleneck":
            b, g = (
                _draw_stages(self.distributions[name], columns[name], stages)
                for name in ("bottleneck_ratios", "group_widths")
            )
            networks = compatible(d, w, b, g, skeleton)
            if self.compatible == "redraw":
                as_drawn = (networks.widths == w) & (networks.group_widths == g)
                obeyed = as_drawn.all(axis=0)
        else:
            networks = Networks(d, w, w, w, skeleton)
        for name in self.non_decreasing:
            values = getattr(networks, name)
            rising = (values[1:] >= values[:-1]).all(axis=0)
            obeyed = rising if obeyed is None else obeyed & rising
        return networks, obeyed

    @cached_property
    def distributions(self) -> dict[str, tuple[Distribution, ...]]:
        """The distributions of each parameter: one for all stages, or one per stage."""
        depth, width, rule = self.depth_distribution, self.width_distribution, self.quantization
        step = self.width_divisor
        return {
            "depths": tuple(ranged(depth, *ends, 1, rule) for ends in self.depths),
            "widths": tuple(ranged(width, *ends, step, rule) for ends in self.widths),
            "bottleneck_ratios": (uniform(self.bottleneck_ratios or (1,)),),
            "group_widths": (uniform(self.group_widths or (1,)),),
        }


def _draw_stages(
    distributions: tuple[Distribution, ...], words: npt.NDArray[np.int64], stages: int
) -> FloatArray:
    """Draw the values of all stages, shape (S, n), of as many rows of words or of one."""
    if len(distributions) == 1:
        drawn = distributions[0].draw(words)
    else:
        pairs = zip(distributions, words, strict=True)
        drawn = np.stack([distribution.draw(row) for distribution, row in pairs])
    return drawn if len(drawn) == stages else np.repeat(drawn, stages, axis=0)


def _defaults(cls: type[AnyNet], skeleton: Skeleton) -> dict[str, Any]:
    defaults = {name: field.default for name, field in cls.__dataclass_fields__.items()}
    if skeleton.block != "bottleneck":
        defaults.update(bottleneck_ratios=(), group_widths=())
    return defaults


def _ranges(values: Any, name: str, stages: int, high: int) -> tuple[Range, ...]:
    where = f"space: {name}"
    if not isinstance(values, Sequence) or not any(isinstance(v, list | tuple) for v in values):
        return (whole_range(values, where, 1, high),)
    if len(values) not in (1, stages):
        raise UserError(f"{where}: {len(values)} ranges for {stages} stages; give one, or {stages}")
    ranges = tuple(whole_range(ends, where, 1, high) for ends in values)
    return ranges[:1] if len(set(ranges)) == 1 else ranges


def _choices(values: Any, name: str, skeleton: Skeleton) -> tuple[int, ...]:
    if skeleton.block == "bottleneck":
        return choices(values, f"space: {name}", MAX_WIDTH)
    if values is not None and (not isinstance(values, list | tuple) or values):
        raise UserError(f"space: {name}: {skeleton.block} blocks have none; leave it out")
    return ()


def _names(values: Any, name: str) -> tuple[str, ...]:
    if not isinstance(values, list | tuple):
        raise UserError(f"space: {name}: {values!r} is not a list of {', '.join(STAGE_FIELDS)}")
    chosen = {one_of(value, f"space: {name}", STAGE_FIELDS) for value in values}
    return tuple(parameter for parameter in STAGE_FIELDS if parameter in chosen)
