"""Workers: what executors call, what `work` starts, and how their processes begin and end.

What is to be done is in the study's folder since its launch: the sweep, the population, digests of
the datasets, and in the ledger what each job of Slurm is to do, or what workers that come by
themselves are to know (`Call`). What is done is in the journals.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path

import psutil
import submitit
from submitit.helpers import DelayedSubmission

from anynet_study.core.errors import UserError, WorkFailedError
from anynet_study.data import KeptDatasets, data_root, load_dataset
from anynet_study.engine.dispatch import ledger
from anynet_study.engine.dispatch.claims import Claimed
from anynet_study.engine.dispatch.failures import retries
from anynet_study.engine.dispatch.ledger import Call, Submission, SubmittedJob
from anynet_study.engine.dispatch.recorded import Recorded
from anynet_study.engine.dispatch.snapshot import Snapshot
from anynet_study.engine.dispatch.worker_state import (
    WorkerState,
    alive_file,
    changed,
    seems_to_live,
    time_at,
)
from anynet_study.engine.planning import datasets_of
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Sweep

#: How often an attached worker looks whether its launcher is still there, in seconds.
HEARTBEAT = 0.5
#: How long it may take to save what it is at when the launcher is gone, in seconds.
PATIENCE = 10.0
#: Plans of cuDNN that a worker keeps: those of 16 networks of 60 layers, forward and two back.
CUDNN_PLANS = 3000
#: Queues of work of a GPU, the most that there are: it tries networks side by side, each on streams
#: of its own, and those that share one of the usual eight queues wait for each other.
CUDA_CONNECTIONS = 32
#: Parameters of glibc's `mallopt` (malloc.h).
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
#: A job that was requeued this often in a row without progress would never make any: its time
#: limit ends it while it still starts up.
MAX_STALLED_REQUEUES = 3
#: What a time limit or a preemption sends ahead: save, and be queued again.
WARNINGS = (signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True)
class Task:
    """The worker of one job of Slurm, in submitit's protocol of what can be checkpointed.

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
        study, job = self.study, submitit.JobEnvironment()
        state = WorkerState(alive_file(study.logs, job.job_id), job.paths.stderr)
        with state.listening():
            work = self.submission
            prepare_process(work.call.data_root)
            from anynet_study.engine.dispatch.worker import train_runs  # imports torch

            sweep, run_ids = Sweep.load(study.launched_file), _runs_of(job, work)
            train_runs(study, sweep, run_ids, work.call.retries, state)
        again = signal.Signals[f"SIG{submitit.JobEnvironment.USR_SIG}"]
        if state.signal in WARNINGS and callable(signal.getsignal(again)):
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


def worker_command(study: StudyFolder, attached: bool) -> list[str]:
    """The command of a worker; `attached`: it ends with this process."""
    command = [sys.executable, "-m", "anynet_study", "work", str(study.folder.absolute())]
    return [*command, "--attached", str(os.getpid())] if attached else command


@dataclass(frozen=True)
class Helper:
    """What an executor calls: a worker, in a process of its own, whose end it awaits."""

    study_folder: str
    #: What the worker imports; None: it works in the process that calls it.
    code: Snapshot | None

    def __call__(self) -> None:
        """Raises WorkFailedError with the last words of a worker that did not end in order."""
        study = StudyFolder(Path(self.study_folder))
        if self.code is None:
            _train_rounds(study, WorkerState())
        elif _is_free(study):
            line, own = worker_command(study, attached=True), self.code.environment
            done = subprocess.run(line, env=own, capture_output=True, text=True)
            if done.returncode:
                said = done.stderr.splitlines()[-1:] or [f"exit code {done.returncode}"]
                raise WorkFailedError(f"a worker of {study.folder} ended: {said[0]}")


def _is_free(study: StudyFolder) -> bool:
    """Tell whether a run that workers were called for is not recorded, and nobody is at it.

    Executors call their last functions when all is taken: these are to be quick.
    """
    call, recorded = _call(study), Recorded.read(study.journals)
    left = {run_id for run_id in call.runs if not recorded.is_over(run_id, call.retries)}
    now = time_at(study.logs)
    for claim in study.claims.glob("*") if left else ():
        if seems_to_live(study.logs, Claimed.read(claim).job_id, now):
            left.discard(claim.stem)
    return bool(left)


