"""Price a sweep by dataset and recipe; its data need not be there."""

from dataclasses import dataclass

from anynet_study.data import KeptDatasets, load_dataset
from anynet_study.design_space import Population
from anynet_study.engine.planning.brackets import Judge
from anynet_study.engine.planning.memory import device_memory, run_bytes, shared_bytes
from anynet_study.engine.planning.plan import Plan, Prices, plan_of
from anynet_study.engine.planning.prices import CostModel
from anynet_study.engine.planning.settings import (
    datasets_of,
    make_views,
    naming,
    settings_by_size,
)
from anynet_study.engine.planning.sizes import (
    DatasetSize,
    dataset_size,
    expected_evaluations,
    is_there,
    size_of_view,
)
from anynet_study.engine.sweep import Sweep, stated


@dataclass(frozen=True)
class SettingCost:
    """All runs of one dataset with one recipe."""

    dataset: str
    recipe: str
    size: DatasetSize
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
class SweepCost:
    """The cost of a sweep: by dataset and recipe, and run by run."""

    items: list[SettingCost]
    #: All runs with their predicted lengths. Ids are those of no data that is there.
    plan: Plan


def sweep_cost(
    sweep: Sweep, population: Population, cost: CostModel, kept: KeptDatasets | None = None
) -> SweepCost:
    """Runs and predicted device seconds for each dataset and recipe, in the plan's order.

    In each rung of tuning, the trials that take the longest are assumed to go on. So the cost is an
    upper bound, and exact where all settings take equally long.

    `kept`: see `load_dataset`. Raises UserError for a dataset that is neither there nor in the
    catalog, and for a recipe that does not fit a dataset.
    """
    there = filter(is_there, datasets_of(sweep)[0])
    views = make_views(sweep, {base: load_dataset(base, kept=kept) for base in there})

    def size_of(label: str) -> DatasetSize:
        entry = sweep.datasets[label]
        if label in views:
            return size_of_view(views[label])
        match = None if entry.match is None else size_of(entry.match)
        with naming(label):
            return dataset_size(entry.variant, match, kept)

    sizes = {label: size_of(label) for label in sweep.datasets}
    tests = expected_evaluations(sweep, sizes, views, kept)
    settings = settings_by_size(sweep, views, sizes, tests)
    prices = Prices(population, settings, cost)
    judge: Judge = lambda run, _: -prices.of(run)  # noqa: E731
    plan = plan_of(sweep, population, settings, cost, judge)
    pairs = dict.fromkeys((setting.dataset, stated(setting.recipe)) for setting in settings)
    items = [_setting_cost(plan, *pair, sizes[pair[0]], prices, cost) for pair in pairs]
    return SweepCost(items, plan)


def _setting_cost(
    plan: Plan, dataset: str, recipe: str, size: DatasetSize, prices: Prices, cost: CostModel
) -> SettingCost:
    """All runs of a recipe on a dataset, those of all its trials."""
    pair, device = (dataset, recipe), device_memory(cost.name)
    settings = [it for it in plan.settings if (it.dataset, stated(it.recipe)) == pair]
    runs = plan.where(lambda run: (run.dataset, stated(run.recipe)) == pair)
    own = max(int(run_bytes(it.groups(plan.population), it.work, device).max()) for it in settings)
    return SettingCost(
        dataset=dataset,
        recipe=recipe,
        size=size,
        epochs=max(it.work.epochs for it in settings),
        runs=len(runs),
        seconds=sum(run.seconds for run in runs),
        evaluations=sum(len(run.evaluations) for run in runs),
        evaluation_seconds=sum(prices.of(run, run.evaluations) for run in runs),
        memory_bytes=shared_bytes(0, device) + own,
    )
