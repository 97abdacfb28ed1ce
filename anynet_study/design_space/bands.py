"""The networks that a population may have: bands of complexity, and strata of them with weights."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from anynet_study.core.errors import UserError
from anynet_study.design_space import complexity
from anynet_study.design_space.architecture import checked
from anynet_study.design_space.complexity import MEASURES
from anynet_study.design_space.networks import Counts, FloatArray, IntArray, Networks
from anynet_study.design_space.validation import known_keys, one_of

Bounds: TypeAlias = tuple[float, float] | None
MAX_BOUND = 2**53
#: What strata can be of: cumulative depth and width (sums over the stages), or a complexity.
STRATIFIERS = ("depth", "width", *MEASURES)
MAX_STRATA = 100


@dataclass(frozen=True)
class Bands:
    """Lowest and highest FLOPs, parameters or activations, both included."""

    #: By measure, of those that are limited.
    limits: dict[str, tuple[int, int]]
    #: Image side (pixels) and number of classes for which the bands apply.
    resolution: int
    classes: int

    def measure(self, name: str, networks: Networks) -> Counts:
        """Return the FLOPs, parameters or activations of the networks, shape (n,)."""
        return complexity.measure(name, networks, self.resolution, self.classes)

    def inside(self, candidates: Networks) -> npt.NDArray[np.bool_]:
        """Tell which candidates are in all bands; exact for float64 arrays, too.

        Complexities are sums of products of positive whole numbers. Below 2^53, the limit of bands,
        float64 represents each of them exactly, and larger ones cannot be rounded to below it.
        """
        verdict = np.ones(len(candidates), dtype=bool)
        for name, (low, high) in self.limits.items():
            count = self.measure(name, candidates)
            verdict &= (count >= low) & (count <= high)
        return verdict


@dataclass(frozen=True)
class Strata:
    """Intervals of a quantity: below the first edge, between edges, from the last edge on.

    Strata take turns: architecture k of a sample is the next candidate of stratum k modulo the
    number of strata. Within a stratum, architectures follow the distribution of the space. The
    weight of an architecture is (share of its stratum among the candidates in the band) / (share of
    its stratum in the sample): weights have mean 1, and weighted averages estimate averages over
    the space.
    """

    of: str
    #: Increasing.
    edges: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.edges) + 1

    def of_networks(self, networks: Networks, bands: Bands) -> IntArray:
        """Return the number of each network's stratum, counted from 0, shape (n,)."""
        quantity = self.quantity(networks, bands)
        strata: IntArray = np.searchsorted(np.array(self.edges), quantity, side="right")
        return strata

    def quantity(self, networks: Networks, bands: Bands) -> Counts:
        """Return what the strata are of, for each network, shape (n,)."""
        if self.of in MEASURES:
            return bands.measure(self.of, networks)
        stages = networks.depths if self.of == "depth" else networks.widths
        return np.asarray(stages.sum(axis=0))

    def spec(self) -> dict[str, Any]:
        """Return the mapping that declares these strata, JSON-able."""
        return {"of": self.of, "edges": list(self.edges)}

    def name(self, stratum: int) -> str:
        """Say which values the stratum has, such as `depth 10 to 20`."""
        ends = [-np.inf, *self.edges, np.inf]
        low, high = ends[stratum], ends[stratum + 1]
        if stratum == 0:
            return f"{self.of} below {high:g}"
        return f"{self.of} from {low:g}" + ("" if high == np.inf else f" to below {high:g}")


def checked_bands(bounds: Mapping[str, Any], resolution: Any, classes: Any) -> Bands:
    """Check bounds by measure, each a pair or None. Raises UserError."""
    found = {name: checked_band(bounds[name], name) for name in MEASURES}
    limits = {name: band for name, band in found.items() if band is not None}
    return Bands(limits, *checked(resolution, classes))


def checked_band(bounds: Any, name: str) -> tuple[int, int] | None:
    """Return the whole numbers at the ends of a band of the named measure. Raises UserError."""
    if bounds is None:
        return None
    try:
        if isinstance(bounds, str):  # "12" is not the band from 1 to 2
            raise ValueError
        low, high = (float(bound) for bound in bounds)
        if not 0 <= low <= high < MAX_BOUND:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        unit = "multiply-adds" if name == "flops" else name
        raise UserError(
            f"{name}: {bounds!r}: legal: [lowest, highest] {unit}, such as [360e6, 400e6], "
            "from 0 to below 2^53"
        ) from None
    if math.ceil(low) > math.floor(high):
        raise UserError(f"{name}: there is no whole number in the band {low:g} to {high:g}")
    return math.ceil(low), math.floor(high)


def checked_strata(spec: Any) -> Strata | None:
    """Build from `{of: depth, edges: [10, 20]}`, or None. Raises UserError."""
    if spec is None:
        return None
    if not isinstance(spec, Mapping):
        raise UserError(f"strata: {spec!r} is no mapping; for example {{of: depth, edges: [20]}}")
    known_keys(spec, "strata", ["of", "edges"])
    of = one_of(spec.get("of"), "strata: of", STRATIFIERS)
    edges = spec.get("edges")
    numbers = isinstance(edges, list | tuple) and all(
        isinstance(edge, int | float) and not isinstance(edge, bool) and abs(edge) < MAX_BOUND
        for edge in edges
    )
    if not numbers or not edges or list(edges) != sorted(set(edges)) or len(edges) >= MAX_STRATA:
        raise UserError(
            f"strata: edges: {edges!r} is not a list of 1 to {MAX_STRATA - 1} increasing numbers"
        )
    return Strata(of, tuple(float(edge) for edge in edges))


def weights(strata: Strata, in_band: list[int], count: int) -> FloatArray:
    """Return the weights of a stratified sample, shape (count,), mean 1.

    `in_band`: candidates of each stratum that were in the band.
    """
    stratum = np.arange(count) % len(strata)
    sampled = np.bincount(stratum, minlength=len(strata))
    share = np.array(in_band) / sum(in_band)
    result: FloatArray = share[stratum] * count / sampled[stratum]
    return result / float(result.mean())
