"""Which runs a sweep consists of, in the order in which they are trained: its plan."""

import dataclasses
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, overload

from anynet_study.data import DatasetView, PackedDataset, load_dataset, make_view, union_of
from anynet_study.design_space import (
    AnyNetwork,
    Architecture,
    ForeignNetwork,
    Group,
    Population,
    groups_of,
)
from anynet_study.dispatch.brackets import Brackets, Judge, not_known
from anynet_study.dispatch.cost.features import (
    FurtherEvaluation,
    Workload,
    evaluation_features,
    run_features,
)
from anynet_study.dispatch.cost.prices import CostModel, expected_cost
from anynet_study.errors import UserError
from anynet_study.files import sha256_of
from anynet_study.metrics import Metric
from anynet_study.sweep import STARTS, VALIDATION, RecipeSpec, Sweep, Trial, stated
from anynet_study.training import (
    OF_HEADS,
    EvaluationSet,
    Inherited,
    Recipe,
    ResolvedRecipe,
    RunSpec,
    as_json,
    at_moment,
    canonical_text,
    check_names,
    evaluation_sets,
    id_of,
    moments,
    steps_per_epoch,
)

#: Of files of weights, by path.
NO_DIGESTS: Mapping[str, str] = {}


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
    #: Its architecture's place in the population, and the id that it has there: the network may
    #: have another stem.
    place: int = 0
    architecture: str = ""
    #: The file of weights that it starts from; "": none.
    weights: str = ""
    #: Of a tuned recipe: which of its trials.
    trial: Trial | None = None

    def named(self) -> dict[str, Any]:
        """What a record says of the run, however it ended."""
        return {
            "run_id": self.run_id,
            "spec": self.spec.canonical(),
            "architecture": self.architecture,
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
    #: `DatasetView.identity`, and what captions are trained with.
    data: dict[str, Any]
    #: Place of the setting from whose weights its runs start; None: from scratch.
    start: int | None
    inherits: Inherited
    #: The networks' own, where it is not the population's.
    stem: str | None
    #: The file of weights that its runs start from, {architecture} standing for ids; None: none.
    weights: str | None
    #: The work of training.
    work: Workload
    #: The further evaluations of its runs.
    tests: tuple[FurtherEvaluation, ...]
    #: Of a tuned recipe: which of its trials, and the id of the evaluation that compares them.
    trial: Trial | None = None
    judged_by: str = ""

    def networks(self, population: Population) -> list[AnyNetwork]:
        """The architectures as they are trained; foreign networks have no stem to replace."""
        stem = self.stem
        if stem is None:
            return list(population)
        return [
            dataclasses.replace(one, stem=stem) if isinstance(one, Architecture) else one
            for one in population
        ]

    def groups(self, population: Population) -> Sequence[Group]:
        """The same, for computing what all of them cost."""
        return population.groups if self.stem is None else groups_of(self.networks(population))


@dataclass(frozen=True, eq=False)
class Plan(Sequence[PlannedRun]):
    """The runs of a study, or some of them, in the order in which they are trained.

    First seeds come before replicates, and an architecture in all settings before the next one, so
    that what has finished at any time can be analysed.
    """

    population: Population
    settings: tuple[Setting, ...]
    runs: Sequence[PlannedRun]
    #: Of tuned recipes: the runs that are chosen, by validation, as far as that is known.
    chosen: frozenset[str] = frozenset()
    #: How many further runs of tuned recipes follow when others have ended.
    awaited: int = 0

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

    def called(self, run: PlannedRun) -> str:
        """The recipe that a run's error is of: the tuned one's, if it is chosen."""
        return stated(run.recipe) if run.run_id in self.chosen else run.recipe

    def inherited(self, run: PlannedRun) -> set[Inherited]:
        """What other runs of the study take over from its end."""
        here = run.dataset, run.recipe
        followers = [(self.settings[it.start], it) for it in self.settings if it.start is not None]
        return {it.inherits for of, it in followers if (of.dataset, of.recipe) == here}

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of the files of weights that runs start from, by their paths."""
        return {run.weights: run.spec.weights for run in self.runs if run.spec.weights}

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
        self._population, self._cost = plan.population, cost
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
            groups = setting.groups(self._population)
            if evaluations is None:
                features = run_features(groups, setting.work)
            else:
                tests = [test for test in setting.tests if test.evaluation_id in evaluations]
                features = evaluation_features(groups, tests, setting.work.resolution)
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
    return make_views(sweep, opened)


def make_views(sweep: Sweep, opened: Mapping[str, PackedDataset]) -> dict[str, DatasetView]:
    """The sweep's views of datasets that are `opened`; left out are those that need others, too."""
    views: dict[str, DatasetView] = {}
    # Those whose sizes others take come first.
    for label in sorted(sweep.datasets, key=lambda label: sweep.datasets[label].match is not None):
        entry = sweep.datasets[label]
        if set(entry.bases) <= set(opened) and (entry.match is None or entry.match in views):
            with naming(label):
                dataset = union_of([opened[base] for base in entry.bases])
                like = None if entry.match is None else views[entry.match]
                views[label] = make_view(dataset, entry.variant, like)
    return {label: views[label] for label in sweep.datasets if label in views}


def datasets_of(sweep: Sweep) -> tuple[list[str], list[str]]:
    """The packed datasets that are trained on, and the others that networks are tested on."""
    bases = {base for entry in sweep.datasets.values() for base in entry.bases}
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
    judge: Judge = not_known,
    digests: Mapping[str, str] = NO_DIGESTS,
) -> Plan:
    """All runs that a sweep asks for. UserError where a recipe does not fit a dataset.

    Of tuned recipes, those that follow from what `judge` knows of the trials' runs. `digests`: see
    `plan_of`.
    """
    cost = cost or expected_cost(sweep.launch.cluster, sweep.launch.slurm)
    return plan_of(sweep, population, _settings(sweep, views), cost, judge, digests)


