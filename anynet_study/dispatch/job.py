"""What a worker's process is given to do, and how a Slurm job is queued again.

Every worker, of this machine or of a job array, runs `python -m anynet_study.dispatch.job LOGS
NAME`: it reads its part of the job's file, and writes to a log of its own.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from glob import escape
from pathlib import Path

import psutil
import yaml

from anynet_study.data import data_root
from anynet_study.dispatch.endings import ATTACHED, BEGAN, EXCEPTION
from anynet_study.dispatch.ledger import alive_file, local_id
from anynet_study.dispatch.process import Interruption, end_with, keep_freed_memory
from anynet_study.dispatch.recorded import Retries, Retry
from anynet_study.errors import WorkFailedError
from anynet_study.files import write_text
from anynet_study.study_folder import StudyFolder
from anynet_study.sweep import Sweep

#: A job that was requeued this often in a row without progress would never make any: its time
#: limit ends it while it still starts up.
MAX_STALLED_REQUEUES = 3
#: What a time limit or a preemption sends ahead: save, and be queued again.
WARNINGS = (signal.SIGUSR1, signal.SIGUSR2)
#: Plans of cuDNN that a worker keeps: those of 16 networks of 60 layers, forward and two back.
CUDNN_PLANS = 3000


@dataclass(frozen=True)
class Job:
    """What one worker, or each task of an array, is to do; what is done is in the journals."""

    study_folder: str
    data_root: str
    #: The sweep as it was at launch: later edits of the file change nothing.
    sweep_yaml: str
    #: Ids of the runs of each task, separated by spaces.
    tasks: Sequence[str]
    #: The runs that were tried before.
    retries: Retries = field(default_factory=dict)
    #: Process whose end ends the worker; None: the worker outlives its launcher.
    launcher: int | None = None
    #: How often a job of Slurm has itself queued again.
    most_requeues: int = 0

    @classmethod
    def of(
        cls,
        study: StudyFolder,
        sweep: Sweep,
        tasks: Sequence[str],
        retries: Retries,
        launcher: int | None = None,
        most_requeues: int = 0,
    ) -> "Job":
        """A job of the study."""
        folder, data = str(study.folder.absolute()), str(data_root().absolute())
        return cls(folder, data, sweep.to_yaml(), tasks, retries, launcher, most_requeues)

    def write(self, path: Path) -> None:
        """Publish it durably, for this user alone."""
        write_text(path, json.dumps(asdict(self), separators=(",", ":")), mode=0o600)

    @classmethod
    def read(cls, path: Path) -> "Job":
        """The job that was written to a file."""
        fields = json.loads(path.read_text(encoding="utf-8"))
        retries = {run_id: Retry(**retry) for run_id, retry in fields.pop("retries").items()}
        return cls(**fields, retries=retries)

    def work(self, task: int, interruption: Interruption) -> None:
        """Train what is not finished yet of a task's runs; save and return when interrupted."""
        if self.launcher is not None:
            print(ATTACHED, self.launcher, flush=True)
            end_with(self.launcher, interruption)
        keep_freed_memory()
        os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported
        # Torch keeps ten thousand of cuDNN's plans, each of an architecture's own, in host memory.
        os.environ.setdefault("TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT", str(CUDNN_PLANS))
        os.environ["ANYNET_DATA"] = self.data_root
        sweep = Sweep.model_validate(yaml.safe_load(self.sweep_yaml))
        from anynet_study.dispatch.worker import train_runs  # imports torch

        study, runs = StudyFolder(Path(self.study_folder)), self.tasks[task].split()
        train_runs(study, sweep, runs, self.retries, interruption)


def job_file(logs: Path, name: str) -> Path:
    """Where the job of a submission or of a local worker is written."""
    return logs / f"{name}.json"


def script_file(logs: Path, token: str) -> Path:
    """Where the sbatch script of a submission is written."""
    return logs / f"{token}.sh"


def run_task(logs: Path, name: str) -> None:
    """Do this process's part of a job; one of Slurm that is warned of its end comes back."""
    print(f"{BEGAN} ({time.strftime('%F %T')}) hostname={socket.gethostname()}", flush=True)
    interruption, job_id = Interruption(), this_job()
    alive = interruption.alive_file = alive_file(logs, job_id)
    try:
        with interruption.listening():
            interruption.requested()
            job, task = Job.read(job_file(logs, name)), os.environ.get("SLURM_ARRAY_TASK_ID", "0")
            job.work(int(task), interruption)
            if "SLURM_JOB_ID" in os.environ:
                requeue_if_warned(job, int(task), logs, interruption)
    except Exception:
        print(EXCEPTION, flush=True)
        raise
    finally:
        alive.unlink(missing_ok=True)


def this_job() -> str:
    """The id of the job that this process is."""
    array, place = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{place}" if array else os.environ.get("SLURM_JOB_ID", local_id(os.getpid()))


def requeue_if_warned(job: Job, task: int, logs: Path, interruption: Interruption) -> None:
    """Have Slurm queue this job again, if it left because it was warned of its end.

    Raises WorkFailedError where that would lead nowhere.
    """
    job_id = this_job()
    file = logs / f"{job_id}_requeued.json"  # how often it was, and how often without progress
    if interruption.signal not in WARNINGS:
        file.unlink(missing_ok=True)
        return
    before, stalled = json.loads(file.read_text(encoding="utf-8")) if file.exists() else (0, 0)
    moved = made_progress(StudyFolder(Path(job.study_folder)), job.tasks[task].split())
    stalled = 0 if moved else stalled + 1
    if stalled >= MAX_STALLED_REQUEUES or before >= job.most_requeues:
        raise WorkFailedError(f"not queued again: {before} times before, {stalled} in vain")
    write_text(file, json.dumps([before + 1, stalled]))
    subprocess.run(["scontrol", "requeue", job_id], check=True, timeout=60)


def made_progress(study: StudyFolder, run_ids: Iterable[str]) -> bool:
    """Whether this process recorded something, or saved one of these runs."""
    mine = escape(f"{socket.gethostname()}-{os.getpid()}-")
    if any(study.journals.glob(f"{mine}*")):
        return True
    began = psutil.Process().create_time()
    return any(_changed(study.checkpoints / f"{run_id}.pt") >= began for run_id in run_ids)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


if __name__ == "__main__":
    run_task(Path(sys.argv[1]), sys.argv[2])
