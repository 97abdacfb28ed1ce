"""Starting workers on this machine, through submitit."""

import os
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import psutil
import submitit

from anynet_study.data import data_root
from anynet_study.dispatch.cost.devices import gpus_here
from anynet_study.dispatch.jobs import ledger
from anynet_study.dispatch.pack import pack_for_workers
from anynet_study.dispatch.planned import PlannedRun
from anynet_study.dispatch.recorded import NO_RETRIES, Retries
from anynet_study.dispatch.snapshot import Snapshot, take
from anynet_study.dispatch.terminal import deaf_to_the_terminal, without_our_streams
from anynet_study.dispatch.worker.job import Job
from anynet_study.dispatch.worker.process import huge_pages
from anynet_study.files import naming
from anynet_study.study_folder import StudyFolder
from anynet_study.sweep import Sweep

FOREVER_MIN = 60 * 24 * 365


def local_workers(sweep: Sweep) -> int:
    """Workers that this machine carries: one a GPU; without, one a core that we may use."""
    most = len(gpus_here()) or len(psutil.Process().cpu_affinity())
    return min(sweep.launch.workers or most, most)


@dataclass(frozen=True, eq=False)
class LocalWorker:
    """A worker of this machine, and what it was given to do."""

    job: "submitit.Job[int]"
    runs: list[PlannedRun]
    #: Its place among this machine's workers: which GPU it has.
    number: int
    #: What it imports.
    code: Snapshot


def submit_locally(
    study: StudyFolder,
    sweep: Sweep,
    runs: Sequence[PlannedRun],
    attached: bool,
    retries: Retries = NO_RETRIES,
) -> list[LocalWorker]:
    """Start this machine's workers; attached ones end with this process, others outlive it."""
    packed, code = pack_for_workers(runs, local_workers(sweep)), take(study.code)
    return [
        start_worker(study, sweep, code, part, number, attached, retries)
        for number, part in enumerate(packed)
    ]


def start_worker(
    study: StudyFolder,
    sweep: Sweep,
    code: Snapshot,
    runs: list[PlannedRun],
    number: int,
    attached: bool,
    retries: Retries = NO_RETRIES,
) -> LocalWorker:
    """Start one worker of this machine, on its `number`-th GPU if it has GPUs, with `code`."""
    gpus = gpus_here()
    executor = submitit.LocalExecutor(folder=study.logs)
    executor.update_parameters(timeout_min=FOREVER_MIN)
    launcher = os.getpid() if attached else None
    # Not by submitit, which hides all GPUs then: it knows them by number alone.
    gpu = gpus[number % len(gpus)] if gpus else ""
    work = replace(job_of(study, sweep, retries, runs, launcher), gpu=gpu)
    apart = nullcontext() if attached else deaf_to_the_terminal()
    with naming(study.logs), without_our_streams(), huge_pages(), code.imported(), apart:
        job = executor.submit(work)
    ids = [run.run_id for run in runs]
    ledger.append(study.jobs, [ledger.local_job(job.job_id, ids)])
    return LocalWorker(job, runs, number, code)


def job_of(
    study: StudyFolder,
    sweep: Sweep,
    retries: Retries,
    runs: Iterable[PlannedRun] = (),
    launcher: int | None = None,
) -> Job:
    """A worker's job; `launcher`: the process whose end ends it."""
    return Job(
        study_folder=str(study.folder.absolute()),
        data_root=str(data_root().absolute()),
        sweep_yaml=sweep.to_yaml(),
        run_ids=tuple(run.run_id for run in runs),
        retries=retries,
        launcher=launcher,
    )
