"""Which runs a sweep consists of, in the order in which they are trained: its plan, as columns."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from anynet_study.data import DatasetView, load_dataset, make_view
from anynet_study.design_space import Population
from anynet_study.dispatch.cost.features import (
    FurtherEvaluation,
    Workload,
    evaluation_features,
    run_features,
)
from anynet_study.dispatch.cost.prices import CostModel, expected_cost
from anynet_study.errors import UserError
from anynet_study.metrics import Metric
from anynet_study.sweep import Sweep
from anynet_study.training import (
    EvaluationSet,
    Recipe,
    ResolvedRecipe,
    RunSpec,
    as_json,
    canonical_text,
    evaluation_sets,
    id_of,
    steps_per_epoch,
)


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
    tests: tuple[FurtherEvaluation, ...]

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
        setting = self.settings[column]
        return PlannedRun(
            self.table[row, column].decode(),
            self._spec(architecture, column, seed),
            setting.dataset,
            setting.recipe,
            seed,
            self._seconds(place, architecture, column),
            setting.evaluations,
        )

    def _seconds(self, place: int, architecture: int, column: int) -> float:
        if self.left is not None and not np.isnan(self.left[place]):
            return float(self.left[place])
        return float(self.lengths[architecture, column])

    def _spec(self, architecture: int, column: int, seed: int) -> RunSpec:
        setting = self.settings[column]
        start = None if setting.start is None else self._spec(architecture, setting.start, seed)
        return RunSpec(self.population[architecture], setting.data, setting.resolved, seed, start)

    def ids(self) -> list[str]:
        """The ids of the runs, in order."""
        ids: list[str] = self.table.reshape(-1)[self.places].astype(str).tolist()
        return ids

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
        chosen = np.fromiter(map(wanted, self.ids(), columns), bool, len(self))
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
        return any(
            (self.settings[setting.start].dataset, self.settings[setting.start].recipe)
            == (run.dataset, run.recipe)
            for setting in self.settings
            if setting.start is not None
        )

    def workloads(self, views: Mapping[str, DatasetView]) -> list[Workload]:
        """The work of training in each setting; `views` by the sweep's labels."""
        return [Workload.on(views[setting.dataset], setting.resolved) for setting in self.settings]

    def with_lengths(self, works: Sequence[Workload], cost: CostModel) -> "Plan":
        """The same runs, with lengths predicted by `cost`; `works`: training in each setting."""
        groups, columns = self.population.groups, []
        for setting, work in zip(self.settings, works, strict=True):
            tests = evaluation_features(groups, setting.tests, work.resolution)
            columns.append(cost.seconds(run_features(groups, work) + tests))
        return replace(self, lengths=np.stack(columns, axis=1), left=None)


def load_views(sweep: Sweep) -> dict[str, DatasetView]:
    """Open the datasets of a sweep; UserError names the first that is missing or impossible."""
    bases = {entry.base for entry in sweep.datasets.values()}
    opened = {base: load_dataset(base) for base in sorted(bases)}
    views = {}
    for label, entry in sweep.datasets.items():
        with naming(label):
            views[label] = make_view(opened[entry.base], entry.variant)
    return views


@contextmanager
def naming(label: str) -> Iterator[None]:
    """Say in a UserError which dataset of the sweep it is about."""
    try:
        yield
    except UserError as error:
        raise UserError(f"dataset {label}: {error}") from None


def make_plan(
    sweep: Sweep,
    population: Population,
    views: Mapping[str, DatasetView],
    cost: CostModel | None = None,
) -> Plan:
    """All runs that a sweep asks for. UserError where a recipe does not fit a dataset."""
    plan = plan_of(sweep, population, _settings(sweep, views))
    cost = cost or expected_cost(sweep.launch.cluster, sweep.launch.slurm)
    return plan.with_lengths(plan.workloads(views), cost)


def plan_of(sweep: Sweep, population: Population, settings: tuple[Setting, ...]) -> Plan:
    """All runs of a population in some settings, their lengths not predicted yet."""
    _refuse_twins(settings)
    first, repeated = len(population), sweep.replicates.architectures
    again = first if repeated is None else min(first, repeated)
    counts = [again if seed else first for seed in range(sweep.replicates.count)]
    rows = np.array([(place, seed) for seed, count in enumerate(counts) for place in range(count)])
    ids = _ids(population, settings, rows)
    return Plan(population, settings, rows, ids, np.empty((0, 0)), np.arange(ids.size))


