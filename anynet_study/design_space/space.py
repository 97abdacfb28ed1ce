"""Design spaces: which architectures there are, and how likely each is drawn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from anynet_study.core.errors import UserError
from anynet_study.design_space import sampling
from anynet_study.design_space.anynet import AnyNet
from anynet_study.design_space.bands import Bounds
from anynet_study.design_space.complexity import MEASURES
from anynet_study.design_space.networks import Networks, Skeleton
from anynet_study.design_space.population import Population
from anynet_study.design_space.regnet import RegNet
from anynet_study.design_space.validation import known_keys, one_of

FAMILIES: dict[str, type[AnyNet] | type[RegNet]] = {"anynet": AnyNet, "regnet": RegNet}

#: Simple stem and stride 2 everywhere, as in Radosavovic et al. 2020 ("Designing network design
#: spaces", section 3.2 and Table 1 for AnyNetX, 3.3 for RegNet).
_RADOSAVOVIC = {"stem": "simple", "stem_width": 32, "strides": [2, 2, 2, 2]}
_SHARED_RATIO = {"shared": ["bottleneck_ratios"]}
_SHARED_BOTH = {"shared": ["bottleneck_ratios", "group_widths"]}

#: `family` says which parameters a space has: those of `AnyNet` or of `RegNet`.
SPACES: dict[str, dict[str, Any]] = {
    # Paper 1, section 4.1: the defaults.
    "anynetx": {"family": "anynet"},
    # Its ancestors, one constraint after the other.
    "anynetxa": {"family": "anynet", **_RADOSAVOVIC},
    "anynetxb": {"family": "anynet", **_RADOSAVOVIC, **_SHARED_RATIO},
    "anynetxc": {"family": "anynet", **_RADOSAVOVIC, **_SHARED_BOTH},
    "anynetxd": {
        "family": "anynet",
        **_RADOSAVOVIC,
        **_SHARED_BOTH,
        "non_decreasing": ["widths"],
    },
    "anynetxe": {
        "family": "anynet",
        **_RADOSAVOVIC,
        **_SHARED_BOTH,
        "non_decreasing": ["widths", "depths"],
    },
    "regnetx": {"family": "regnet", **_RADOSAVOVIC},
    "regnety": {"family": "regnet", **_RADOSAVOVIC, "se_ratio": 0.25},
}


@dataclass(frozen=True)
class DesignSpace:
    """A skeleton, and how the stages of its networks are drawn: declared, not coded.

    `from_spec` makes one of a name or of a mapping, as in a sweep file; see `Skeleton`, `AnyNet`
    and `RegNet` for the keys.
    """

    skeleton: Skeleton
    stages: AnyNet | RegNet

    @classmethod
    def anynetx(cls, stem: str = "imagenet", **overrides: Any) -> "DesignSpace":
        """Return the space of paper 1, with the given keys changed."""
        return cls.from_spec({"stem": stem, **overrides})

    @classmethod
    def from_spec(cls, spec: str | Mapping[str, Any]) -> "DesignSpace":
        """Return the space that a sweep file declares: a name, or a mapping of changes to one.

        The mapping's `base` is the name (default `anynetx`), its other keys are the fields of
        `Skeleton` and of the base's family, `AnyNet` or `RegNet`. There are as many stages as
        strides. Raises UserError naming unknown keys with the legal ones, or the illegal value.
        """
        if isinstance(spec, str):
            spec = {"base": spec}
        if not isinstance(spec, Mapping):
            raise UserError(f"space: {spec!r} is neither a name nor a mapping; e.g. anynetx")
        changes = dict(spec)
        base = dict(SPACES[one_of(changes.pop("base", "anynetx"), "space: base", SPACES)])
        family = FAMILIES[base.pop("family")]
        of_frame, of_stages = (set(_names(kind)) for kind in (Skeleton, family))
        known_keys(changes, "space", ["base", *_names(family), *_names(Skeleton)])
        values = {**base, **changes}
        skeleton = Skeleton.checked("space", {k: v for k, v in values.items() if k in of_frame})
        rest = {k: v for k, v in values.items() if k in of_stages}
        return cls(skeleton, family.checked(skeleton, rest))

    def to_spec(self) -> dict[str, Any]:
        """Return the whole space, JSON-able: the inverse of `from_spec`."""
        base = "anynetx" if isinstance(self.stages, AnyNet) else "regnetx"
        values = {
            name: getattr(part, name)
            for part in (self.stages, self.skeleton)
            for name in _names(part)
        }
        for name in ("depths", "widths"):
            if len(values.get(name, ())) == 1:  # one range for all stages
                values[name] = values[name][0]
        if (
            values.get("compatible") == "adjust"
        ):  # as populations were drawn before there was the key
            del values["compatible"]
        return {"base": base, **{name: _listed(value) for name, value in values.items()}}

    @property
    def words(self) -> int:
        """The number of 32-bit words that a candidate takes, whatever it becomes."""
        return self.stages.words(self.skeleton)

    def draw(self, words: npt.NDArray[np.int64]) -> tuple[Networks, npt.NDArray[np.bool_] | None]:
        """Return the network (float64) of each column of words, shape (words, n).

        The second result says which of them are in the space (None: all): rejecting the others is
        what conditions the documented distributions on the space's constraints.
        """
        return self.stages.draw(words, self.skeleton)

    def sample(
        self,
        count: int,
        flops: Bounds = None,
        resolution: int = 224,
        classes: int = 1000,
        seed: int = 0,
        *,
        parameters: Bounds = None,
        activations: Bounds = None,
        strata: Mapping[str, Any] | None = None,
        on_found: Callable[[int], None] | None = None,
    ) -> Population:
        """Draw `count` different architectures in the bands [lowest, highest] (None: whatever).

        FLOPs are multiply-adds for images of `resolution` pixels a side and `classes` classes; the
        other bands are meant there, too. The result depends on nothing but the arguments, and is a
        prefix of that for a larger count. Raises UserError where the bands are empty or nearly so,
        saying what is reachable.

        `strata` such as {"of": "depth", "edges": [10, 20]} draws as many architectures of each
        stratum and records weights (see `Strata`). `on_found` is told now and then how many have
        been found.

        >>> population = DesignSpace.anynetx().sample(3, flops=(360e6, 400e6), seed=0)
        >>> population
        <Population of 3 architectures, costs at 224 px, 1000 classes>
        >>> population[0].depths, population[0].flops(resolution=224, classes=1000)
        ((1, 10, 7, 15), 383920928)
        """
        bounds = {"flops": flops, "parameters": parameters, "activations": activations}
        request = sampling.request(self, count, bounds, resolution, classes, seed, strata)
        return sampling.sample(request, on_found=on_found)


def draws_without_bands(
    spec: dict[str, Any], resolution: int, classes: int, candidates: int = 20_000
) -> Population:
    """Return the candidates of seed 0 that are in the space of a spec, those that repeat included.

    So a network is there in proportion to its probability, which a sample without repetitions
    does not show where the space is small. Costs are counted at `resolution` and `classes`.
    """
    space, unlimited = DesignSpace.from_spec(spec), dict.fromkeys(MEASURES)
    asked = sampling.request(space, candidates, unlimited, resolution, classes, 0)
    networks, legal = asked.candidates(0, candidates)
    drawn = np.arange(candidates) if legal is None else np.flatnonzero(legal)
    record = {"resolution": resolution, "classes": classes, "count": len(drawn)}
    return Population.from_networks(networks.select(drawn), resolution, classes, record)


def _names(part: Any) -> list[str]:
    return [field.name for field in fields(part)]


def _listed(value: Any) -> Any:
    return [_listed(part) for part in value] if isinstance(value, tuple) else value
