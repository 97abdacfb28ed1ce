"""Submission through submitit: the same code for this machine and for Slurm."""

import io
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
import submitit
from submitit.core.utils import FailedJobError, FailedSubmissionError

from anynet_study.data import data_root
from anynet_study.dispatch import ledger
from anynet_study.dispatch.pack import pack_by_length, pack_for_workers
from anynet_study.dispatch.planned import PlannedRun
from anynet_study.dispatch.process import huge_pages
from anynet_study.dispatch.recorded import NO_RETRIES, Retries
from anynet_study.dispatch.terminal import deaf_to_the_terminal, without_our_streams
from anynet_study.dispatch.worker import Job
from anynet_study.errors import UserError, WorkFailedError
from anynet_study.files import naming
from anynet_study.study import Study
from anynet_study.sweep import Sweep

#: submitit's parameters that carry no `slurm_` prefix.
SHARED_PARAMETERS = frozenset(
    {"timeout_min", "mem_gb", "nodes", "cpus_per_task", "gpus_per_node", "tasks_per_node", "name"}
)
#: A safe share of Slurm's default MaxArraySize of 1001.
ARRAY_SIZE = 1000
FOREVER_MIN = 60 * 24 * 365


def gpus_here() -> int:
    """GPUs of this machine that this process may use, without importing torch."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([device for device in visible.split(",") if device.strip() not in ("", "-1")])
    driver = Path("/proc/driver/nvidia/gpus")
    return len(list(driver.iterdir())) if driver.is_dir() else 0


def local_workers(sweep: Sweep) -> int:
    """Workers that this machine carries: one a GPU; without, one a core that we may use."""
    most = gpus_here() or len(psutil.Process().cpu_affinity())
    return min(sweep.launch.workers or most, most)


@dataclass(frozen=True, eq=False)
class LocalWorker:
    """A worker of this machine, and what it was given to do."""

    job: "submitit.Job[int]"
    runs: list[PlannedRun]
    #: Its place among this machine's workers: which GPU it has.
    number: int


def submit_locally(
    study: Study,
    sweep: Sweep,
    runs: Sequence[PlannedRun],
    attached: bool,
    retries: Retries = NO_RETRIES,
) -> list[LocalWorker]:
    """Start this machine's workers; attached ones end with this process, others outlive it."""
    packed = pack_for_workers(runs, local_workers(sweep))
    return [
        start_worker(study, sweep, part, number, attached, retries)
        for number, part in enumerate(packed)
    ]


def start_worker(
    study: Study,
    sweep: Sweep,
    runs: list[PlannedRun],
    number: int,
    attached: bool,
    retries: Retries = NO_RETRIES,
) -> LocalWorker:
    """Start one worker of this machine, on its `number`-th GPU if it has GPUs."""
    gpus = gpus_here()
    executor = submitit.LocalExecutor(folder=study.logs)
    executor.update_parameters(
        timeout_min=FOREVER_MIN,
        gpus_per_node=1 if gpus else 0,
        visible_gpus=(_device(number),) if gpus else (),
    )
    work = _job(study, sweep, runs, retries, launcher=os.getpid() if attached else None)
    apart = nullcontext() if attached else deaf_to_the_terminal()
    with naming(study.logs), without_our_streams(), huge_pages(), apart:
        job = executor.submit(work)
    ids = [run.run_id for run in runs]
    ledger.append(study.jobs_file, [ledger.local_job(job.job_id, ids)])
    return LocalWorker(job, runs, number)


def slurm_jobs(sweep: Sweep, runs: Iterable[PlannedRun]) -> Iterator[list[PlannedRun]]:
    """The runs of each Slurm job."""
    return pack_by_length(runs, 60.0 * sweep.launch.job_minutes)


def submit_to_slurm(
    study: Study,
    sweep: Sweep,
    runs: Sequence[PlannedRun],
    retries: Retries = NO_RETRIES,
    avoid: Collection[str] = (),
) -> list[submitit.Job[int]]:
    """Queue the runs as job arrays and return at once; `avoid`: nodes they must not get.

    Raises WorkFailedError with Slurm's words where it takes no (more) jobs.
    """
    executor = slurm_executor(study, sweep, avoid)
    packed = slurm_jobs(sweep, runs)
    submitted: list[submitit.Job[int]] = []
    while parts := list(islice(packed, ARRAY_SIZE)):
        with _refusals_told(queued=len(submitted)), huge_pages(), executor.batch():
            jobs = [
                executor.submit(_job(study, sweep, part, retries, launcher=None))
                for part in parts
            ]
        entries = [
            ledger.slurm_job(job.job_id, [run.run_id for run in part])
            for job, part in zip(jobs, parts, strict=True)
        ]
        ledger.append(study.jobs_file, entries)
        submitted += jobs
    return submitted


@contextmanager
def _refusals_told(queued: int) -> Iterator[None]:
    """Turn a refusal by sbatch into one line; submitit also prints it, which is once too often."""
    try:
        with redirect_stderr(io.StringIO()):
            yield
    except (FailedJobError, FailedSubmissionError) as error:
        words = " ".join(str(error).replace("sbatch: error: ", "").split())
        before = f" ({queued} jobs were queued before)" if queued else ""
        raise WorkFailedError(f"sbatch: {words}{before}") from None


def slurm_executor(
    study: Study, sweep: Sweep, avoid: Collection[str] = ()
) -> submitit.AutoExecutor:
    """An executor with the sweep's Slurm options; UserError names an option submitit lacks.

    Nodes to `avoid` are excluded besides those that the sweep excludes.
    """
    options: dict[str, Any] = {
        "name": f"anynet-{sweep.name}",
        "timeout_min": max(15, int(3 * sweep.launch.job_minutes)),
        "cpus_per_task": 1,
        **sweep.launch.slurm,
    }
    if avoid:
        excluded = filter(None, [options.get("exclude"), *sorted(set(avoid))])
        options["exclude"] = ",".join(excluded)
    named = {k if k in SHARED_PARAMETERS else f"slurm_{k}": v for k, v in options.items()}
    try:
        executor = submitit.AutoExecutor(folder=study.logs, cluster="slurm")
        executor.update_parameters(**named)
    except (NameError, ValueError, TypeError, RuntimeError, AssertionError) as error:
        words = str(error).split("Known executors")[0]  # then follow those of all clusters
        plain = re.sub(r"<class '(\w+)'>", r"\1", " ".join(words.split()))
        raise UserError(f"launch.slurm: {plain}") from None
    return executor


def _job(
    study: Study,
    sweep: Sweep,
    runs: Sequence[PlannedRun],
    retries: Retries,
    launcher: int | None,
) -> Job:
    ids = [run.run_id for run in runs]
    return Job(
        study_folder=str(study.folder.absolute()),
        data_root=str(data_root().absolute()),
        sweep_yaml=sweep.to_yaml(),
        run_ids=tuple(ids),
        retries={run_id: retries[run_id] for run_id in ids if run_id in retries},
        launcher=launcher,
    )


def _device(number: int) -> int:
    """The id of the `number`-th GPU that this process may use."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return int(visible.split(",")[number]) if visible else number