def _settings(sweep: Sweep, views: Mapping[str, DatasetView]) -> tuple[Setting, ...]:
    asked = evaluations_by_dataset(sweep, views)
    settings = []
    for label, name, start in columns_of(sweep):
        view = views[label]
        resolved = resolve_on(view, sweep.recipes[name].for_dataset(label), label)
        tests = tuple(map(FurtherEvaluation.of, asked.get(label, {}).values()))
        settings.append(Setting(label, name, resolved, view.identity, start, tests))
    return tuple(settings)


def columns_of(sweep: Sweep) -> list[tuple[str, str, int | None]]:
    """Dataset and recipe of each column of the plan, and the column whose weights it starts from.

    In the sweep's order, those that start from others' weights after all others.
    """
    pairs = [
        (label, name)
        for name, recipe in sweep.recipes.items()
        for label in sweep.trained_datasets(recipe)
    ]
    pairs.sort(key=lambda pair: sweep.recipes[pair[1]].pretrained is not None)
    sources = [sweep.recipes[name].pretrained for _, name in pairs]
    starts = [
        pairs.index((source, sweep.pretraining(source))) if source else None for source in sources
    ]
    return [(*pair, start) for pair, start in zip(pairs, starts, strict=True)]


def _ids(
    population: Population, settings: Sequence[Setting], rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.bytes_]:
    """Ids of all runs, shape (rows, settings)."""
    architectures = [as_json(architecture.to_dict()) for architecture in population]
    columns = [
        (as_json(setting.data), as_json(setting.resolved.model_dump()), setting.start)
        for setting in settings
    ]
    ids = np.empty((len(rows), len(settings)), "S16")
    for row, (place, seed) in zip(ids, rows.tolist(), strict=True):
        made: list[str] = []
        for data, recipe, start in columns:
            weights_of = None if start is None else made[start]
            text = canonical_text(architectures[place], data, recipe, seed, weights_of)
            made.append(id_of(text))
        row[:] = made
    return ids


def evaluations_by_dataset(
    sweep: Sweep, views: Mapping[str, DatasetView]
) -> dict[str, dict[str, EvaluationSet]]:
    """The further test sets of the networks trained on each dataset, by the sweep's names.

    UserError names an evaluation that fits no dataset, or not one that it names.
    """
    asked: dict[str, dict[str, EvaluationSet]] = {}
    for name, spec in sweep.evaluations.items():
        try:
            sets = evaluation_sets(spec, views).sets
        except UserError as error:
            raise UserError(f"evaluations.{name}: {error}") from None
        for label, evaluation_set in sets.items():
            asked.setdefault(label, {})[name] = evaluation_set
    return asked


def resolve_on(view: DatasetView, recipe: Recipe, label: str) -> ResolvedRecipe:
    """The recipe as used on a view; UserError where they do not fit."""
    size = len(view.classes), len(view.train_index), view.size
    return resolve(recipe, label, *size, view.multi_label, view.metric)


def resolve(
    recipe: Recipe,
    label: str,
    classes: int,
    train_images: int,
    side: int,
    multi_label: bool = False,
    metric: Metric | None = None,
) -> ResolvedRecipe:
    """The recipe as used on a dataset, with all its keys; UserError where they do not fit.

    `metric`: the dataset's own, where it has one.
    """
    with naming(label):
        if train_images < 2:
            raise UserError(f"{train_images} training images are too few")
        warmup = recipe.warmup_epochs * steps_per_epoch(train_images, recipe.batch_size)
        if recipe.steps is not None and warmup >= recipe.steps and warmup > 0:
            raise UserError(f"warmup_epochs: {warmup:g} steps of warm-up, of {recipe.steps} in all")
        if train_images < 2 * recipe.accumulation:
            raise UserError(
                f"accumulation: {train_images} training images make no {recipe.accumulation} parts"
            )
        return recipe.resolved(side, classes, multi_label, metric)


def _refuse_twins(settings: Sequence[Setting]) -> None:
    """A run is recorded once, so two names for the same run would leave one without results."""
    names: dict[object, str] = {}
    for setting in settings:
        this = f"dataset {setting.dataset} with recipe {setting.recipe}"
        other = names.setdefault((as_json(setting.data), setting.resolved, setting.start), this)
        if other != this:
            raise UserError(
                f"{this}: the same images and the same training as {other}; leave one of them out"
            )
