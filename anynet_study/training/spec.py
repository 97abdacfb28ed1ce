"""The specification of a run: everything that determines its result, and nothing else."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from anynet_study.design_space import Architecture
from anynet_study.training.recipe import Recipe

#: Raised whenever the same specification would give another result than before.
SEMANTICS = 1


@dataclass(frozen=True)
class RunSpec:
    """One architecture trained from scratch on one dataset with one recipe and seed.

    A run is a pure function of its specification: names, machines and packing are not part of it.
    """

    architecture: Architecture
    #: What determines the data: `DatasetView.identity`, JSON-able.
    data: dict[str, Any]
    #: Resolved for the dataset (`Recipe.resolved`).
    recipe: Recipe
    #: Replicates of a run differ in nothing but this.
    seed: int = 0

    def canonical(self) -> str:
        """The specification as JSON with sorted keys: equal specifications, equal text."""
        fields = {
            "architecture": self.architecture.to_dict(),
            "data": self.data,
            "recipe": self.recipe.model_dump(),
            "seed": self.seed,
            "initialisation": "scratch",
            "semantics": SEMANTICS,
        }
        return json.dumps(fields, sort_keys=True, separators=(",", ":"))

    @property
    def run_id(self) -> str:
        """16 hexadecimal digits: a hash of the canonical specification."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()[:16]

    def seed_for(self, *purpose: object) -> int:
        """A 63-bit seed for one use of randomness (`"epoch", 3`), independent of all others."""
        text = "/".join([self.canonical(), *map(str, purpose)])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
