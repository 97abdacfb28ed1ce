"""Bands of complexity: which networks a population may have."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from anynet_study.design_space import complexity
from anynet_study.design_space.architecture import checked
from anynet_study.design_space.networks import Counts, Networks
from anynet_study.errors import UserError

Bounds: TypeAlias = tuple[float, float] | None
#: What bands can be of, and what each counts, in words.
UNITS = {"flops": "FLOPs", "parameters": "parameters", "activations": "activations"}
MEASURES = tuple(UNITS)
MAX_BOUND = 2**53


@dataclass(frozen=True)
class Bands:
    """Lowest and highest FLOPs, parameters and activations, both included; None: all."""

    flops: tuple[int, int] | None
    parameters: tuple[int, int] | None
    activations: tuple[int, int] | None
    #: Image side and number of classes at which they are meant.
    resolution: int
    classes: int

    def limits(self) -> dict[str, tuple[int, int]]:
        """The measures that are limited, and how."""
        named = {name: getattr(self, name) for name in MEASURES}
        return {name: limits for name, limits in named.items() if limits is not None}

    def measure(self, name: str, networks: Networks) -> Counts:
        """Return the FLOPs, parameters or activations of the networks, shape (n,)."""
        if name == "parameters":
            return complexity.parameters(networks, self.classes)
        count = complexity.flops if name == "flops" else complexity.activations
        return count(networks, self.resolution, self.classes)

    def inside(self, candidates: Networks) -> npt.NDArray[np.bool_]:
        """Which candidates are in all bands; exact for float64 arrays, too.

        Their complexities are sums of products of positive whole numbers: below 2^53, where bands
        end, float64 has each of them exactly, and what is above cannot be rounded to below.
        """
        verdict = np.ones(len(candidates), dtype=bool)
        for name, (low, high) in self.limits().items():
            count = self.measure(name, candidates)
            verdict &= (count >= low) & (count <= high)
        return verdict


def checked_bands(bounds: Mapping[str, Any], resolution: Any, classes: Any) -> Bands:
    """Check bounds by measure, each a pair or None. Raises UserError."""
    bands = {name: _band(bounds[name], name) for name in MEASURES}
    resolution, classes = checked(resolution, classes)
    return Bands(bands["flops"], bands["parameters"], bands["activations"], resolution, classes)


def _band(bounds: Any, name: str) -> tuple[int, int] | None:
    if bounds is None:
        return None
    try:
        if isinstance(bounds, str):  # "12" is not the band from 1 to 2
            raise ValueError
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError, OverflowError):
        raise UserError(f"{name}: {bounds!r} is not a band: lowest, highest") from None
    if not 0 <= low <= high < MAX_BOUND:
        raise UserError(
            f"{name}: the band {low:g} to {high:g} is not 0 <= lowest <= highest < 2^53"
        )
    if math.ceil(low) > math.floor(high):
        raise UserError(f"{name}: there is no whole number in the band {low:g} to {high:g}")
    return math.ceil(low), math.floor(high)
