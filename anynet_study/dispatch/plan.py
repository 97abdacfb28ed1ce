"""Which runs a sweep consists of, in the order in which they are trained: its plan."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

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
    #: Its architecture's place in the population.
    place: int = 0

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
    """A dataset trained with a recipe."""

    dataset: str
    recipe: str
    resolved: ResolvedRecipe
    #: `DatasetView.identity`.
    data: dict[str, Any]
    #: Place of the setting from whose weights its runs start; None: from scratch.
    start: int | None
    #: The work of training.
    work: Workload
    #: The further evaluations of its runs.
    tests: tuple[FurtherEvaluation, ...]


@dataclass(frozen=True, eq=False)
class Plan(Sequence[PlannedRun]):
    """The runs of a study, or some of them, in the order in which they are trained.

    First seeds come before replicates, and an architecture in all settings before the next one, so
    that what has finished at any time can be analysed.
    """

    population: Population
    settings: tuple[Setting, ...]
    runs: Sequence[PlannedRun]

    def __len__(self) -> int:
        return len(self.runs)

    @overload
    def __getitem__(self, place: int) -> PlannedRun: ...
    @overload
    def __getitem__(self, place: slice) -> "Plan": ...
    def __getitem__(self, place: int | slice) -> "PlannedRun | Plan":
        if isinstance(place, slice):
            return replace(self, runs=self.runs[place])
        return self.runs[place]

    @cached_property
    def by_id(self) -> dict[str, PlannedRun]:
        """The runs by their ids, in order."""
        return {run.run_id: run for run in self.runs}

    def ids(self) -> list[str]:
        """The ids of the runs, in order."""
        return list(self.by_id)

    def where(self, wanted: Callable[[PlannedRun], bool]) -> "Plan":
        """The runs that are `wanted`."""
        return replace(self, runs=list(filter(wanted, self.runs)))

    def find(self, run_ids: Iterable[str]) -> "Plan":
        """The runs with these ids, in the plan's order; ids of others are ignored."""
        chosen = set(run_ids)
        return self.where(lambda run: run.run_id in chosen)

    def starts_others(self, run: PlannedRun) -> bool:
        """Whether other runs of the study start from its weights."""
        starts = [self.settings[it.start] for it in self.settings if it.start is not None]
        return any((it.dataset, it.recipe) == (run.dataset, run.recipe) for it in starts)

    def priced(self, cost: CostModel) -> "Plan":
        """The same runs with their whole lengths, as predicted by `cost`."""
        price = Prices(self, cost)
        seconds = (price.training(run) + price.testing(run, run.evaluations) for run in self.runs)
        return self.with_seconds(seconds)

    def with_seconds(self, seconds: Iterable[float]) -> "Plan":
        """The same runs with other predicted lengths, (runs,)."""
        pairs = zip(self.runs, seconds, strict=True)
        return replace(self, runs=[replace(run, seconds=length) for run, length in pairs])


class Prices:
    """Seconds of parts of a plan's runs by a cost model, each computed for all architectures."""

    def __init__(self, plan: Plan, cost: CostModel) -> None:
        self._groups, self._cost = plan.population.groups, cost
        self._settings = {(it.dataset, it.recipe): it for it in plan.settings}
        self._known: dict[tuple[str, str, tuple[str, ...] | None], list[float]] = {}

    def training(self, run: PlannedRun) -> float:
        """Seconds of training."""
        return self._of(run, None)

    def testing(self, run: PlannedRun, evaluations: tuple[str, ...]) -> float:
        """Seconds of those of its further evaluations that have these ids."""
        return self._of(run, evaluations)

    def _of(self, run: PlannedRun, evaluations: tuple[str, ...] | None) -> float:
        key = run.dataset, run.recipe, evaluations
        if key not in self._known:
            setting = self._settings[run.dataset, run.recipe]
            if evaluations is None:
                features = run_features(self._groups, setting.work)
            else:
                tests = [test for test in setting.tests if test.evaluation_id in evaluations]
                features = evaluation_features(self._groups, tests, setting.work.resolution)
            self._known[key] = self._cost.seconds(features).tolist()
        return self._known[key][run.place]


def load_views(sweep: Sweep, whole: bool = False) -> dict[str, DatasetView]:
    """Open the datasets of a sweep; UserError names the first that is missing or impossible.

    `whole`: the data are read, those of further test sets too; UserError names a changed file.
    """
    bases, tests = datasets_of(sweep)
    opened = {base: load_dataset(base, whole) for base in bases}
    for name in tests if whole else ():
        load_dataset(name, whole)
    views = {}
    for label, entry in sweep.datasets.items():
        with naming(label):
            views[label] = make_view(opened[entry.base], entry.variant)
    return views


def datasets_of(sweep: Sweep) -> tuple[list[str], list[str]]:
    """The packed datasets that are trained on, and the others that networks are tested on."""
    bases = {entry.base for entry in sweep.datasets.values()}
    tests = {spec.test_set for spec in sweep.evaluations.values() if spec.test_set is not None}
    return sorted(bases), sorted(tests - bases)


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
    cost = cost or expected_cost(sweep.launch.cluster, sweep.launch.slurm)
    return plan_of(sweep, population, _settings(sweep, views), cost)


def plan_of(
    sweep: Sweep, population: Population, settings: tuple[Setting, ...], cost: CostModel
) -> Plan:
    """All runs of a population in some settings."""
    _refuse_twins(settings)
    repeated = sweep.replicates.architectures
    again = len(population) if repeated is None else min(len(population), repeated)
    # Ids are made of the texts of their parts, each written once.
    texts = [(as_json(it.data), as_json(it.resolved.model_dump())) for it in settings]
    tests = [tuple(test.evaluation_id for test in it.tests) for it in settings]
    architectures = [as_json(architecture.to_dict()) for architecture in population]
    runs: list[PlannedRun] = []
    for seed in range(sweep.replicates.count):
        for place in range(again if seed else len(population)):
            row: list[PlannedRun] = []
            for it, text, asked in zip(settings, texts, tests, strict=True):
                start = None if it.start is None else row[it.start]
                weights_of = start.run_id if start else None
                run_id = id_of(canonical_text(architectures[place], *text, seed, weights_of))
                source = start.spec if start else None
                spec = RunSpec(population[place], it.data, it.resolved, seed, source)
                run = PlannedRun(run_id, spec, it.dataset, it.recipe, seed, 0.0, asked, place)
                row.append(run)
            runs += row
    return Plan(population, settings, runs).priced(cost)


def _settings(sweep: Sweep, views: Mapping[str, DatasetView]) -> tuple[Setting, ...]:
    asked = evaluations_by_dataset(sweep, views)
    settings = []
    for label, name, start in columns_of(sweep):
        view = views[label]
        resolved = resolve_on(view, sweep.recipes[name].for_dataset(label), label)
        tests = tuple(map(FurtherEvaluation.of, asked.get(label, {}).values()))
        work = Workload.on(view, resolved)
        settings.append(Setting(label, name, resolved, view.identity, start, work, tests))
    return tuple(settings)


def columns_of(sweep: Sweep) -> list[tuple[str, str, int | None]]:
    """Dataset and recipe of each setting, and the place of that from whose weights it starts.

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