def _wanted(
    sweep: Sweep, population: Population, settings: Sequence[Setting]
) -> Callable[[int, int], list[int]]:
    """By seed and place in the population: the places of the settings in which it is trained.

    With those that these start from, even if a sweep does not ask for more seeds of them.
    """
    asked, trained = sweep.replicates, {}
    for name, recipe in sweep.trained.items():
        where = f"recipes.{stated(name)}"
        trained[name] = _places(population, recipe.architectures, where)
        _refuse_foreign((population[place] for place in trained[name]), recipe, where)
    repeated = _places(population, asked.architectures, "replicates")

    def wanted(seed: int, place: int) -> list[int]:
        found: set[int | None] = set()
        for number, it in enumerate(settings):
            aimed = not seed or (
                place in repeated
                and it.dataset in (asked.datasets or [it.dataset])
                and (not asked.recipes or stated(it.recipe) in asked.recipes)
            )
            if aimed and place in trained[it.recipe]:
                start: int | None = number
                while start is not None and start not in found:
                    found.add(start)
                    start = settings[start].start
        return sorted(number for number in found if number is not None)

    return wanted


def _or_names(population: Population) -> str:
    names = [name for name in population.names if name is not None]
    return f", and names: {', '.join(names)}" if names else ""


def _refuse_foreign(architectures: Iterable[AnyNetwork], recipe: RecipeSpec, where: str) -> None:
    """UserError where a recipe asks of a network what only those with stages or a head can do."""
    no_head = "has no head, no linear layer at its end that puts out the classes"
    asked = {
        "stem": (recipe.stem is not None, "has a stem of its own"),
        "trained": (recipe.trained == "head", no_head),
        "pretrained": (recipe.pretrained is not None, no_head),
        "weights": (recipe.weights is not None, no_head),
        "loss": (recipe.loss == "clip", no_head),
        "thresholds": (recipe.thresholds == "validation", no_head),
    }
    for one in architectures:
        if not isinstance(one, ForeignNetwork):
            continue
        for key, (wanted, why) in asked.items():
            if wanted and (key == "stem" or not one.head):
                raise UserError(
                    f"{where}.{key}: {one.name} {why}; leave it out with {where}.architectures"
                )


def _places(population: Population, some: int | list[int | str] | None, where: str) -> set[int]:
    """The places in the population of the architectures that a sweep names; None: of all."""
    if some is None or isinstance(some, int):
        return set(range(len(population))[:some])
    known: dict[int | str, int] = {name: place for place, name in enumerate(population.ids)}
    known |= {place: place for place in range(len(population))}
    known |= {name: place for place, name in enumerate(population.names) if name is not None}
    for name in some:
        if name not in known:
            raise UserError(
                f"{where}.architectures: {name} is not in the population; legal are its ids, and "
                f"the numbers 0 to {len(population) - 1}{_or_names(population)}"
            )
    return {known[name] for name in some}


