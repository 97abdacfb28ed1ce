"""A worker: trains the runs of its job one after the other and journals each as it finishes."""

import ctypes
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml

from anynet_study.design_space import Population
from anynet_study.dispatch.last_words import BEGINS
from anynet_study.dispatch.plan import PlannedRun, load_views, plan
from anynet_study.store import JournalWriter, finished_runs
from anynet_study.study import Study
from anynet_study.sweep import Sweep

#: How often an attached worker looks whether its launcher is still there, in seconds.
HEARTBEAT = 0.5
#: Parameters of glibc's `mallopt` (malloc.h).
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


@dataclass(frozen=True)
class Job:
    """What submitit pickles. It says what to do; what is done already is read from the journals."""

    study_folder: str
    data_root: str
    #: The sweep as it was at launch: later edits of the file change nothing.
    sweep_yaml: str
    run_ids: tuple[str, ...]
    retry_failed: bool
    #: Process whose end ends the worker; None: the worker outlives its launcher.
    launcher: int | None = None

    def __call__(self) -> int:
        """Train what is not finished yet; the number of runs trained."""
        if self.launcher is not None:
            _end_with(self.launcher)
        _keep_freed_memory()
        os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported
        os.environ["ANYNET_DATA"] = self.data_root
        return work(self)

    def checkpoint(self) -> Any:
        """Called by submitit before a preempted job is queued again: the same job once more."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def work(job: Job) -> int:
    """Train the runs of `job` that have no record yet, each journalled before the next begins."""
    import torch

    torch.set_num_threads(1)
    study = Study(Path(job.study_folder))
    sweep = Sweep.model_validate(yaml.safe_load(job.sweep_yaml))
    views = load_views(sweep)
    planned = plan(sweep, Population.read(study.population_file), views)
    done = finished_runs(study.journals)
    if job.retry_failed:
        done = {run_id: status for run_id, status in done.items() if status != "failed"}
    mine = set(job.run_ids) - set(done)
    todo = [run for run in planned if run.run_id in mine]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if todo:
        _work_through(todo, study, sweep, views, device)
    return len(todo)


def _work_through(
    todo: list[PlannedRun],
    study: Study,
    sweep: Sweep,
    views: dict[str, Any],
    device: Any,
) -> None:
    from anynet_study.dispatch.record import train_and_record

    writer = JournalWriter(study.new_journal())
    try:
        for run in todo:
            print(run.run_id, run.dataset, run.spec.architecture.id, BEGINS, flush=True)
            checkpoint = study.checkpoints / f"{run.run_id}.pt"
            record = train_and_record(
                run, views[run.dataset], device, checkpoint, sweep.launch.checkpoint_seconds
            )
            writer.append(record)
            checkpoint.unlink(missing_ok=True)
            print(
                f"{record.run_id} {record.dataset} {record.architecture} {record.status} "
                f"{record.error:.2f}% in {record.seconds:.1f} s {record.message}",
                flush=True,
            )
    finally:
        writer.close()


def _keep_freed_memory() -> None:
    """Tell glibc not to hand each step's buffers back to the system: evaluation is a third faster.

    Speed only; other C libraries do without.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(M_MMAP_THRESHOLD, 1 << 25)  # the most that glibc takes
    mallopt(M_TRIM_THRESHOLD, 1 << 30)


def _end_with(launcher: int) -> None:
    """End this process as soon as the launcher is gone: its journal is safe at any point."""
    process = _process(launcher)

    def watch() -> None:
        while process is not None and _alive(process):
            time.sleep(HEARTBEAT)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
