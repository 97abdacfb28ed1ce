"""AnyNet: every stage has its own depth, width, bottleneck ratio and group width."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from anynet_study.design_space.distribution import KINDS, Distribution, ranged, uniform
from anynet_study.design_space.frame import MAX_DEPTH, MAX_WIDTH, Frame
from anynet_study.design_space.networks import FloatArray, Networks, realised
from anynet_study.design_space.validation import (
    choices,
    divides,
    one_of,
    whole_number,
    whole_range,
)
from anynet_study.errors import UserError

#: A realised width can be up to half as wide again as the drawn one: see `networks.realised`.
MAX_DRAWN_WIDTH = MAX_WIDTH // 2
PARAMETERS = ("depths", "widths", "bottleneck_ratios", "group_widths")
Range = tuple[int, int]


@dataclass(frozen=True)
class AnyNet:
    """Stages whose parameters are drawn independently (paper 1, section 4.1), then constrained.

    For a log-uniform depth d in [lo, hi], P(d) ~ log((d + 1/2) / (d - 1/2)); for a width w that is
    a multiple of q = `width_divisor`, P(w) ~ log((w + q/2) / (w - q/2)): log-uniform variables,
    rounded. Bottleneck ratios and group widths are uniform over their sets (which, for powers of
    two, is log-uniform). Probabilities are exact to 2^-32. Draws whose widths and groups do not
    fit together are made to fit (`networks.realised`), so that realised widths can leave the range
    a little; constraints are on realised networks, and what does not obey them is drawn again.

    The defaults are the space of paper 1. Raises UserError for ranges that make no sense.
    """

    #: Fewest and most blocks of a stage: one pair for all, or a pair a stage.
    depths: tuple[Range, ...] = ((1, 16),)
    #: Narrowest and widest stage, multiples of `width_divisor`: one pair for all, or one a stage.
    widths: tuple[Range, ...] = ((8, 1024),)
    width_divisor: int = 8
    #: Empty for blocks without bottleneck, as are the group widths.
    bottleneck_ratios: tuple[int, ...] = (1, 2, 4)
    group_widths: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    #: `log_uniform` or `uniform`.
    depth_distribution: str = "log_uniform"
    width_distribution: str = "log_uniform"
    #: Parameters of which all stages draw one value in common (a realised group is as wide as its
    #: stage's bottleneck, if that is narrower).
    shared: tuple[str, ...] = ()
    #: Parameters that never decrease from one stage to the next.
    non_decreasing: tuple[str, ...] = ()

    @classmethod
    def checked(cls, frame: Frame, values: dict[str, Any]) -> "AnyNet":
        """Build from unchecked values for networks of this frame. Raises UserError."""
        given = {**_defaults(cls, frame), **values}
        divisor = whole_number(given["width_divisor"], "space: width_divisor", 1, MAX_DRAWN_WIDTH)
        space = cls(
            _ranges(given["depths"], "depths", frame.stages, MAX_DEPTH),
            _ranges(given["widths"], "widths", frame.stages, MAX_DRAWN_WIDTH),
            divisor,
            _choices(given["bottleneck_ratios"], "bottleneck_ratios", frame),
            _choices(given["group_widths"], "group_widths", frame),
            one_of(given["depth_distribution"], "space: depth_distribution", KINDS),
            one_of(given["width_distribution"], "space: width_distribution", KINDS),
            _names(given["shared"], "shared"),
            _names(given["non_decreasing"], "non_decreasing"),
        )
        for width in np.unique(space.widths).tolist():
            divides(divisor, width, f"space: widths: {width} is not a multiple of width_divisor")
        for ratio in space.bottleneck_ratios:
            divides(ratio, divisor, f"space: width_divisor: {divisor} is not a multiple of ratio")
        for name in set(space.shared) & {"depths", "widths"}:
            if len(set(getattr(space, name))) > 1:
                raise UserError(f"space: shared: {name} differ in their range from stage to stage")
        return space

    def words(self, frame: Frame) -> int:
        """The number of 32-bit words that a candidate takes, whatever it becomes."""
        return 4 * frame.stages

    def draw(
        self, words: npt.NDArray[np.int64], frame: Frame
    ) -> tuple[Networks, npt.NDArray[np.bool_] | None]:
        """Return realised networks, float64, and which of them obey the constraints (None: all).

        `words` has shape (4 S, n): S depths, then widths, bottleneck ratios and group widths.
        A shared parameter is drawn by the first word of its S.
        """
        stages = frame.stages
        columns = dict(zip(PARAMETERS, words.reshape(4, stages, -1), strict=True))
        for name in self.shared:
            columns[name] = columns[name][:1]
        d, w = (
            _draw_stages(self.distributions[name], columns[name], stages)
            for name in ("depths", "widths")
        )
        if frame.block == "bottleneck":
            b, g = (
                _draw_stages(self.distributions[name], columns[name], stages)
                for name in ("bottleneck_ratios", "group_widths")
            )
            networks = realised(d, w, b, g, frame)
        else:
            networks = Networks(d, w, w, w, frame)
        return networks, self.obeyed(networks)

    def obeyed(self, networks: Networks) -> npt.NDArray[np.bool_] | None:
        """Which networks obey `non_decreasing`; None where nothing is asked."""
        obeyed = None
        for name in self.non_decreasing:
            values = getattr(networks, name)
            rising = (values[1:] >= values[:-1]).all(axis=0)
            obeyed = rising if obeyed is None else obeyed & rising
        return obeyed

    @cached_property
    def distributions(self) -> dict[str, tuple[Distribution, ...]]:
        """The distributions of each parameter: one for all stages, or one a stage."""
        depth, width = self.depth_distribution, self.width_distribution
        return {
            "depths": tuple(ranged(depth, *ends, 1) for ends in self.depths),
            "widths": tuple(ranged(width, *ends, self.width_divisor) for ends in self.widths),
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


def _defaults(cls: type[AnyNet], frame: Frame) -> dict[str, Any]:
    defaults = {name: field.default for name, field in cls.__dataclass_fields__.items()}
    if frame.block != "bottleneck":
        defaults.update(bottleneck_ratios=(), group_widths=())
    return defaults


def _ranges(values: Any, name: str, stages: int, high: int) -> tuple[Range, ...]:
    where = f"space: {name}"
    nested = isinstance(values, Sequence) and any(isinstance(one, list | tuple) for one in values)
    if not nested:
        return (whole_range(values, where, 1, high),)
    if len(values) not in (1, stages):
        raise UserError(f"{where}: {len(values)} ranges for {stages} stages; give one, or {stages}")
    ranges = tuple(whole_range(one, where, 1, high) for one in values)
    return ranges[:1] if len(set(ranges)) == 1 else ranges


def _choices(values: Any, name: str, frame: Frame) -> tuple[int, ...]:
    if frame.block == "bottleneck":
        return choices(values, f"space: {name}", MAX_WIDTH)
    if values is not None and (not isinstance(values, list | tuple) or values):
        raise UserError(f"space: {name}: {frame.block} blocks have none; leave it out")
    return ()


def _names(values: Any, name: str) -> tuple[str, ...]:
    if not isinstance(values, list | tuple):
        raise UserError(f"space: {name}: {values!r} is not a list of {', '.join(PARAMETERS)}")
    chosen = {one_of(value, f"space: {name}", PARAMETERS) for value in values}
    return tuple(parameter for parameter in PARAMETERS if parameter in chosen)
