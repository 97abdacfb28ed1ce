"""What a sweep costs, before its data is there."""

from collections.abc import Mapping
from dataclasses import dataclass

from anynet_study.design_space import Population
from anynet_study.dispatch.cost.features import Workload
from anynet_study.dispatch.cost.foreseen import foreseen_tests
from anynet_study.dispatch.cost.further import FurtherTest, evaluation_features
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
    #: With further evaluations.
    seconds: float
    #: Further evaluations of all these runs, and what they take of the seconds.
    evaluations: int
    evaluation_seconds: float
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
    tests = foreseen_tests(sweep, sizes)
    settings = tuple(_setting(sweep, sizes, tests, *column) for column in columns_of(sweep))
    works = [_workload(it, sizes[it.dataset]) for it in settings]
    planned = laid_out(sweep, population, settings).with_lengths(works, rate)
    items = [
        _item(planned, column, work, sizes[it.dataset], rate)
        for column, (it, work) in enumerate(zip(settings, works, strict=True))
    ]
    return Price(items, planned)


def _item(planned: Plan, column: int, work: Workload, size: Size, rate: CostModel) -> Item:
    groups, device = planned.population.groups, device_memory(rate.name)
    architectures, it = planned.rows[:, 0], planned.settings[column]
    tested = rate.evaluation_seconds(evaluation_features(groups, it.tests, work.resolution))
    return Item(
        dataset=it.dataset,
        recipe=it.recipe,
        size=size,
        epochs=work.evaluations,
        runs=len(architectures),
        seconds=float(planned.lengths[architectures, column].sum()),
        evaluations=len(it.tests) * len(architectures),
        evaluation_seconds=float(tested[architectures].sum()),
        memory_bytes=shared_bytes(0, device) + int(run_bytes(groups, work, device).max()),
    )


def _setting(
    sweep: Sweep,
    sizes: Mapping[str, Size],
    tests: Mapping[str, tuple[FurtherTest, ...]],
    label: str,
    name: str,
    start: int | None,
) -> Setting:
    size = sizes[label]
    recipe = sweep.recipes[name].for_dataset(label)
    resolved = resolve(recipe, label, size.classes, size.train_images, size.side)
    return Setting(label, name, resolved, {"dataset": label}, start, tests.get(label, ()))


def _workload(setting: Setting, size: Size) -> Workload:
    return Workload.of(
        setting.resolved, size.train_images, size.test_images, size.side, size.classes
    )
