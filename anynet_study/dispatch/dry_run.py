"""What a sweep costs and what a launch would submit; neither data nor Slurm needs to be there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from anynet_study.data import load_dataset
from anynet_study.design_space import Population
from anynet_study.dispatch.calibration import calibrate, expected_on
from anynet_study.dispatch.cost.features import FurtherEvaluation
from anynet_study.dispatch.cost.memory import device_memory, run_bytes, shared_bytes
from anynet_study.dispatch.cost.prices import CostModel, asks_for_gpu
from anynet_study.dispatch.cost.sizes import (
    DatasetSize,
    dataset_size,
    expected_evaluations,
    is_there,
    size_of_view,
)
from anynet_study.dispatch.failures import retries
from anynet_study.dispatch.pack import last_end, pack_jobs
from anynet_study.dispatch.plan import (
    Plan,
    PlannedRun,
    Prices,
    Setting,
    check_texts,
    columns_of,
    datasets_of,
    load_views,
    make_plan,
    make_views,
    naming,
    plan_of,
    resolve,
    setting_of,
)
from anynet_study.dispatch.recorded import JournalReader
from anynet_study.dispatch.slurm.script import sbatch_text, slurm_executor
from anynet_study.dispatch.slurm.site import Site
from anynet_study.dispatch.snapshot import snapshot
from anynet_study.errors import UserError
from anynet_study.study_folder import StudyFolder
from anynet_study.sweep import Sweep

#: Seconds from a job's start to its first step: imports, plan, data. Measured on an idle CPU; that
#: of a GPU, which also chooses layers and records graphs, is an estimate.
START_UP_CPU = 5.0
START_UP_GPU = 60.0
#: Stands for the name of the file that says what to do.
TOKEN = "0" * 12


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
    """What a sweep costs: by dataset and recipe, and run by run."""

    items: list[SettingCost]
    #: All runs with their predicted lengths. Ids are those of no data that is there.
    plan: Plan


@dataclass(frozen=True)
class SlurmForecast:
    """What a launch would submit: jobs, their lengths with start-up, and what they take."""

    jobs: int
    arrays: int
    #: Seconds.
    mean_job: float
    longest_job: float
    #: GPU-hours, or core-hours.
    hours: float
    unit: str
    #: Share of the time that goes into starting up.
    start_up: float
    #: Jobs that run at the same time, and seconds until the last is done then.
    at_once: int
    done_in: float
    #: Minutes after which Slurm ends a job, which is queued again.
    limit: int
    #: The script of the first array.
    sbatch: str


@dataclass(frozen=True)
class Begun:
    """What is there of a study already."""

    #: Built-in prices, scaled to the runs that it has finished, if it has.
    cost: CostModel
    #: The places in the plan of the runs of which something is left to do; None: all of them.
    left: Sequence[int] | None = None
    #: Why the study's folder does not take this sweep; "" if it does.
    refusal: str = ""


def begun_study(sweep: Sweep, population: Population) -> Begun:
    """What the study of a sweep has finished; runs and their order are those of `sweep_cost`."""
    cost, study = expected_on(sweep.launch), StudyFolder.of(sweep)
    reader = JournalReader(study.journals)
    recorded = reader.read()
    try:
        if study.population_file.exists():
            study.check_extends(population)
    except UserError as error:
        return Begun(cost, refusal=str(error))
    if not reader.records:
        return Begun(cost)
    try:
        views = load_views(sweep)
    except UserError:  # some data is not there (any more)
        return Begun(cost)
    plan = make_plan(sweep, population, views)
    todo = recorded.todo(plan, retries(recorded, sweep.launch.attempts)).by_id
    left = [place for place, run in enumerate(plan) if run.run_id in todo]
    return Begun(calibrate(plan, reader.timings(), lambda: cost).cost, left)


def sweep_cost(sweep: Sweep, population: Population, cost: CostModel) -> SweepCost:
    """Runs and predicted device seconds for each dataset and recipe, in the plan's order.

    Raises UserError for a dataset that is neither there nor in the catalog, and for a recipe that
    does not fit a dataset.
    """
    there = filter(is_there, datasets_of(sweep)[0])
    views = make_views(sweep, {base: load_dataset(base) for base in there})

    def size_of(label: str) -> DatasetSize:
        entry = sweep.datasets[label]
        if label in views:
            return size_of_view(views[label])
        match = None if entry.match is None else size_of(entry.match)
        with naming(label):
            return dataset_size(entry.variant, match)

    sizes = {label: size_of(label) for label in sweep.datasets}
    tests = expected_evaluations(sweep, sizes, views)
    found: list[Setting] = []
    for column in columns_of(sweep):
        if column[0] in views:
            check_texts(
                views[column[0]], sweep.recipes[column[1]].for_dataset(column[0]), column[0]
            )
        found.append(_setting(sweep, sizes, tests, found, *column))
    settings = tuple(found)
    plan = plan_of(sweep, population, settings, cost)
    items = [_setting_cost(plan, setting, sizes[setting.dataset], cost) for setting in settings]
    return SweepCost(items, plan)


def _setting_cost(plan: Plan, setting: Setting, size: DatasetSize, cost: CostModel) -> SettingCost:
    groups, device = setting.groups(plan.population), device_memory(cost.name)
    prices = Prices(plan, cost)
    pair = setting.dataset, setting.recipe
    runs = plan.where(lambda run: (run.dataset, run.recipe) == pair)
    return SettingCost(
        dataset=setting.dataset,
        recipe=setting.recipe,
        size=size,
        epochs=setting.work.evaluations,
        runs=len(runs),
        seconds=sum(run.seconds for run in runs),
        evaluations=len(setting.tests) * len(runs),
        evaluation_seconds=sum(prices.testing(run, run.evaluations) for run in runs),
        memory_bytes=shared_bytes(0, device) + int(run_bytes(groups, setting.work, device).max()),
    )


def _setting(
    sweep: Sweep,
    sizes: Mapping[str, DatasetSize],
    tests: Mapping[str, tuple[FurtherEvaluation, ...]],
    found: Sequence[Setting],
    label: str,
    name: str,
    start: int | None,
) -> Setting:
    size = sizes[label]
    recipe = sweep.recipes[name].for_dataset(label)
    images = size.train_images, size.validation_images
    resolved = resolve(recipe, label, size.classes, *images, size.side)
    work, asked = size.workload(resolved), tests.get(label, ())
    before = None if start is None else found[start]
    return setting_of(sweep, label, name, resolved, {"dataset": label}, start, before, work, asked)


def forecast(study: StudyFolder, sweep: Sweep, runs: Iterable[PlannedRun]) -> SlurmForecast:
    """What a launch of `runs` would be, if as many jobs ran at once as are allowed to.

    Needs no Slurm: without one, its usual limits are taken for the site's.
    """
    site = Site.ask()
    work = [sum(run.seconds for run in job) for job in pack_jobs(sweep.launch, runs)]
    executor = slurm_executor(study, sweep, snapshot(study.code).setup, site, max(work))
    options = executor.parameters
    on_gpu = asks_for_gpu(sweep.launch.slurm)
    start_up = START_UP_GPU if on_gpu else START_UP_CPU
    starts = [_starts(seconds, options["time"], options["signal_delay_s"]) for seconds in work]
    jobs = [seconds + start_up * times for seconds, times in zip(work, starts, strict=True)]
    parallel = options.get("array_parallelism")
    size = max(1, site.array_size)
    devices = options.get("gpus_per_node", 1) if on_gpu else options["cpus_per_task"]
    at_once = min(parallel or len(jobs), len(jobs))
    is_array = site.array_size > 0
    return SlurmForecast(
        jobs=len(jobs),
        arrays=ceil(len(jobs) / size),
        mean_job=sum(jobs) / len(jobs),
        longest_job=max(jobs),
        hours=devices * sum(jobs) / 3600,
        unit="GPU-hours" if on_gpu else "core-hours",
        start_up=start_up * sum(starts) / sum(jobs),
        at_once=at_once,
        done_in=last_end([0.0] * at_once, jobs),
        limit=options["time"],
        sbatch=sbatch_text(executor, TOKEN, min(size, len(jobs)), is_array=is_array),
    )


def _starts(seconds: float, minutes: int, warning: int) -> int:
    """How often a job starts up: anew after each time limit."""
    return max(1, ceil(seconds / (60 * minutes - warning)))
