"""What a sweep costs, before its data is there."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from anynet_study.design_space import Population
from anynet_study.dispatch.cost.features import Workload, run_features
from anynet_study.dispatch.cost.memory import device_memory, run_bytes, shared_bytes
from anynet_study.dispatch.cost.model import CostModel
from anynet_study.dispatch.cost.sizes import Size, size_of
from anynet_study.dispatch.plan import columns_of, laid_out, naming, resolve
from anynet_study.dispatch.planned import Plan, Setting
from anynet_study.sweep import Sweep


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


@dataclass(frozen=True)
class Price:
    """What a sweep costs: by dataset and recipe, and run by run."""

    items: list[Item]
    #: All runs with their predicted lengths. Ids are those of no data that is there.
    planned: Plan


def price(sweep: Sweep, population: Population, rate: CostModel) -> Price:
    """Runs and predicted device seconds for each dataset and recipe, in the plan's order.

    Raises UserError for a dataset that is neither there nor in the catalog, and for a recipe that
    does not fit a dataset.
    """
    sizes = {}
    for label, entry in sweep.datasets.items():
        with naming(label):
            sizes[label] = size_of(entry.base, entry.variant)
    settings = tuple(_setting(sweep, sizes, *column) for column in columns_of(sweep))
    works = [_workload(it, sizes[it.dataset]) for it in settings]
    seconds = [rate.seconds(run_features(population.groups, work)) for work in works]
    planned = replace(laid_out(sweep, population, settings), lengths=np.stack(seconds, axis=1))
    items = [
        _item(planned, column, work, sizes[it.dataset], rate)
        for column, (it, work) in enumerate(zip(settings, works, strict=True))
    ]
    return Price(items, planned)


def _item(planned: Plan, column: int, work: Workload, size: Size, rate: CostModel) -> Item:
    groups, device = planned.population.groups, device_memory(rate.name)
    lengths = planned.lengths[planned.rows[:, 0], column]
    memory = shared_bytes(0, device) + int(run_bytes(groups, work, device).max())
    dataset, recipe = planned.settings[column].dataset, planned.settings[column].recipe
    seconds = float(lengths.sum())
    return Item(dataset, recipe, size, work.evaluations, len(lengths), seconds, memory)


def _setting(
    sweep: Sweep, sizes: Mapping[str, Size], label: str, name: str, start: int | None
) -> Setting:
    size = sizes[label]
    recipe = sweep.recipes[name].for_dataset(label)
    resolved = resolve(recipe, label, size.classes, size.train_images, size.side)
    return Setting(label, name, resolved, {"dataset": label}, start, ())


def _workload(setting: Setting, size: Size) -> Workload:
    return Workload.of(
        setting.resolved, size.train_images, size.test_images, size.side, size.classes
    )