def plan_of(
    sweep: Sweep,
    population: Population,
    settings: tuple[Setting, ...],
    cost: CostModel,
    judge: Judge = not_known,
    digests: Mapping[str, str] = NO_DIGESTS,
) -> Plan:
    """All runs of a population in some settings; of trials those that `judge` lets go on.

    `digests` are those of files of weights, by path; others are read, with a UserError where that
    cannot be done.
    """
    _refuse_twins(settings)
    wanted = _wanted(sweep, population, settings)
    # Ids are made of the texts of their parts, each written once.
    texts = [(as_json(it.data), as_json(it.resolved.model_dump())) for it in settings]
    tests = [tuple(test.evaluation_id for test in it.tests) for it in settings]
    stems = {it.stem: it.networks(population) for it in settings}
    architectures = {
        stem: [as_json(network.to_dict()) for network in networks]
        for stem, networks in stems.items()
    }
    runs: list[PlannedRun] = []
    tuning = Brackets(judge)
    for seed in range(sweep.replicates.count):
        for place, architecture in enumerate(population):
            row: dict[int, PlannedRun] = {}
            for number in wanted(seed, place):
                it = settings[number]
                if not tuning.asks_for(it, place, seed):
                    continue
                start = None if it.start is None else row[it.start]
                of, source = (start.run_id, start.spec) if start else (None, None)
                file = digest = None
                if it.weights is not None:
                    file = it.weights.replace("{architecture}", architecture.id)
                    where = f"recipes.{stated(it.recipe)}.weights"
                    of = digest = digests.get(file) or _digest(file, where)
                parts = architectures[it.stem][place], *texts[number], seed, of, it.inherits
                network = stems[it.stem][place]
                spec = RunSpec(network, it.data, it.resolved, seed, source, it.inherits, digest)
                row[number] = PlannedRun(
                    run_id=id_of(canonical_text(*parts)),
                    spec=spec,
                    dataset=it.dataset,
                    recipe=it.recipe,
                    replicate=seed,
                    seconds=0.0,
                    evaluations=tests[number],
                    place=place,
                    architecture=architecture.id,
                    weights=file or "",
                    trial=it.trial,
                )
                tuning.note(row[number], it.judged_by)
            runs += row.values()
    plan = Plan(population, settings, runs, frozenset(tuning.chosen()), tuning.awaited())
    return plan.priced(cost)


def _digest(file: str, where: str) -> str:
    """SHA-256 of a file of weights."""
    try:
        status = os.stat(file)
        if not stat.S_ISREG(status.st_mode):  # a pipe would be waited for
            raise UserError(f"{where}: {file}: no regular file")
        return _digest_of(file, status.st_mtime_ns)
    except OSError as error:
        raise UserError(f"{where}: {file}: {error.strerror}") from None


@cache
def _digest_of(file: str, changed: int) -> str:
    """Each file is read once, unless its time of change is another."""
    return sha256_of(Path(file))


def _settings(sweep: Sweep, views: Mapping[str, DatasetView]) -> tuple[Setting, ...]:
    asked = evaluations_by_dataset(sweep, views)
    settings: list[Setting] = []
    for label, name, start in columns_of(sweep):
        view = views[label]
        resolved = resolve_on(view, sweep.trained[name].for_dataset(label), label)
        tests = tuple(map(FurtherEvaluation.of, asked.get(label, {}).values()))
        work = Workload.on(view, resolved)
        before = None if start is None else settings[start]
        data = view.identity
        if resolved.texts == "captions":
            said = hashlib.sha256(as_json(view.captions()).encode()).hexdigest()
            data = {**data, "captions": said}
        it = setting_of(sweep, label, name, resolved, data, start, before, work, tests)
        if it.trial is not None:
            it = replace(it, judged_by=asked[label][VALIDATION].evaluation_id)
        settings.append(it)
    return tuple(settings)


def setting_of(
    sweep: Sweep,
    label: str,
    name: str,
    resolved: ResolvedRecipe,
    data: dict[str, Any],
    start: int | None,
    before: Setting | None,
    work: Workload,
    tests: tuple[FurtherEvaluation, ...],
) -> Setting:
    """The setting of a recipe on a dataset; `before`: that at `start`.

    UserError where a run cannot go on from the end of the other.
    """
    recipe = sweep.trained[name]
    inherits: Inherited = "body"
    for key, taken in STARTS.items():
        if getattr(recipe, key) is not None:
            inherits = taken
    done_before = 0
    if inherits == "weights" and before is not None:  # of another head nothing can be taken over
        alike = [getattr(resolved, key) == getattr(before.resolved, key) for key in OF_HEADS]
        inherits = "weights" if all(alike) else "body"
    if inherits == "state":
        assert before is not None
        with naming(label):
            work = _further_work(resolved, before, work, f"recipes.{name}")
        done_before = before.resolved.epochs or 0
    elsewhere, epochs = start is not None or recipe.weights is not None, resolved.epochs or 0
    tests = tuple(it for it in tests if it.moment.is_had(epochs, done_before, elsewhere))
    own, trial = (recipe.stem, recipe.weights), sweep.trials.get(name)
    return Setting(label, name, resolved, data, start, inherits, *own, work, tests, trial)


