"""Which runs a sweep consists of, in the order in which they are trained."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from anynet_study.data import DatasetView, load_dataset, make_view
from anynet_study.design_space import Population
from anynet_study.dispatch.cost import CostModel, expected_cost
from anynet_study.dispatch.cost_features import Workload, run_features
from anynet_study.errors import UserError
from anynet_study.sweep import RecipeSpec, Sweep
from anynet_study.training.recipe import Recipe
from anynet_study.training.spec import RunSpec


@dataclass(frozen=True)
class PlannedRun:
    """A run and the names by which the sweep calls it."""

    run_id: str
    spec: RunSpec
    dataset: str
    recipe: str
    replicate: int
    #: Predicted length on one worker.
    seconds: float


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


def trained_datasets(sweep: Sweep, recipe: RecipeSpec) -> list[str]:
    """The datasets on which a recipe is used, in the sweep's order."""
    return [
        label for label in sweep.datasets if recipe.datasets is None or label in recipe.datasets
    ]


def plan(
    sweep: Sweep,
    population: Population,
    views: Mapping[str, DatasetView],
    rate: CostModel | None = None,
) -> list[PlannedRun]:
    """All runs, complete rows first: an architecture finishes everywhere before the next begins.

    First seeds come before replicates, so that what has finished at any time can be analysed.
    """
    settings = [
        (label, name, resolve(spec.for_dataset(label), label, *_size(views[label])))
        for name, spec in sweep.recipes.items()
        for label in trained_datasets(sweep, spec)
    ]
    _refuse_twins(settings, views)
    rate = rate or expected_cost(sweep.launch.cluster, sweep.launch.slurm)
    seconds = [_seconds(population, views[label], recipe, rate) for label, _, recipe in settings]
    planned = []
    for replicate in range(sweep.replicates.count):
        repeated = sweep.replicates.architectures if replicate else None
        for row, architecture in enumerate(list(population)[:repeated]):
            for (label, name, recipe), lengths in zip(settings, seconds, strict=True):
                spec = RunSpec(architecture, views[label].identity, recipe, seed=replicate)
                planned.append(PlannedRun(spec.run_id, spec, label, name, replicate, lengths[row]))
    return planned


def still_to_do(
    planned: list[PlannedRun], finished: Mapping[str, str], retry_failed: bool = False
) -> list[PlannedRun]:
    """The planned runs without a record; with `retry_failed` also those recorded as failed."""
    settled: Collection[str] = finished
    if retry_failed:
        settled = {run_id for run_id, status in finished.items() if status != "failed"}
    return [run for run in planned if run.run_id not in settled]


def _seconds(
    population: Population, view: DatasetView, recipe: Recipe, rate: CostModel
) -> list[float]:
    """Predicted length of one run of each architecture."""
    work = Workload.of(
        recipe, len(view.train_index), len(view.test_index), view.size, len(view.classes)
    )
    seconds: list[float] = rate.seconds(run_features(population.groups, work)).tolist()
    return seconds


def _size(view: DatasetView) -> tuple[int, int, int]:
    return len(view.classes), len(view.train_index), view.size


def resolve(recipe: Recipe, label: str, classes: int, train_images: int, side: int) -> Recipe:
    """The recipe as used on a dataset, with all its keys; UserError where they do not fit."""
    with naming(label):
        if recipe.metric == "top5" and classes <= 5:
            raise UserError(f"metric top5 needs more than 5 classes, it has {classes}")
        if train_images < 2:
            raise UserError(f"{train_images} training images are too few")
        return recipe.resolved(side)


def _refuse_twins(
    settings: Sequence[tuple[str, str, Recipe]], views: Mapping[str, DatasetView]
) -> None:
    """A run is recorded once, so two names for the same run would leave one without results."""
    names: dict[tuple[str, Recipe], str] = {}
    for label, name, recipe in settings:
        this = f"dataset {label} with recipe {name}"
        data = json.dumps(views[label].identity, sort_keys=True)
        other = names.setdefault((data, recipe), this)
        if other != this:
            raise UserError(
                f"{this}: the same images and the same training as {other}; leave one of them out"
            )
