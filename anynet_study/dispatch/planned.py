"""The runs of a study in order, held as columns: a million of them take some dozen megabytes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from anynet_study.data import DatasetView
from anynet_study.design_space import Population
from anynet_study.dispatch.cost.features import Workload, run_features
from anynet_study.dispatch.cost.further import FurtherTest, evaluation_features
from anynet_study.dispatch.cost.model import CostModel
from anynet_study.training.recipe import ResolvedRecipe
from anynet_study.training.spec import RunSpec

#: Ids that are text at a time.
DECODED = 1 << 14


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run and the names by which the sweep calls it."""

    run_id: str
    spec: RunSpec
    dataset: str
    recipe: str
    replicate: int
    #: Predicted length on one worker, with its further evaluations; of what is left of it, where
    #: the plan knows.
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
    #: The further evaluations of its runs.
    tests: tuple[FurtherTest, ...]

    @property
    def evaluations(self) -> tuple[str, ...]:
        """The ids of the further evaluations."""
        return tuple(test.evaluation_id for test in self.tests)


@dataclass(frozen=True, eq=False)
class Plan(Sequence[PlannedRun]):
    """The runs of a study, or some of them, in the order in which they are trained.

    A row for each architecture and seed, a column for each setting. Row by row: first seeds before
    replicates, an architecture in all settings before the next, so that what has finished at any
    time can be analysed. A PlannedRun is made when it is asked for.
    """

    population: Population
    settings: tuple[Setting, ...]
    #: Of each row: the architecture's place in the population, and the seed. Shape (rows, 2).
    rows: npt.NDArray[np.int64]
    #: Run ids, shape (rows, settings).
    table: npt.NDArray[np.bytes_]
    #: Predicted lengths on one worker, with further evaluations, shape (architectures, settings).
    lengths: npt.NDArray[np.float64]
    #: Places in `table`, read row by row, of the runs of this part, shape (runs,).
    places: npt.NDArray[np.int64]
    #: Predicted seconds that are left of each run of `table`, read row by row, where that is not
    #: its whole length, else NaN; None: of all runs everything is left.
    left: npt.NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, place: int) -> PlannedRun: ...
    @overload
    def __getitem__(self, place: slice) -> "Plan": ...
    def __getitem__(self, place: int | slice) -> "PlannedRun | Plan":
        if isinstance(place, slice):
            return replace(self, places=self.places[place])
        return self._run(int(self.places[place]))

    def __iter__(self) -> Iterator[PlannedRun]:
        return map(self._run, self.places.tolist())

    def _run(self, place: int) -> PlannedRun:
        row, column = divmod(place, len(self.settings))
        architecture, seed = self.rows[row].tolist()
        it = self.settings[column]
        return PlannedRun(
            self.table[row, column].decode(),
            self._spec(architecture, column, seed),
            it.dataset,
            it.recipe,
            seed,
            self._seconds(place, architecture, column),
            it.evaluations,
        )

    def _seconds(self, place: int, architecture: int, column: int) -> float:
        if self.left is not None and not np.isnan(self.left[place]):
            return float(self.left[place])
        return float(self.lengths[architecture, column])

    def _spec(self, architecture: int, column: int, seed: int) -> RunSpec:
        it = self.settings[column]
        start = None if it.start is None else self._spec(architecture, it.start, seed)
        return RunSpec(self.population[architecture], it.data, it.resolved, seed, start)

    def ids(self) -> list[str]:
        """The ids of the runs, in order."""
        return list(self.each_id())

    def each_id(self) -> Iterator[str]:
        """The ids one by one, some thousand of them text at a time: that takes much more room."""
        ids = self.table.reshape(-1)
        for first in range(0, len(self), DECODED):
            yield from ids[self.places[first : first + DECODED]].astype(str).tolist()

    def seconds(self) -> npt.NDArray[np.float64]:
        """The predicted lengths of the runs, in order."""
        row, column = np.divmod(self.places, len(self.settings))
        lengths: npt.NDArray[np.float64] = self.lengths[self.rows[row, 0], column]
        if self.left is None:
            return lengths
        left = self.left[self.places]
        return np.where(np.isnan(left), lengths, left)

    def where(self, wanted: Callable[[str, Setting], bool]) -> "Plan":
        """The runs whose id and setting are `wanted`."""
        columns = map(self.settings.__getitem__, self.places % len(self.settings))
        chosen = np.fromiter(map(wanted, self.each_id(), columns), bool, len(self))
        return replace(self, places=self.places[chosen])

    def find(self, run_ids: Iterable[str]) -> "Plan":
        """Those with these ids of all runs of the study; others are left out."""
        wanted = np.array(list(run_ids), self.table.dtype)
        ids = self.table.reshape(-1)
        near = np.minimum(np.searchsorted(ids, wanted, sorter=self._by_id), len(ids) - 1)
        places = self._by_id[near]
        return replace(self, places=np.unique(places[ids[places] == wanted]))

    def among(self, lists: Iterable[Iterable[str]]) -> "Plan":
        """The runs of this part that are in one of some lists of ids."""
        marked = np.zeros(self.table.size, bool)
        for run_ids in lists:
            marked[self.find(run_ids).places] = True
        return replace(self, places=self.places[marked[self.places]])

    def without(self, other: "Plan") -> "Plan":
        """The runs of this part that are not of the other."""
        return replace(self, places=np.setdiff1d(self.places, other.places, assume_unique=True))

    @cached_property
    def _by_id(self) -> npt.NDArray[np.int64]:
        return np.argsort(self.table, axis=None)

    def starts_others(self, run: PlannedRun) -> bool:
        """Whether other runs of the study start from its weights."""
        starts = [self.settings[it.start] for it in self.settings if it.start is not None]
        return (run.dataset, run.recipe) in {(it.dataset, it.recipe) for it in starts}

    def priced(self, views: Mapping[str, DatasetView], cost: CostModel) -> "Plan":
        """The same runs, with lengths predicted by `cost`; `views` by the sweep's labels."""
        works = [Workload.on(views[it.dataset], it.resolved) for it in self.settings]
        return self.with_lengths(works, cost)

    def with_lengths(self, works: Sequence[Workload], cost: CostModel) -> "Plan":
        """The same runs, with lengths predicted by `cost`; `works`: training in each setting."""
        groups, columns = self.population.groups, []
        for it, work in zip(self.settings, works, strict=True):
            tests = evaluation_features(groups, it.tests, work.resolution)
            trained = cost.seconds(run_features(groups, work))
            columns.append(trained + cost.evaluation_seconds(tests))
        return replace(self, lengths=np.stack(columns, axis=1), left=None)
