"""What a submission is to do, and the callable that submitit runs for each of its jobs.

Every job, of Slurm or of this machine, is a `Task` that submitit unpickles and calls. It holds no
data: what to do is in a file of the study, and what is done is in the journals.
"""

import json
import os
import signal
import socket
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from glob import escape
from pathlib import Path

import psutil
import submitit
import yaml
from submitit.helpers import DelayedSubmission

from anynet_study.core.files import open_regular, write_text
from anynet_study.data import data_root
from anynet_study.engine.dispatch.process import Interruption, prepare_process
from anynet_study.engine.dispatch.recorded import NO_RETRIES, Retries, Retry
from anynet_study.engine.dispatch.worker_state import WorkerState, alive_file, changed
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Sweep

#: A job that was requeued this often in a row without progress would never make any: its time
#: limit ends it while it still starts up.
MAX_STALLED_REQUEUES = 3
#: What a time limit or a preemption sends ahead: save, and be queued again.
WARNINGS = (signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True)
class Worklist:
    """What each job of a submission is to do."""

    study_folder: str
    data_root: str
    #: The sweep as it was at launch: later edits of the file change nothing.
    sweep_yaml: str
    #: Ids of the runs of each job, separated by spaces.
    tasks: Sequence[str]
    #: The runs that were tried before.
    retries: Retries = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        study: StudyFolder,
        sweep: Sweep,
        tasks: Sequence[str],
        retries: Retries = NO_RETRIES,
    ) -> "Worklist":
        """A worklist of the study, with the data of this process."""
        return cls(
            study_folder=str(study.folder.absolute()),
            data_root=str(data_root().absolute()),
            sweep_yaml=sweep.to_yaml(),
            tasks=tasks,
            retries=retries,
        )

    def write(self, path: Path) -> None:
        """Publish it durably, for this user alone."""
        write_text(path, json.dumps(asdict(self), separators=(",", ":")), mode=0o600)

    @classmethod
    def read(cls, path: Path) -> "Worklist":
        """The worklist that was written to a file."""
        with open_regular(path) as file:
            fields = json.load(file)
        retries = {run_id: Retry(**retry) for run_id, retry in fields.pop("retries").items()}
        return cls(**fields, retries=retries)

    def run_ids(self, number: int) -> list[str]:
        """The runs of one job."""
        return self.tasks[number].split()

    def work(self, number: int, interruption: Interruption) -> None:
        """Train the runs of one job that are not finished; save and return when interrupted."""
        prepare_process(self.data_root)
        sweep = Sweep.model_validate(yaml.safe_load(self.sweep_yaml))
        from anynet_study.engine.dispatch.worker import train_runs  # imports torch

        study = StudyFolder(Path(self.study_folder))
        train_runs(study, sweep, self.run_ids(number), self.retries, interruption)


def worklist_file(logs: Path, token: str) -> Path:
    """Return where the worklist of a submission is written."""
    return logs / f"{token}.json"


@dataclass(frozen=True)
class Task:
    """The worker of one job, in submitit's protocol of what can be checkpointed.

    All jobs of a submission have the same: which of its tasks is theirs, submitit's environment
    tells. After a requeue it begins again from the study's files.
    """

    study_folder: str
    #: Names the worklist.
    token: str
    #: How often in a row it was queued again without progress.
    stalled: int = 0

    @property
    def study(self) -> StudyFolder:
        return StudyFolder(Path(self.study_folder))

    @property
    def worklist(self) -> Worklist:
        return Worklist.read(worklist_file(self.study.logs, self.token))

    def __call__(self) -> None:
        """Do what is left of the task.

        A signal that submitit answers at once, in the middle of anything, is answered here when all
        is saved: it is noted, and sent once more at the end.
        """
        job, interruption = submitit.JobEnvironment(), Interruption()
        path = alive_file(self.study.logs, job.job_id)
        with interruption.listening(), WorkerState(path, job.paths.stderr) as interruption.state:
            self.worklist.work(_number(job), interruption)
            if interruption.signal is not None:
                interruption.state.note(
                    left=f"asked to leave ({interruption.signal.name})", runs={}
                )
        again = signal.Signals[f"SIG{submitit.JobEnvironment.USR_SIG}"]
        if interruption.signal in WARNINGS and callable(signal.getsignal(again)):
            signal.raise_signal(again)  # submitit calls `checkpoint`, and has the job requeued

    def checkpoint(self) -> DelayedSubmission | None:
        """Return what is queued again in place of this: the same; None where that would lead
        nowhere.
        """
        runs = self.worklist.run_ids(_number(submitit.JobEnvironment()))
        stalled = 0 if made_progress(self.study, runs) else self.stalled + 1
        if stalled >= MAX_STALLED_REQUEUES:
            print(f"queued again {stalled - 1} times in vain: not once more", flush=True)
            return None
        return DelayedSubmission(replace(self, stalled=stalled))


def _number(job: submitit.JobEnvironment) -> int:
    """Tell which task of its submission a job does; one that is not in an array is the only one."""
    return int(job.array_task_id or 0)


def made_progress(study: StudyFolder, run_ids: Iterable[str]) -> bool:
    """Tell whether this process recorded something, or saved one of these runs."""
    mine = escape(f"{socket.gethostname()}-{os.getpid()}-")
    if any(study.journals.glob(f"{mine}*")):
        return True
    began = psutil.Process().create_time()
    return any(changed(study.checkpoints / f"{run_id}.pt") >= began for run_id in run_ids)
