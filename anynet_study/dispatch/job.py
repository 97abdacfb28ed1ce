"""What a worker's process is given to do, and how Slurm's jobs begin with it and come back.

Each task of a job array runs `python -m anynet_study.dispatch.job LOGS TOKEN`. It takes its part of
the array's file and lets submitit do it, who queues a job that hits its time limit again. A job
that comes back goes on with the file that submitit wrote then.
"""

import os
import pickle
import socket
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from glob import escape
from pathlib import Path
from typing import Any

import psutil
import yaml
from submitit import JobEnvironment
from submitit.core.submission import process_job
from submitit.core.utils import DelayedSubmission, JobPaths

from anynet_study.data import data_root
from anynet_study.dispatch.endings import ATTACHED
from anynet_study.dispatch.plan import PlannedRun
from anynet_study.dispatch.process import Interruption, end_with, keep_freed_memory
from anynet_study.dispatch.recorded import Retries
from anynet_study.files import replacing
from anynet_study.study_folder import StudyFolder
from anynet_study.sweep import Sweep

#: A job that was requeued this often in a row without progress would never make any: its time
#: limit ends it while it still starts up.
MAX_STALLED_REQUEUES = 3


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


@dataclass(frozen=True)
class Job:
    """What submitit pickles. It says what to do; what is done already is read from the journals."""

    study_folder: str
    data_root: str
    #: The sweep as it was at launch: later edits of the file change nothing.
    sweep_yaml: str
    run_ids: tuple[str, ...]
    #: Those of them that were tried before.
    retries: Retries = field(default_factory=dict)
    #: Process whose end ends the worker; None: the worker outlives its launcher.
    launcher: int | None = None
    #: How many times in a row it was requeued without having made progress.
    stalled: int = 0
    #: The one GPU that it is to use, in CUDA's words; "": what its environment says.
    gpu: str = ""

    @classmethod
    def of(
        cls,
        study: StudyFolder,
        sweep: Sweep,
        retries: Retries,
        runs: Iterable[PlannedRun] = (),
        launcher: int | None = None,
    ) -> "Job":
        """A job of the study; `launcher`: the process whose end ends it."""
        return cls(
            study_folder=str(study.folder.absolute()),
            data_root=str(data_root().absolute()),
            sweep_yaml=sweep.to_yaml(),
            run_ids=tuple(run.run_id for run in runs),
            retries=retries,
            launcher=launcher,
        )

    def __call__(self) -> int:
        """Train what is not finished yet; returns how many runs had something left to do."""
        interruption = Interruption()
        if self.launcher is not None:
            print(ATTACHED, self.launcher, flush=True)
            end_with(self.launcher, interruption)
        keep_freed_memory()
        os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported
        if self.gpu:
            os.environ["CUDA_VISIBLE_DEVICES"] = self.gpu
        os.environ["ANYNET_DATA"] = self.data_root
        study = StudyFolder(Path(self.study_folder))
        sweep = Sweep.model_validate(yaml.safe_load(self.sweep_yaml))
        with interruption.listening():
            from anynet_study.dispatch.worker import train_runs  # imports torch

            done = train_runs(study, sweep, self.run_ids, self.retries, interruption)
        interruption.pass_on()
        return done

    def checkpoint(self) -> Any:
        """Called by submitit before a job is queued again: the same job once more.

        None, and it is not, where it makes no progress.
        """
        moved = made_progress(StudyFolder(Path(self.study_folder)), self.run_ids)
        stalled = 0 if moved else self.stalled + 1
        if stalled >= MAX_STALLED_REQUEUES:
            return None
        return DelayedSubmission(replace(self, stalled=stalled))


@dataclass(frozen=True)
class JobArray:
    """A job for each task; they differ in their runs alone."""

    #: Without runs.
    job: Job
    #: Ids of the runs of each task, separated by spaces.
    tasks: tuple[str, ...]
    #: The jobs' time limit, and how often they may hit it.
    minutes: int
    max_num_timeout: int

    def write(self, path: Path) -> None:
        """Publish it durably."""
        with replacing(path) as temporary, temporary.open("wb") as file:
            pickle.dump(self, file)

    @classmethod
    def read(cls, path: Path) -> "JobArray":
        with path.open("rb") as file:
            array: JobArray = pickle.load(file)
        return array

    def submission(self, task: int) -> DelayedSubmission:
        """What submitit is to do for a task."""
        job = replace(self.job, run_ids=tuple(self.tasks[task].split()))
        delayed = DelayedSubmission(job)
        delayed.set_timeout(self.minutes, self.max_num_timeout)
        return delayed


def array_file(logs: Path, token: str) -> Path:
    """Where the array of a submission is written."""
    return logs / f"{token}.pkl"


def script_file(logs: Path, token: str) -> Path:
    """Where its sbatch script is written."""
    return logs / f"{token}.sh"


def run_task(logs: Path, token: str) -> None:
    """Do this task's part of an array; of its files only the logs are left when it has ended."""
    os.environ["SUBMITIT_FOLDER"] = str(logs)
    paths = JobEnvironment().paths
    _prepare(paths, array_file(logs, token))
    try:
        process_job(logs)
    finally:
        if paths.result_pickle.exists():  # otherwise it was queued again, or killed
            paths.result_pickle.unlink()
            paths.submitted_pickle.unlink(missing_ok=True)


def _prepare(paths: JobPaths, array: Path) -> None:
    """Write the file that submitit starts from, unless this job comes back."""
    for path in (paths.submitted_pickle, paths.result_pickle):  # of a kill while it was written
        path.with_suffix(f"{path.suffix}.save_tmp").unlink(missing_ok=True)
    if not paths.submitted_pickle.exists():
        number = int(os.environ.get("SLURM_ARRAY_TASK_ID", "0"))
        with replacing(paths.submitted_pickle) as temporary:
            JobArray.read(array).submission(number).dump(temporary)


if __name__ == "__main__":
    run_task(Path(sys.argv[1]), sys.argv[2])
