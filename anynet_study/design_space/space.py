"""Design spaces: which architectures there are, and how likely each is drawn."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from anynet_study.design_space import sampling
from anynet_study.design_space.distribution import Distribution, Words, log_uniform, uniform
from anynet_study.design_space.networks import (
    MAX_DEPTH,
    MAX_RESOLUTION,
    MAX_WIDTH,
    STAGES,
    STEMS,
    Networks,
)
from anynet_study.design_space.population import Population
from anynet_study.design_space.validation import known_keys, one_of, whole_number, whole_numbers
from anynet_study.errors import UserError

#: A realised width can be up to half as wide again as the drawn one: see `Networks.realised`.
MAX_DRAWN_WIDTH = MAX_WIDTH // 2
BASES = ("anynetx",)


@dataclass(frozen=True)
class DesignSpace:
    """AnyNetX: four stages whose 16 parameters are drawn independently (paper 1, section 4.1).

    For a depth d in [lo, hi], P(d) ~ log((d + 1/2) / (d - 1/2)); for a width w that is a multiple
    of q = `width_divisor`, P(w) ~ log((w + q/2) / (w - q/2)): log-uniform variables, rounded.
    Bottleneck ratios and group widths are uniform over their sets (which, for powers of two, is
    log-uniform). Probabilities are exact to 2^-32. A draw whose widths and groups do not fit
    together is made to fit by `Networks.realised`; so realised widths can leave the range a little.

    The defaults are the paper's space; its text leaves the stem's width open: 32, as in the code
    it extends. Raises UserError for ranges that make no sense.
    """

    #: Fewest and most blocks of a stage.
    depths: tuple[int, ...] = (1, 16)
    #: Narrowest and widest stage, in channels: multiples of `width_divisor`.
    widths: tuple[int, ...] = (8, 1024)
    width_divisor: int = 8
    bottleneck_ratios: tuple[int, ...] = (1, 2, 4)
    group_widths: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    strides: tuple[int, ...] = (1, 2, 2, 2)
    stem: str = "imagenet"
    stem_width: int = 32

    def __post_init__(self) -> None:
        divisor = whole_number(self.width_divisor, "space: width_divisor", 1, MAX_DRAWN_WIDTH)
        clean: dict[str, Any] = {
            "depths": _range(self.depths, "depths", MAX_DEPTH),
            "widths": _range(self.widths, "widths", MAX_DRAWN_WIDTH),
            "width_divisor": divisor,
            "bottleneck_ratios": _choices(self.bottleneck_ratios, "bottleneck_ratios"),
            "group_widths": _choices(self.group_widths, "group_widths"),
            "strides": whole_numbers(self.strides, "space: strides", STAGES, MAX_RESOLUTION),
            "stem": one_of(self.stem, "space: stem", STEMS),
            "stem_width": whole_number(self.stem_width, "space: stem_width", 1, MAX_WIDTH),
        }
        for name, value in clean.items():
            object.__setattr__(self, name, value)
        for width in self.widths:
            _check_divides(divisor, width, f"widths: {width} is not a multiple of width_divisor")
        for ratio in self.bottleneck_ratios:
            _check_divides(ratio, divisor, f"width_divisor: {divisor} is not a multiple of ratio")

    @classmethod
    def anynetx(cls, stem: str = "imagenet", **overrides: Any) -> "DesignSpace":
        """Return the paper's space, with the given fields changed."""
        return cls.from_spec({"stem": stem, **overrides})

    @classmethod
    def from_spec(cls, spec: str | Mapping[str, Any]) -> "DesignSpace":
        """Return the space that a sweep file declares: a name, or a mapping of changes to one.

        The mapping's `base` is the name (default `anynetx`), its other keys are fields of this
        class. Raises UserError naming unknown keys with the legal ones, or the illegal value.
        """
        if isinstance(spec, str):
            spec = {"base": spec}
        if not isinstance(spec, Mapping):
            raise UserError(f"space: {spec!r} is neither a name nor a mapping; e.g. anynetx")
        changes = dict(spec)
        one_of(changes.pop("base", "anynetx"), "space: base", BASES)
        known_keys(changes, "space", ["base", *(field.name for field in fields(cls))])
        return cls(**changes)

    def to_spec(self) -> dict[str, Any]:
        """Return the whole space, JSON-able: the inverse of `from_spec`."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        listed = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
        return {"base": "anynetx", **listed}

    @cached_property
    def distributions(self) -> tuple[Distribution, ...]:
        """The distributions of depth, width, bottleneck ratio and group width, in this order."""
        return (
            log_uniform(self.depths[0], self.depths[1], step=1),
            log_uniform(self.widths[0], self.widths[1], self.width_divisor),
            uniform(self.bottleneck_ratios),
            uniform(self.group_widths),
        )

    def drawn(self, words: Words) -> Networks:
        """Return one network a row of words, shape (n, 16), as drawn and not yet realised.

        Words 1 to 4 draw the depths, then follow widths, bottleneck ratios and group widths.
        """
        columns = (words[:, 4 * k : 4 * k + 4] for k in range(4))
        d, w, b, g = (x.draw(y) for x, y in zip(self.distributions, columns, strict=True))
        return Networks(d, w, b, g, self.stem, self.stem_width, self.strides)

    def sample(
        self,
        count: int,
        flops: tuple[float, float] | None = None,
        resolution: int = 224,
        classes: int = 1000,
        seed: int = 0,
    ) -> Population:
        """Draw `count` different architectures with FLOPs in [lo, hi] (None: whatever they have).

        FLOPs are multiply-adds for images of `resolution` pixels a side and `classes` classes. The
        result depends on nothing but the arguments, and is a prefix of that for a larger count.
        Raises UserError where the band is empty or nearly so, saying what is reachable.
        """
        request = sampling.request(self, count, flops, resolution, classes, seed)
        return sampling.sample(request)


def _range(values: Any, name: str, high: int) -> tuple[int, ...]:
    low, top = whole_numbers(values, f"space: {name} (lowest, highest)", 2, high)
    if low > top:
        raise UserError(f"space: {name}: the lowest, {low}, is above the highest, {top}")
    return low, top


def _choices(values: Any, name: str) -> tuple[int, ...]:
    choices = whole_numbers(values, f"space: {name}", None, MAX_WIDTH)
    if len(set(choices)) < len(choices):
        raise UserError(f"space: {name}: {list(choices)} names a value twice")
    return tuple(sorted(choices))


def _check_divides(divisor: int, value: int, complaint: str) -> None:
    if value % divisor:
        raise UserError(f"space: {complaint} {divisor}")
