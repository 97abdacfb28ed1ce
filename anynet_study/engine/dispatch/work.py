"""Workers that come by themselves: started by hand, by any scheduler, or by any executor.

What they need to know is in the study's folder since its launch: the sweep, the population, digests
of the datasets, and the launch's `Call`. Each takes what nobody is at (`claims`).
"""

import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import submitit

from anynet_study.core.errors import UserError, WorkFailedError
from anynet_study.data import KeptDatasets, data_root, load_dataset
from anynet_study.engine.dispatch import ledger
from anynet_study.engine.dispatch.claims import Claimed
from anynet_study.engine.dispatch.executors import HUGE_PAGES, with_options
from anynet_study.engine.dispatch.failures import retries
from anynet_study.engine.dispatch.ledger import Call, SubmittedJob
from anynet_study.engine.dispatch.process import Interruption, end_with, prepare_process
from anynet_study.engine.dispatch.recorded import Recorded, Retries
from anynet_study.engine.dispatch.snapshot import Snapshot, take_for
from anynet_study.engine.dispatch.submission import Submitted
from anynet_study.engine.dispatch.worker_state import (
    WorkerState,
    alive_file,
    seems_to_live,
    time_at,
)
from anynet_study.engine.planning import PlannedRun, datasets_of, gpus_here
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Sweep

#: Minutes until which a worker of this machine is ended: submitit's own are two.
FOREVER_MIN = 10 * 365 * 24 * 60
#: An executor is given at most so many functions. Each is a worker, if anything is left to do.
MOST = 1000


class Executor(Protocol):
    """Anything that calls functions elsewhere.

    Such are the executors of `concurrent.futures`, Dask, Parsl, mpi4py and submitit.
    """

    def submit(self, function: Callable[[], None], /) -> Any:
        """Have a function called, which can be pickled; returns a future of its result."""


def submit_helpers(
    study: StudyFolder,
    sweep: Sweep,
    executor: Executor | None,
    runs: Sequence[PlannedRun],
    asked: Retries,
) -> Submitted:
    """Call workers for some runs, and have an executor start as many as there may be work for.

    A debug executor of submitit's starts one, in this process, when its result is asked for.
    """
    if runs or sweep.launch.cluster == "none":
        call_workers(study, runs, asked)
    if executor is None or not runs:
        return Submitted(0, (), runs_left=len(runs))
    here = sweep.launch.cluster == "debug"
    helper = Helper(str(study.folder.absolute()), None if here else take_for(study))
    most = 1 if here else sweep.launch.workers or MOST
    if isinstance(executor, submitit.LocalExecutor):  # it starts all at once, for two minutes
        most = min(most, local_workers(sweep))
        minutes = executor.parameters.get("timeout_min", FOREVER_MIN)
        executor = with_options(executor, timeout_min=minutes)
    count = min(most, MOST, len(runs))
    return Submitted(len(runs), [executor.submit(helper) for _ in range(count)])


def local_workers(sweep: Sweep) -> int:
    """Workers that this machine carries: one per GPU, or without GPUs per core."""
    most = len(gpus_here()) or len(os.sched_getaffinity(0))
    return min(sweep.launch.workers or most, most)


def call_workers(study: StudyFolder, runs: Iterable[PlannedRun], asked: Retries) -> None:
    """Leave for workers what they are to know; `asked`: the failed runs that are tried again."""
    ledger.call_workers(study.jobs, Call.of(asked, runs))


def worker_command(study: StudyFolder, attached: bool) -> list[str]:
    """The command of a worker; `attached`: it ends with this process."""
    command = [sys.executable, "-m", "anynet_study", "work", str(study.folder.absolute())]
    return [*command, "--attached", str(os.getpid())] if attached else command


def environment(code: Snapshot) -> dict[str, str]:
    """The environment of a worker that imports `code`."""
    tunables = filter(None, [os.environ.get("GLIBC_TUNABLES"), HUGE_PAGES])
    return {**os.environ, **code.environment, "GLIBC_TUNABLES": ":".join(tunables)}


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
            _train_rounds(study, Interruption())
        elif _is_free(study):
            line, own = worker_command(study, attached=True), environment(self.code)
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
    call, interruption = _call(study), Interruption(60 * minutes)
    if "ANYNET_DATA" not in os.environ and Path(call.data_root).is_dir():
        os.environ["ANYNET_DATA"] = call.data_root
    job = ledger.arrival(os.getpid())
    study.logs.mkdir(parents=True, exist_ok=True)
    tell(f"worker {job.job_id}; its log: {job.log(study.logs, 'out')}")
    state = WorkerState(alive_file(study.logs, job.job_id))
    with interruption.listening(state), _logged(study, job):
        ledger.append(study.jobs, [job])
        _check_data(study)
        if attached:
            state.note(attached=True)
            end_with(attached, interruption)
        return _train_rounds(
            study, interruption, lambda ids: ledger.note_taken(study.jobs, job.job_id, ids)
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
    interruption: Interruption,
    told: Callable[[list[str]], object] = lambda _: None,
) -> int:
    """Train what is free, and once more what failed in a way that may pass, or follows from it."""
    sweep, begun = Sweep.load(study.launched_file), 0
    prepare_process(str(data_root()))
    from anynet_study.engine.dispatch.worker import train_runs  # imports torch

    while True:
        recorded = Recorded.read(study.journals)
        again = {**_call(study).retries, **retries(recorded, sweep.launch.attempts)}
        new = train_runs(study, sweep, study.part(), again, interruption, told)
        begun += new
        if not new or interruption.signal is not None:
            return begun