#: What must be alike in a recipe and in that which it continues.
ALIKE = ("batch_size", "optimizer", "momentum", "trained", *OF_HEADS)


def _further_work(
    resolved: ResolvedRecipe, before: Setting, work: Workload, where: str
) -> Workload:
    """What is left to do of a run that goes on from the end of another."""
    for key in ALIKE:
        mine, others = getattr(resolved, key), getattr(before.resolved, key)
        if mine != others:
            raise UserError(
                f"{where}.{key}: {mine}, but it continues {before.recipe} with {others}"
            )
    if resolved.epochs is None or before.resolved.epochs is None:
        raise UserError(f"{where}: it continues {before.recipe}; both must state epochs")
    if resolved.validates or before.resolved.validates:
        raise UserError(f"{where}: what continues, or is continued, cannot select by validation")
    further = resolved.epochs - before.resolved.epochs
    if further < 1:
        raise UserError(
            f"{where}.epochs: {resolved.epochs}, of which {before.recipe} has done "
            f"{before.resolved.epochs} already"
        )
    share = further / resolved.epochs
    return replace(work, steps=round(work.steps * share), evaluations=further)


def columns_of(sweep: Sweep) -> list[tuple[str, str, int | None]]:
    """Dataset and recipe of each setting, and the place of that from whose weights it starts.

    In the sweep's order, those that start from others' weights after all others.
    """
    pairs = [
        (label, name)
        for name, recipe in sweep.trained.items()
        for label in sweep.trained_datasets(recipe)
    ]
    sources = {(label, name): sweep.start_of(name, label) for label, name in pairs}

    def depth(pair: tuple[str, str]) -> int:
        source = sources[pair]
        return 0 if source is None else 1 + depth(source)

    pairs.sort(key=depth)
    places = {pair: place for place, pair in enumerate(pairs)}
    starts = [sources[pair] for pair in pairs]
    return [
        (*pair, None if start is None else places[start])
        for pair, start in zip(pairs, starts, strict=True)
    ]


def evaluations_by_dataset(
    sweep: Sweep, views: Mapping[str, DatasetView]
) -> dict[str, dict[str, EvaluationSet]]:
    """The further test sets of the networks trained on each dataset, by the sweep's names.

    Where several networks of a run are tested, the name is followed by `Moment.suffix`. UserError
    names an evaluation that fits no dataset, or not one that it names.
    """
    asked: dict[str, dict[str, EvaluationSet]] = {}
    for name, spec in sweep.evaluations.items():
        try:
            sets = evaluation_sets(spec, views).sets
        except UserError as error:
            raise UserError(f"evaluations.{name}: {error}") from None
        for label, evaluation_set in sets.items():
            for moment in moments(spec, sweep.most_epochs(label)):
                named = asked.setdefault(label, {})
                named[f"{name}{moment.suffix}"] = at_moment(evaluation_set, moment)
    return asked


def check_texts(view: DatasetView, recipe: Recipe, label: str) -> None:
    """UserError where a recipe learns from texts, and these do not tell the classes apart."""
    if recipe.loss == "clip":
        with naming(label):
            check_names(view.classes)
            if recipe.texts == "captions" and not any(view.captions()):
                raise UserError(
                    "texts: captions: its training images have none; add them with: anynet-study "
                    "data captions NAME TABLE"
                )


def resolve_on(view: DatasetView, recipe: Recipe, label: str) -> ResolvedRecipe:
    """The recipe as used on a view; UserError where they do not fit."""
    check_texts(view, recipe, label)
    size = len(view.classes), len(view.train_index), len(view.validation_index), view.size
    return resolve(recipe, label, *size, view.multi_label, view.metric)


def resolve(
    recipe: Recipe,
    label: str,
    classes: int,
    train_images: int,
    validation_images: int,
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
        if recipe.validates and not validation_images:
            asking = "select: best" if recipe.select == "best" else "patience"
            if recipe.thresholds == "validation":
                asking = "thresholds: validation"
            raise UserError(
                f"{asking}: there are no validation images; state the dataset's share of them, "
                "such as validation: 0.1"
            )
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
        start = setting.start, setting.inherits, setting.weights
        key = as_json(setting.data), setting.resolved, start, setting.stem
        other = names.setdefault(key, this)
        if other != this:
            raise UserError(
                f"{this}: the same images and the same training as {other}; leave one of them out"
            )
