"""The callable that submitit runs for each job of Slurm.

It holds no data: what to do is in the study's ledger, and what is done is in the journals.
"""

import os
import signal
import socket
from collections.abc import Iterable
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path

import psutil
import submitit
from submitit.helpers import DelayedSubmission

from anynet_study.engine.dispatch import ledger
from anynet_study.engine.dispatch.ledger import Submission
from anynet_study.engine.dispatch.process import Interruption, prepare_process
from anynet_study.engine.dispatch.worker_state import WorkerState, alive_file, changed
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Sweep

#: A job that was requeued this often in a row without progress would never make any: its time
#: limit ends it while it still starts up.
MAX_STALLED_REQUEUES = 3
#: What a time limit or a preemption sends ahead: save, and be queued again.
WARNINGS = (signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True)
class Task:
    """The worker of one job, in submitit's protocol of what can be checkpointed.

    All jobs of a submission have the same: which of its tasks is theirs, submitit's environment
    tells. After a requeue it begins again from the study's files.
    """

    study_folder: str
    #: Names the submission in the ledger.
    token: str
    #: How often in a row it was queued again without progress.
    stalled: int = 0

    @property
    def study(self) -> StudyFolder:
        return StudyFolder(Path(self.study_folder))

    @property
    def submission(self) -> Submission:
        return ledger.submission(self.study.jobs, self.token)

    def __call__(self) -> None:
        """Do what is left of the task.

        A signal that submitit answers at once, in the middle of anything, is answered here when all
        is saved: it is noted, and sent once more at the end.
        """
        study, job, interruption = self.study, submitit.JobEnvironment(), Interruption()
        state = WorkerState(alive_file(study.logs, job.job_id), job.paths.stderr)
        with interruption.listening(state):
            work = self.submission
            prepare_process(work.call.data_root)
            from anynet_study.engine.dispatch.worker import train_runs  # imports torch

            sweep, run_ids = Sweep.load(study.launched_file), _runs_of(job, work)
            train_runs(study, sweep, run_ids, work.call.retries, interruption)
        again = signal.Signals[f"SIG{submitit.JobEnvironment.USR_SIG}"]
        if interruption.signal in WARNINGS and callable(signal.getsignal(again)):
            signal.raise_signal(again)  # submitit calls `checkpoint`, and has the job requeued

    def checkpoint(self) -> DelayedSubmission | None:
        """Return what is queued again in place of this: the same; None if that leads nowhere."""
        runs = _runs_of(submitit.JobEnvironment(), self.submission)
        stalled = 0 if made_progress(self.study, runs) else self.stalled + 1
        if stalled >= MAX_STALLED_REQUEUES:
            print(f"queued again {stalled - 1} times in vain: not once more", flush=True)
            return None
        return DelayedSubmission(replace(self, stalled=stalled))


def _runs_of(job: submitit.JobEnvironment, work: Submission) -> list[str]:
    """The runs of a job; one that is in no array is the only one of its submission."""
    return work.all_runs[int(job.array_task_id or 0)].split()


def made_progress(study: StudyFolder, run_ids: Iterable[str]) -> bool:
    """Tell whether this process recorded something, or saved one of these runs."""
    mine = escape(f"{socket.gethostname()}-{os.getpid()}-")
    if any(study.journals.glob(f"{mine}*")):
        return True
    began = psutil.Process().create_time()
    return any(changed(study.checkpoints / f"{run_id}.pt") >= began for run_id in run_ids)
