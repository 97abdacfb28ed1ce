"""Which runs a sweep consists of, in the order in which they are trained."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from anynet_study.data import DatasetView, load_dataset, make_view
from anynet_study.design_space import Population
from anynet_study.dispatch.cost import CostModel, expected_cost
from anynet_study.dispatch.cost_features import Workload, run_features
from anynet_study.errors import UserError
from anynet_study.sweep import Sweep
from anynet_study.training.evaluation import EvaluationSet, evaluation_sets
from anynet_study.training.recipe import Recipe, ResolvedRecipe
from anynet_study.training.schedule import steps_per_epoch
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


def plan(
    sweep: Sweep,
    population: Population,
    views: Mapping[str, DatasetView],
    rate: CostModel | None = None,
) -> list[PlannedRun]:
    """All runs, complete rows first: an architecture finishes everywhere before the next begins.

    First seeds come before replicates, so that what has finished at any time can be analysed.
    """
    settings = _settings(sweep, views)
    _refuse_twins(settings, views)
    rate = rate or expected_cost(sweep.launch.cluster, sweep.launch.slurm)
    seconds = [_seconds(population, views[it.label], it.recipe, rate) for it in settings]
    asked = evaluations_by_dataset(sweep, views)
    planned = []
    for replicate in range(sweep.replicates.count):
        repeated = sweep.replicates.architectures if replicate else None
        for row, architecture in enumerate(list(population)[:repeated]):
            specs: dict[tuple[str, str], RunSpec] = {}
            for it, lengths in zip(settings, seconds, strict=True):
                start = specs[it.start] if it.start else None
                data = views[it.label].identity
                spec = RunSpec(architecture, data, it.recipe, replicate, start)
                specs[it.label, it.name] = spec
                evaluations = tuple(one.evaluation_id for one in asked.get(it.label, {}).values())
                planned.append(
                    PlannedRun(
                        spec.run_id, spec, it.label, it.name, replicate, lengths[row], evaluations
                    )
                )
    return planned


@dataclass(frozen=True)
class _Setting:
    """A dataset trained with a recipe."""

    label: str
    name: str
    recipe: ResolvedRecipe
    #: Dataset and recipe of the run whose weights it starts from; None: from scratch.
    start: tuple[str, str] | None


def _settings(sweep: Sweep, views: Mapping[str, DatasetView]) -> list[_Setting]:
    """In the sweep's order, those that start from others' weights after all others."""
    settings = [
        _Setting(
            label,
            name,
            resolve(spec.for_dataset(label), label, *_size(views[label])),
            (spec.pretrained, sweep.pretraining(spec.pretrained)) if spec.pretrained else None,
        )
        for name, spec in sweep.recipes.items()
        for label in sweep.trained_datasets(spec)
    ]
    return sorted(settings, key=lambda setting: setting.start is not None)


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


def _seconds(
    population: Population, view: DatasetView, recipe: Recipe, rate: CostModel
) -> list[float]:
    """Predicted length of one run of each architecture."""
    features = run_features(population.groups, Workload.on(view, recipe))
    seconds: list[float] = rate.seconds(features).tolist()
    return seconds


def _size(view: DatasetView) -> tuple[int, int, int]:
    return len(view.classes), len(view.train_index), view.size


def resolve(
    recipe: Recipe, label: str, classes: int, train_images: int, side: int
) -> ResolvedRecipe:
    """The recipe as used on a dataset, with all its keys; UserError where they do not fit."""
    with naming(label):
        if recipe.metric == "top5" and classes <= 5:
            raise UserError(f"metric top5 needs more than 5 classes, it has {classes}")
        if train_images < 2:
            raise UserError(f"{train_images} training images are too few")
        warmup = recipe.warmup_epochs * steps_per_epoch(train_images, recipe.batch_size)
        if recipe.steps is not None and warmup >= recipe.steps and warmup > 0:
            raise UserError(f"warmup_epochs: {warmup:g} steps of warm-up, of {recipe.steps} in all")
        if train_images < 2 * recipe.accumulation:
            raise UserError(
                f"accumulation: {train_images} training images make no {recipe.accumulation} parts"
            )
        return recipe.resolved(side, classes)


def _refuse_twins(settings: Sequence[_Setting], views: Mapping[str, DatasetView]) -> None:
    """A run is recorded once, so two names for the same run would leave one without results."""
    names: dict[object, str] = {}
    for it in settings:
        this = f"dataset {it.label} with recipe {it.name}"
        data = json.dumps(views[it.label].identity, sort_keys=True)
        other = names.setdefault((data, it.recipe, it.start), this)
        if other != this:
            raise UserError(
                f"{this}: the same images and the same training as {other}; leave one of them out"
            )
