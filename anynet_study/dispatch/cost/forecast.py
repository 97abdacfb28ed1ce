"""What a launch would submit to Slurm, and when it would be done."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from anynet_study.dispatch.cost.model import GPU_OPTIONS, CostModel
from anynet_study.dispatch.pack import pack_by_length
from anynet_study.dispatch.planned import PlannedRun
from anynet_study.dispatch.progress.eta import last_end
from anynet_study.dispatch.slurm.arrays import deal, lanes
from anynet_study.dispatch.slurm.executor import ArrayExecutor, sbatch_text, slurm_executor
from anynet_study.dispatch.slurm.site import Site
from anynet_study.dispatch.snapshot import snapshot
from anynet_study.study_folder import StudyFolder
from anynet_study.sweep import Sweep

#: Seconds from a job's start to its first step: imports, plan, data. Measured on an idle CPU; that
#: of a GPU, which also chooses layers and records graphs, is an estimate.
START_UP_CPU = 5.0
START_UP_GPU = 60.0
#: More of the time than this should not be spent on it.
START_UP_GOAL = 0.02
#: Stands for the name of the file that says what to do.
TOKEN = "0" * 12


@dataclass(frozen=True)
class Forecast:
    """Jobs, their lengths with start-up, and what they take."""

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


def forecast(
    study: StudyFolder, sweep: Sweep, runs: Iterable[PlannedRun], cost: CostModel
) -> Forecast:
    """What a launch of `runs` would be, if as many jobs ran at once as are allowed to.

    Needs no Slurm: without one, its usual limits are taken for the site's.
    """
    site = Site.ask()
    packed = pack_by_length(runs, 60.0 * sweep.launch.job_minutes)
    work = [sum(run.seconds for run in part) for part in packed]
    executor = slurm_executor(study, sweep, snapshot(study.code), site, max(work))
    options = executor.parameters
    on_gpu = any(sweep.launch.slurm.get(name) for name in GPU_OPTIONS)
    start_up = START_UP_GPU if on_gpu else START_UP_CPU
    begins = [_begins(seconds, options["time"], options["signal_delay_s"]) for seconds in work]
    jobs = [seconds + start_up * times for seconds, times in zip(work, begins, strict=True)]
    parallel = options.get("array_parallelism")
    shares = lanes(len(jobs), site.array_size, parallel)
    dealt = list(deal(range(len(jobs)), len(shares), site.array_size))
    each = options.get("gpus_per_node", 1) if on_gpu else options["cpus_per_task"]
    at_once = min(parallel or len(jobs), len(jobs))
    return Forecast(
        jobs=len(jobs),
        arrays=len(dealt),
        mean_job=sum(jobs) / len(jobs),
        longest_job=max(jobs),
        hours=each * sum(jobs) / 3600,
        unit="GPU-hours" if on_gpu else "core-hours",
        start_up=start_up * sum(begins) / sum(jobs),
        at_once=at_once,
        done_in=last_end([0.0] * at_once, jobs),
        limit=options["time"],
        sbatch=_first(executor, len(dealt[0][1]), shares[0], site),
    )


def _begins(seconds: float, minutes: int, warning: int) -> int:
    """How often a job starts up: anew after each time limit."""
    return max(1, ceil(seconds / (60 * minutes - warning)))


def _first(executor: ArrayExecutor, tasks: int, share: int | None, site: Site) -> str:
    return sbatch_text(executor, TOKEN, tasks, share, is_array=site.array_size > 0)
