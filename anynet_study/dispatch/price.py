"""What a sweep costs, before its data is there: counts from the packed datasets or the catalog."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from anynet_study.data import STUDY, DatasetView, Variant, load_dataset, make_view, present
from anynet_study.data.builtin import BUILT_IN
from anynet_study.design_space import Population
from anynet_study.dispatch.cost import CostModel
from anynet_study.dispatch.cost_features import Workload, run_features
from anynet_study.dispatch.memory import device_memory, run_bytes, shared_bytes
from anynet_study.dispatch.plan import naming, resolve
from anynet_study.errors import UserError
from anynet_study.sweep import Sweep
from anynet_study.training.recipe import Recipe


@dataclass(frozen=True)
class Size:
    """What the cost depends on, of a dataset view."""

    classes: int
    train_images: int
    test_images: int
    #: Side of the packed images in pixels.
    side: int
    #: False: the dataset is not there yet, these are the catalog's counts.
    known: bool


@dataclass(frozen=True)
class Item:
    """All runs of one dataset with one recipe."""

    dataset: str
    recipe: str
    size: Size
    #: Passes over the training images, the last one perhaps cut short.
    epochs: int
    runs: int
    seconds: float
    #: What a worker takes for the largest network, without datasets, which are only held where
    #: there is room.
    memory_bytes: int


def price(sweep: Sweep, population: Population, rate: CostModel) -> list[Item]:
    """Runs and predicted device seconds for each dataset and recipe, in the sweep's order.

    Raises UserError for a dataset that is neither there nor in the catalog, and for a recipe that
    does not fit a dataset.
    """
    sizes = {}
    for label, entry in sweep.datasets.items():
        with naming(label):
            sizes[label] = size_of(entry.base, entry.variant)
    return [
        _item(sweep, population, label, name, recipe.for_dataset(label), sizes, rate)
        for name, recipe in sweep.recipes.items()
        for label in sweep.trained_datasets(recipe)
    ]


def size_of(base: str, variant: Variant) -> Size:
    """The size of a view: exact if its dataset is there or built in, else by the catalog."""
    if base in present() or base in BUILT_IN:
        return _size_of_view(make_view(load_dataset(base), variant))
    if base not in STUDY:
        load_dataset(base)  # raises, saying what there is and how to add it
    entry = STUDY[base]
    whole = len(variant.groups) if isinstance(variant.groups, dict) else entry.classes
    classes = whole
    if variant.classes is not None:
        chosen = variant.classes
        classes = chosen if isinstance(chosen, int) else len(chosen)
    if classes > whole:
        raise UserError(f"{base} has {whole} classes, not {classes}")
    share = classes / whole
    train = (entry.images - entry.test_images) * share
    if variant.per_class is not None:
        train = min(train, variant.per_class * classes)
    train *= variant.fraction or 1.0
    return Size(classes, round(train), round(entry.test_images * share), entry.size, known=False)


def _size_of_view(view: DatasetView) -> Size:
    classes, side = len(view.classes), view.size
    return Size(classes, len(view.train_index), len(view.test_index), side, known=True)


def _item(
    sweep: Sweep,
    population: Population,
    label: str,
    name: str,
    recipe: Recipe,
    sizes: Mapping[str, Size],
    rate: CostModel,
) -> Item:
    size = sizes[label]
    recipe = resolve(recipe, label, size.classes, size.train_images, size.side)
    times = np.ones(len(population), dtype=int)
    times[: sweep.replicates.architectures] = sweep.replicates.count
    work = Workload.of(recipe, size.train_images, size.test_images, size.side, size.classes)
    seconds = float(times @ rate.seconds(run_features(population.groups, work)))
    device = device_memory(rate.name)
    memory = shared_bytes(0, device) + int(run_bytes(population.groups, work, device).max())
    return Item(label, name, size, work.evaluations, int(times.sum()), seconds, memory)
