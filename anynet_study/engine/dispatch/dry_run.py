"""What a study has done and a launch would submit; neither data nor Slurm needs to be there."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil

from anynet_study.core.errors import UnreadableError, UserError
from anynet_study.data import KeptDatasets
from anynet_study.design_space import Population
from anynet_study.engine.dispatch.calibration import expected_on
from anynet_study.engine.dispatch.failures import retries
from anynet_study.engine.dispatch.opened import Changes, OpenStudy, lost_in_words
from anynet_study.engine.dispatch.pack import last_end, pack_jobs
from anynet_study.engine.dispatch.recorded import JournalReader
from anynet_study.engine.dispatch.slurm.site import Site
from anynet_study.engine.dispatch.submission import first_script
from anynet_study.engine.planning import (
    CostModel,
    Plan,
    PlannedRun,
    asks_for_gpu,
    load_views,
    make_plan,
)
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Launch, Sweep, stated

#: Seconds that an estimate waits for an answer of Slurm.
PATIENCE = 5.0
#: Place in the population, dataset, recipe, rung, replicate.
Kind = tuple[int, str, str, int, int]
#: Seconds from a job's start to its first step: imports, plan, data. Measured on an idle CPU; that
#: of a GPU, which also chooses layers and records graphs, is an estimate.
START_UP_CPU = 5.0
START_UP_GPU = 60.0


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
    #: How many runs of each kind (`kind_of`) have nothing left to do.
    done: Counter[Kind] = field(default_factory=Counter)
    #: Why the study's folder does not take this sweep; "" if it does.
    refusal: str = ""
    #: What is wrong with journals of the study, by name.
    damage: Mapping[str, str] = field(default_factory=dict)
    #: What the sweep changes of the study, so that recorded runs would stay unused.
    changes: Changes | None = None


def begun_study(sweep: Sweep, population: Population, kept: KeptDatasets, site: Site) -> Begun:
    """Return what the study of a sweep has finished, and what the sweep changes of it."""
    cost, study = expected_on(sweep.launch, site), StudyFolder.of(sweep)
    reader = JournalReader(study.journals, study.results)
    recorded = reader.read()
    try:
        if study.population_file.exists():
            study.check_extends(population)
        lost = recorded.lost(study.results)
    except UserError as error:
        return Begun(cost, refusal=str(error))
    found = Begun(cost, refusal=lost_in_words(study, lost) if lost else "", damage=recorded.damage)
    if not reader.records:
        return found
    try:
        views = load_views(sweep, kept=kept)
    except UnreadableError:
        raise
    except UserError:  # some data is not there (any more)
        return found
    plan = make_plan(sweep, population, views, judge=recorded.validation_error, kept=kept)
    todo = recorded.todo(plan, retries(recorded, sweep.launch.attempts)).by_id
    done = Counter(kind_of(run) for run in plan if run.run_id not in todo)
    opened = OpenStudy(study, sweep, population, views, plan)
    cost = opened.calibrated(reader).cost
    found = replace(found, refusal=found.refusal or opened.older_meaning(recorded))
    return replace(found, cost=cost, done=done, changes=opened.changes(recorded))


def kind_of(run: PlannedRun) -> Kind:
    """Return what tells runs apart; not trials of a rung: who goes on is not known yet."""
    rung = run.trial.rung if run.trial else 0
    recipe = stated(run.recipe) if rung or (run.trial and run.replicate) else run.recipe
    return run.place, run.dataset, recipe, rung, run.replicate


def left_of(plan: Plan, done: Counter[Kind]) -> list[PlannedRun]:
    """The runs of a priced plan, but for so many of each kind."""
    rest, left = Counter(done), []
    for run in plan:
        kind = kind_of(run)
        rest[kind] -= 1
        if rest[kind] < 0:
            left.append(run)
    return left


def asked_site(launch: Launch) -> Site:
    """Return what a Slurm that answers soon tells of itself; its usual limits without one."""
    return Site.ask(PATIENCE) if launch.cluster == "slurm" else Site()


def forecast(
    study: StudyFolder, sweep: Sweep, runs: Iterable[PlannedRun], site: Site
) -> SlurmForecast:
    """Return what a launch of `runs` would be, if as many jobs ran at once as are allowed to."""
    work = [sum(run.seconds for run in job) for job in pack_jobs(sweep.launch, runs)]
    options, script = first_script(study, sweep, site, max(work), len(work))
    on_gpu = asks_for_gpu(sweep.launch.slurm)
    start_up = START_UP_GPU if on_gpu else START_UP_CPU
    starts = [_starts(seconds, options["time"], options["signal_delay_s"]) for seconds in work]
    jobs = [seconds + start_up * times for seconds, times in zip(work, starts, strict=True)]
    parallel = options.get("array_parallelism")
    size = max(1, site.array_size)
    devices = options.get("gpus_per_node", 1) if on_gpu else options["cpus_per_task"]
    at_once = min(parallel or len(jobs), len(jobs))
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
        sbatch=script,
    )


def _starts(seconds: float, minutes: int, warning: int) -> int:
    """Tell how often a job starts up: anew after each time limit."""
    return max(1, ceil(seconds / (60 * minutes - warning)))
