"""The plan of a sweep: its runs, in the order in which they are trained."""

import os
import stat
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import overload

from anynet_study.core.errors import UserError
from anynet_study.core.files import sha256_of
from anynet_study.data import DatasetView, KeptDatasets
from anynet_study.design_space import AnyNetwork, ForeignNetwork, Population
from anynet_study.engine.planning.brackets import Brackets, Judge, not_known
from anynet_study.engine.planning.features import evaluation_features, run_features
from anynet_study.engine.planning.planned_run import PlannedRun
from anynet_study.engine.planning.prices import CostModel, expected_cost
from anynet_study.engine.planning.settings import Setting, refuse_twins, settings_of
from anynet_study.engine.sweep import RecipeSpec, Sweep, stated
from anynet_study.engine.training import Inherited, RunSpec, as_json, canonical_text, id_of

#: Of files of weights, by path.
NO_DIGESTS: Mapping[str, str] = {}


@dataclass(frozen=True, eq=False)
class Plan(Sequence[PlannedRun]):
    """The runs of a study, or some of them, in the order in which they are trained.

    First seeds come before replicates, and an architecture in all settings before the next one, so
    that what has finished at any time can be analysed.
    """

    population: Population
    settings: tuple[Setting, ...]
    runs: Sequence[PlannedRun]
    #: The runs of tuned recipes that validation has chosen, as far as that is known.
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

    def __iter__(self) -> Iterator[PlannedRun]:
        return iter(self.runs)

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
        """The recipe whose error a run gives: a chosen trial gives that of the tuned recipe."""
        return stated(run.recipe) if run.run_id in self.chosen else run.recipe

    def inherited(self, run: PlannedRun) -> set[Inherited]:
        """Return what other runs of the study take over from its end."""
        here = run.dataset, run.recipe
        followers = [(self.settings[it.start], it) for it in self.settings if it.start is not None]
        return {it.inherits for of, it in followers if (of.dataset, of.recipe) == here}

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of the files of weights that runs start from, by their paths."""
        return {run.weights: run.spec.weights for run in self.runs if run.spec.weights}

    def priced(self, cost: CostModel) -> "Plan":
        """Return this plan with the whole lengths of its runs, as predicted by `cost`."""
        price = Prices(self.population, self.settings, cost)
        seconds = (price.of(run) + price.of(run, run.evaluations) for run in self.runs)
        return self.with_seconds(seconds)

    def with_seconds(self, seconds: Iterable[float]) -> "Plan":
        """Return this plan with other predicted lengths of its runs, (runs,) seconds."""
        pairs = zip(self.runs, seconds, strict=True)
        return replace(self, runs=[replace(run, seconds=length) for run, length in pairs])


class Prices:
    """Predicts seconds of parts of runs, each at once for all architectures of a population."""

    def __init__(
        self, population: Population, settings: Sequence[Setting], cost: CostModel
    ) -> None:
        self._population, self._cost = population, cost
        self._settings = {(it.dataset, it.recipe): it for it in settings}
        self._known: dict[tuple[str, str, tuple[str, ...] | None], list[float]] = {}

    def of(self, run: PlannedRun, evaluations: tuple[str, ...] | None = None) -> float:
        """Seconds of training, or of those of a run's further evaluations that have these ids."""
        return self.of_setting(run.dataset, run.recipe, evaluations)[run.place]

    def of_setting(
        self, dataset: str, recipe: str, evaluations: tuple[str, ...] | None = None
    ) -> Sequence[float]:
        """The seconds of each architecture in a setting, (architectures,), counted as `of` does."""
        key = dataset, recipe, evaluations
        if key not in self._known:
            setting = self._settings[dataset, recipe]
            groups = setting.groups(self._population)
            if evaluations is None:
                features = run_features(groups, setting.work)
            else:
                tests = [test for test in setting.tests if test.evaluation_id in evaluations]
                features = evaluation_features(groups, tests, setting.work.resolution)
            self._known[key] = self._cost.seconds(features).tolist()
        return self._known[key]


