"""The runs of a study in order, held as columns: a million of them take some dozen megabytes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from anynet_study.data import DatasetView
from anynet_study.design_space import Population
from anynet_study.dispatch.cost import CostModel
from anynet_study.dispatch.cost_features import Workload, run_features
from anynet_study.training.recipe import ResolvedRecipe
from anynet_study.training.spec import RunSpec


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run and the names by which the sweep calls it."""

    run_id: str
    spec: RunSpec
    dataset: str
    recipe: str
    replicate: int
    #: Predicted length on one worker.
    seconds: float
    #: Ids of the further evaluations of its final weights.
    evaluations: tuple[str, ...] = ()

    def named(self) -> dict[str, Any]:
        """What a record says of the run, however it ended."""
        return {
            "run_id": self.run_id,
            "spec": self.spec.canonical(),
            "architecture": self.spec.architecture.id,
            "dataset": self.dataset,
            "recipe": self.recipe,
            "replicate": self.replicate,
            "metric": self.spec.recipe.metric,
        }


@dataclass(frozen=True, eq=False)
class Setting:
    """A dataset trained with a recipe: what a column of the plan is."""

    dataset: str
    recipe: str
    resolved: ResolvedRecipe
    #: `DatasetView.identity`.
    data: dict[str, Any]
    #: The column from whose weights its runs start; None: from scratch.
    start: int | None
    #: Ids of the further evaluations of its runs.
    evaluations: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Plan(Sequence[PlannedRun]):
    """Every run of a study: a row for each architecture and seed, a column for each setting.

    Row by row they are in the order in which they are trained: first seeds before replicates, an
    architecture in all settings before the next, so that what has finished at any time can be
    analysed. A PlannedRun is made when it is asked for.
    """

    population: Population
    settings: tuple[Setting, ...]
    #: Of each row: the architecture's place in the population, and the seed. Shape (rows, 2).
    rows: npt.NDArray[np.int64]
    #: Run ids, shape (rows, settings).
    ids: npt.NDArray[np.bytes_]
    #: Predicted lengths on one worker, shape (architectures, settings).
    seconds: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return self.ids.size

    @overload
    def __getitem__(self, place: int) -> PlannedRun: ...
    @overload
    def __getitem__(self, place: slice) -> list[PlannedRun]: ...
    def __getitem__(self, place: int | slice) -> PlannedRun | list[PlannedRun]:
        if isinstance(place, slice):
            return [self._run(each) for each in range(*place.indices(len(self)))]
        return self._run(range(len(self))[place])

    def __iter__(self) -> Iterator[PlannedRun]:
        return map(self._run, range(len(self)))

    def _run(self, place: int) -> PlannedRun:
        row, column = divmod(place, len(self.settings))
        architecture, seed = self.rows[row].tolist()
        it = self.settings[column]
        return PlannedRun(
            self.ids[row, column].decode(),
            self._spec(architecture, column, seed),
            it.dataset,
            it.recipe,
            seed,
            float(self.seconds[architecture, column]),
            it.evaluations,
        )

    def _spec(self, architecture: int, column: int, seed: int) -> RunSpec:
        it = self.settings[column]
        start = None if it.start is None else self._spec(architecture, it.start, seed)
        return RunSpec(self.population[architecture], it.data, it.resolved, seed, start)

    def find(self, run_ids: Iterable[str]) -> list[PlannedRun]:
        """The planned runs among `run_ids`, in the plan's order."""
        return [self._run(place) for place in sorted(self.places(run_ids)) if place >= 0]

    def starts_others(self, run: PlannedRun) -> bool:
        """Whether other planned runs start from its weights."""
        starts = [self.settings[it.start] for it in self.settings if it.start is not None]
        return (run.dataset, run.recipe) in {(it.dataset, it.recipe) for it in starts}

    def places(self, run_ids: Iterable[str]) -> list[int]:
        """The place of each run in the plan; -1 where it is not planned."""
        wanted = np.array(list(run_ids), self.ids.dtype)
        ids = self.ids.reshape(-1)
        near = np.minimum(np.searchsorted(ids, wanted, sorter=self._order), len(ids) - 1)
        places = self._order[near]
        found: list[int] = np.where(ids[places] == wanted, places, -1).tolist()
        return found

    @cached_property
    def _order(self) -> npt.NDArray[np.int64]:
        return np.argsort(self.ids, axis=None)

    def priced(self, views: Mapping[str, DatasetView], cost: CostModel) -> "Plan":
        """The same runs, with lengths predicted by `cost`; `views` by the sweep's labels."""
        groups = self.population.groups
        works = [Workload.on(views[it.dataset], it.resolved) for it in self.settings]
        columns = [cost.seconds(run_features(groups, work)) for work in works]
        return replace(self, seconds=np.stack(columns, axis=1))
