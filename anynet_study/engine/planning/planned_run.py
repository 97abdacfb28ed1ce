"""A run of a plan. Apart from the plan, so that what decides between trials can name runs."""

from dataclasses import dataclass
from typing import Any

from anynet_study.engine.sweep import Trial
from anynet_study.engine.training import RunSpec


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run and the names by which the sweep calls it."""

    run_id: str
    spec: RunSpec
    dataset: str
    recipe: str
    replicate: int
    #: Predicted seconds on one worker, with its further evaluations. Once the plan knows how much
    #: of the run is done, the seconds of the rest.
    seconds: float
    #: Ids of the further evaluations of its final weights.
    evaluations: tuple[str, ...] = ()
    #: Its architecture's place in the population, and the id that it has there: the network may
    #: have another stem.
    place: int = 0
    architecture: str = ""
    #: The file of weights that it starts from; "": none.
    weights: str = ""
    #: Of a tuned recipe: which of its trials.
    trial: Trial | None = None

    def named(self) -> dict[str, Any]:
        """Return what a record says of the run, however it ended."""
        return {
            "run_id": self.run_id,
            "spec": self.spec.canonical(),
            "architecture": self.architecture,
            "dataset": self.dataset,
            "recipe": self.recipe,
            "replicate": self.replicate,
            "metric": self.spec.recipe.metric,
        }