def make_plan(
    sweep: Sweep,
    population: Population,
    views: Mapping[str, DatasetView],
    cost: CostModel | None = None,
    judge: Judge = not_known,
    digests: Mapping[str, str] = NO_DIGESTS,
    beside: Container[str] | None = None,
    kept: KeptDatasets | None = None,
) -> Plan:
    """All runs that a sweep asks for. UserError where a recipe does not fit a dataset.

    A tuned recipe has the runs that follow from the errors that `judge` knows of its trials.
    `digests` and `beside`: see `plan_of`; `kept`: see `load_dataset`.
    """
    cost = cost or expected_cost(sweep.launch.cluster, sweep.launch.slurm)
    settings = settings_of(sweep, views, kept)
    return plan_of(sweep, population, settings, cost, judge, digests, beside)


def _wanted(
    sweep: Sweep, population: Population, settings: Sequence[Setting]
) -> Callable[[int, int], list[int]]:
    """A function that gives, by seed and place in the population, the places of the settings.

    They are those in which the architecture is trained with the seed, and those that these start
    from, even if the sweep does not ask for more seeds of them.
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
        "loss": (recipe.loss != "cross_entropy", no_head),
        "pooling": (recipe.pooling != "average", "pools in a way of its own"),
        "thresholds": (recipe.thresholds == "validation", no_head),
        "precision": (recipe.precision == "bfloat16", "is trained in float32"),
    }
    for one in architectures:
        if not isinstance(one, ForeignNetwork):
            continue
        for key, (wanted, why) in asked.items():
            if wanted and (why != no_head or not one.head):
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
    beside: Container[str] | None = None,
) -> Plan:
    """All runs of a population in some settings, and the trials that `judge` lets go on.

    `digests`: SHA-256 of files of weights, by path. Other files are read, with UserError where that
    cannot be done. `beside`: ids of runs. The plan then has only the rows in which these are: a row
    is an architecture with one seed, and has all the runs that its runs start from.
    """
    refuse_twins(settings)
    wanted = _wanted(sweep, population, settings)
    # Ids are made of the texts of their parts, each written once.
    texts = [(as_json(it.data), as_json(it.resolved.model_dump())) for it in settings]
    tests = [tuple(test.evaluation_id for test in it.tests) for it in settings]
    stems = {it.stem: it.networks(population) for it in settings}
    architectures = {
        stem: [as_json(network.to_dict()) for network in networks]
        for stem, networks in stems.items()
    }
    price, runs = Prices(population, settings, cost), list[PlannedRun]()
    tuning = Brackets(judge)
    for seed in range(sweep.replicates.count):
        for place, architecture in enumerate(population.ids):
            row: dict[int, PlannedRun] = {}
            for number in wanted(seed, place):
                it = settings[number]
                if not tuning.asks_for(it, place, seed):
                    continue
                start = None if it.start is None else row[it.start]
                of, source = (start.run_id, start.spec) if start else (None, None)
                file = digest = None
                if it.weights is not None:
                    file = it.weights.replace("{architecture}", architecture)
                    where = f"recipes.{stated(it.recipe)}.weights"
                    of = digest = digests.get(file) or _digest(file, where)
                parts = architectures[it.stem][place], *texts[number], seed, of, it.inherits
                network = stems[it.stem][place]
                spec = RunSpec(network, it.data, it.resolved, seed, source, it.inherits, digest)
                training = price.of_setting(it.dataset, it.recipe)
                further = price.of_setting(it.dataset, it.recipe, tests[number])
                row[number] = PlannedRun(
                    run_id=id_of(canonical_text(*parts)),
                    spec=spec,
                    dataset=it.dataset,
                    recipe=it.recipe,
                    replicate=seed,
                    seconds=training[place] + further[place],
                    evaluations=tests[number],
                    place=place,
                    architecture=architecture,
                    weights=file or "",
                    trial=it.trial,
                )
                tuning.note(row[number], it.judged_by)
            if beside is None or any(run.run_id in beside for run in row.values()):
                runs += row.values()
    return Plan(population, settings, runs, frozenset(tuning.chosen()), tuning.awaited())


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
