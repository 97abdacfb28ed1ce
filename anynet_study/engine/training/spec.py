"""The specification of a run: everything that determines its result, and nothing else."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal, Optional

from anynet_study.design_space import AnyNetwork
from anynet_study.engine.training.recipe import ResolvedRecipe

#: Raised whenever the meaning of a specification changes. Rounding is not meaning: another engine
#: or another version of torch gives other last bits, and the same result within seed noise.
#: 2: runs that share data and seed see the images in the same order.
SEMANTICS = 2
#: What a run takes over from the end of another: its weights but the head, all its weights, or
#: these with the state of the optimiser and the epoch, so that it goes on from there. Or, of a
#: file of weights, these but the head.
Inherited = Literal["body", "weights", "state", "file"]
#: What specifications call these.
CALLED_IN_SPECS = {
    "body": "weights_of",
    "weights": "all_weights_of",
    "state": "state_of",
    "file": "weights_file",
}


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One architecture trained on one dataset with one recipe and seed.

    A run is a pure function of its specification: names, machines, engines and packing are not
    part of it.
    """

    architecture: AnyNetwork
    #: What determines the data: `DatasetView.identity`, with captions a hash of them. JSON-able.
    data: dict[str, Any]
    #: Resolved for the dataset (`Recipe.resolved`).
    recipe: ResolvedRecipe
    #: Replicates of a run differ in nothing but this.
    seed: int = 0
    #: The run from whose end this one starts; None: from scratch.
    pretrained: Optional["RunSpec"] = None
    #: What it takes over from there.
    inherits: Inherited = "body"
    #: SHA-256 of the file whose weights it starts from, where it inherits a file's.
    weights: str | None = None

    @property
    def depth(self) -> int:
        """Return how many runs are trained before it can begin, one from the end of the other."""
        return 0 if self.pretrained is None else 1 + self.pretrained.depth

    def canonical(self) -> str:
        """The specification as JSON with sorted keys: equal specifications, equal text."""
        return canonical_text(
            as_json(self.architecture.to_dict()),
            as_json(self.data),
            as_json(self.recipe.model_dump()),
            self.seed,
            self.pretrained.run_id if self.pretrained else self.weights,
            self.inherits,
        )

    @property
    def run_id(self) -> str:
        """16 hexadecimal digits: a hash of the canonical specification."""
        return id_of(self.canonical())

    def seed_for(self, *purpose: object) -> int:
        """A 63-bit seed for one use of randomness (`"epoch", 3`), independent of all others."""
        return _seed(self.canonical(), *purpose)

    def order_seed(self, epoch: int) -> int:
        """A 63-bit seed for the order of the images in 0-based `epoch`.

        The same for all runs that share data and seed, whatever their architecture and recipe:
        they can be fed by one stream of batches, and differ by one source of noise less.
        """
        fields = {"data": self.data, "seed": self.seed, "semantics": SEMANTICS}
        return _seed(as_json(fields), "order", epoch)


def as_json(value: object) -> str:
    """JSON with sorted keys and without spaces: equal values, equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def canonical_text(
    architecture: str,
    data: str,
    recipe: str,
    seed: int,
    start: str | None,
    inherits: Inherited = "body",
) -> str:
    """The canonical specification from the JSON of its parts.

    Of many runs most parts are alike: writing each once makes a million ids in seconds.
    `start` is the id of the run that this one starts from, or the SHA-256 of a file of weights.
    """
    begins = '"scratch"' if start is None else f'{{"{CALLED_IN_SPECS[inherits]}":"{start}"}}'
    return (
        f'{{"architecture":{architecture},"data":{data},"initialisation":{begins},'
        f'"recipe":{recipe},"seed":{seed},"semantics":{SEMANTICS}}}'
    )


def id_of(canonical: str) -> str:
    """The id of a canonical specification."""
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _seed(*parts: object) -> int:
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
