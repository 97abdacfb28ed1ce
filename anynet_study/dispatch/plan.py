"""Which runs a sweep consists of, in the order in which they are trained."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from anynet_study.data import DatasetView, load_dataset, make_view
from anynet_study.design_space import Population
from anynet_study.dispatch.cost.further import FurtherTest
from anynet_study.dispatch.cost.model import CostModel, expected_cost
from anynet_study.dispatch.planned import Plan, Setting
from anynet_study.errors import UserError
from anynet_study.metrics import Metric
from anynet_study.sweep import Sweep
from anynet_study.training.evaluation import EvaluationSet, evaluation_sets
from anynet_study.training.recipe import Recipe, ResolvedRecipe, steps_per_epoch
from anynet_study.training.spec import as_json, canonical_text, id_of


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
) -> Plan:
    """All runs that a sweep asks for. UserError where a recipe does not fit a dataset."""
    planned = laid_out(sweep, population, _settings(sweep, views))
    return planned.priced(views, rate or expected_cost(sweep.launch.cluster, sweep.launch.slurm))


def laid_out(sweep: Sweep, population: Population, settings: tuple[Setting, ...]) -> Plan:
    """All runs of a population in some settings, their lengths not predicted yet."""
    _refuse_twins(settings)
    first, repeated = len(population), sweep.replicates.architectures
    again = first if repeated is None else min(first, repeated)
    counts = [again if seed else first for seed in range(sweep.replicates.count)]
    rows = np.array([(it, seed) for seed, count in enumerate(counts) for it in range(count)])
    ids = _ids(population, settings, rows)
    return Plan(population, settings, rows, ids, np.empty((0, 0)), np.arange(ids.size))


def _settings(sweep: Sweep, views: Mapping[str, DatasetView]) -> tuple[Setting, ...]:
    asked = evaluations_by_dataset(sweep, views)
    settings = []
    for label, name, start in columns_of(sweep):
        view = views[label]
        resolved = resolve_on(view, sweep.recipes[name].for_dataset(label), label)
        tests = tuple(map(FurtherTest.of, asked.get(label, {}).values()))
        settings.append(Setting(label, name, resolved, view.identity, start, tests))
    return tuple(settings)


def columns_of(sweep: Sweep) -> list[tuple[str, str, int | None]]:
    """Dataset and recipe of each column of the plan, and the column whose weights it starts from.

    In the sweep's order, those that start from others' weights after all others.
    """
    pairs = [
        (label, name) for name, it in sweep.recipes.items() for label in sweep.trained_datasets(it)
    ]
    pairs.sort(key=lambda pair: sweep.recipes[pair[1]].pretrained is not None)
    sources = [sweep.recipes[name].pretrained for _, name in pairs]
    starts = [pairs.index((it, sweep.pretraining(it))) if it else None for it in sources]
    return [(*pair, start) for pair, start in zip(pairs, starts, strict=True)]


def _ids(
    population: Population, settings: Sequence[Setting], rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.bytes_]:
    """Ids of all runs, shape (rows, settings)."""
    architectures = [as_json(it.to_dict()) for it in population]
    columns = [(as_json(it.data), as_json(it.resolved.model_dump()), it.start) for it in settings]
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
    for it in settings:
        this = f"dataset {it.dataset} with recipe {it.recipe}"
        other = names.setdefault((as_json(it.data), it.resolved, it.start), this)
        if other != this:
            raise UserError(
                f"{this}: the same images and the same training as {other}; leave one of them out"
            )
