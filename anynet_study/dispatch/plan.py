"""Which runs a sweep consists of, in the order in which they are trained."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from anynet_study.data import DatasetView, load_dataset, make_view
from anynet_study.design_space import Population
from anynet_study.dispatch.cost import CPU_CORE, DeviceRate, Workload, predict_seconds
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
    return {
        label: make_view(opened[entry.base], entry.variant)
        for label, entry in sweep.datasets.items()
    }


def trained_datasets(sweep: Sweep, recipe: RecipeSpec) -> list[str]:
    """The datasets on which a recipe is used, in the sweep's order."""
    return [
        label for label in sweep.datasets if recipe.datasets is None or label in recipe.datasets
    ]


def plan(
    sweep: Sweep,
    population: Population,
    views: Mapping[str, DatasetView],
    rate: DeviceRate = CPU_CORE,
) -> list[PlannedRun]:
    """All runs, complete rows first: an architecture finishes everywhere before the next begins.

    First seeds come before replicates, so that what has finished at any time can be analysed.
    """
    settings = [
        (label, name, _resolve(spec.for_dataset(label), label, views[label]))
        for name, spec in sweep.recipes.items()
        for label in trained_datasets(sweep, spec)
    ]
    _refuse_twins(settings, views)
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
    population: Population, view: DatasetView, recipe: Recipe, rate: DeviceRate
) -> list[float]:
    """Predicted length of one run of each architecture."""
    work = Workload(len(view.train_index), len(view.test_index), recipe.epochs, recipe.batch_size)
    flops = population.flops(recipe.resolution or view.size, len(view.classes)).tolist()
    blocks = [sum(architecture.depths) for architecture in population]
    return [predict_seconds(f, b, work, rate) for f, b in zip(flops, blocks, strict=True)]


def _resolve(recipe: Recipe, label: str, view: DatasetView) -> Recipe:
    if recipe.metric == "top5" and len(view.classes) <= 5:
        raise UserError(
            f"dataset {label}: metric top5 needs more than 5 classes, it has {len(view.classes)}"
        )
    if len(view.train_index) < 2:
        raise UserError(f"dataset {label}: {len(view.train_index)} training images are too few")
    try:
        return recipe.resolved(view.size)
    except UserError as error:
        raise UserError(f"dataset {label}: {error}") from None


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