def _call(study: StudyFolder) -> Call:
    if (call := ledger.last_call(study.jobs)) is None:
        raise UserError(
            f"{study.folder}: no workers were called; first: anynet-study launch SWEEP "
            "--cluster none"
        )
    return call


def work_at(
    study: StudyFolder, minutes: float, tell: Callable[[str], None], attached: int = 0
) -> int:
    """Be a worker of a study until nobody is needed, or so many `minutes` have passed.

    `attached`: the process with which it ends, if that is not 0. `tell` gets a line for people.
    What training prints is in the study's logs. Returns how many runs were begun. Raises UserError
    where no launch called workers, or where data here are others than the study's.
    """
    call = _call(study)
    if "ANYNET_DATA" not in os.environ and Path(call.data_root).is_dir():
        os.environ["ANYNET_DATA"] = call.data_root
    job = ledger.arrival(os.getpid())
    study.logs.mkdir(parents=True, exist_ok=True)
    tell(f"worker {job.job_id}; its log: {job.log(study.logs, 'out')}")
    state = WorkerState(alive_file(study.logs, job.job_id), seconds=60 * minutes)
    with state.listening(), _logged(study, job):
        ledger.append(study.jobs, [job])
        _check_data(study)
        if attached:
            state.note(attached=True)
            end_with(attached, state)
        return _train_rounds(
            study, state, lambda ids: ledger.note_taken(study.jobs, job.job_id, ids)
        )


def _check_data(study: StudyFolder) -> None:
    """UserError where a dataset is another one than at the launch: its runs would be others."""
    kept = KeptDatasets(study.datasets)
    trained, tests = datasets_of(Sweep.load(study.launched_file))
    for name in (*trained, *tests):
        here, there = load_dataset(name), kept.find(name)
        if there is not None and here.content_hash != there.content_hash:
            raise UserError(
                f"{data_root() / name}: not the dataset that {study.folder} was launched with (its "
                "content hash differs); copy that one, or set ANYNET_DATA"
            )


@contextmanager
def _logged(study: StudyFolder, job: SubmittedJob) -> Iterator[None]:
    """In this block, what this process and its libraries print is in the job's log."""
    files = [
        os.open(job.log(study.logs, kind), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        for kind in ("out", "err")
    ]
    before = [os.dup(number) for number in (1, 2)]
    try:
        for file, number in zip(files, (1, 2), strict=True):
            os.dup2(file, number)
        yield
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        raise
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for file, number in zip(before, (1, 2), strict=True):
            os.dup2(file, number)
        for file in (*before, *files):
            os.close(file)


def _train_rounds(
    study: StudyFolder,
    state: WorkerState,
    told: Callable[[list[str]], object] = lambda _: None,
) -> int:
    """Train what is free, and once more what failed in a way that may pass, or follows from it."""
    sweep, begun = Sweep.load(study.launched_file), 0
    prepare_process(str(data_root()))
    from anynet_study.engine.dispatch.worker import train_runs  # imports torch

    while True:
        recorded = Recorded.read(study.journals)
        again = {**_call(study).retries, **retries(recorded, sweep.launch.attempts)}
        new = train_runs(study, sweep, study.part(), again, state, told)
        begun += new
        if not new or state.signal is not None:
            return begun


def prepare_process(data_root: str) -> None:
    """Make this process one that trains, with datasets in a folder; before torch is imported."""
    keep_freed_memory()
    os.environ["OMP_NUM_THREADS"] = "1"
    # Torch keeps ten thousand of cuDNN's plans, each of an architecture's own, in host memory.
    os.environ.setdefault("TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT", str(CUDNN_PLANS))
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", str(CUDA_CONNECTIONS))
    os.environ["ANYNET_DATA"] = data_root


def keep_freed_memory() -> None:
    """Tell glibc not to hand each step's buffers back to the system: evaluation is a third faster.

    Speed only; other C libraries do without.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(M_MMAP_THRESHOLD, 1 << 25)  # the most that glibc takes
    mallopt(M_TRIM_THRESHOLD, 1 << 30)


def end_with(launcher: int, state: WorkerState) -> None:
    """Leave as soon as the launcher is gone; by force if that takes long."""

    def watch() -> None:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(launcher)
            while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                time.sleep(HEARTBEAT)
        state.request(signal.SIGTERM)
        time.sleep(PATIENCE)
        os._exit(1)  # the journal is safe at any point

    threading.Thread(target=watch, daemon=True).start()
