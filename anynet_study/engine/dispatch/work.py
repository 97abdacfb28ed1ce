"""Workers that come by themselves: started by hand, by any scheduler, or by any executor.

What they need to know is in the study's folder since its launch: the sweep, the population, digests
of the datasets, and the launch's `Call`. Each takes what nobody is at (`claims`).
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from anynet_study.core.errors import UserError, WorkFailedError
from anynet_study.data import KeptDatasets, data_root, load_dataset
from anynet_study.engine.dispatch import ledger
from anynet_study.engine.dispatch.claims import Claimed
from anynet_study.engine.dispatch.failures import retries
from anynet_study.engine.dispatch.ledger import Call, SubmittedJob
from anynet_study.engine.dispatch.process import Interruption, end_with, prepare_process
from anynet_study.engine.dispatch.recorded import Recorded, Retries
from anynet_study.engine.dispatch.snapshot import Snapshot, take
from anynet_study.engine.dispatch.submission import Submitted
from anynet_study.engine.dispatch.worker_state import (
    SILENT,
    WorkerState,
    alive_file,
    silence,
    time_at,
)
from anynet_study.engine.planning import PlannedRun, datasets_of
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Sweep

#: An executor is given at most so many functions. Each is a worker, if anything is left to do.
MOST = 1000


class Executor(Protocol):
    """What anything has that calls functions elsewhere.

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
    call = Call(
        data_root=str(data_root().absolute()), runs=[it.run_id for it in runs], retries=asked
    )
    ledger.call_workers(study.jobs, call)
    if executor is None or not runs:
        return Submitted(0, ())
    here = sweep.launch.cluster == "debug"
    helper = Helper(str(study.folder.absolute()), None if here else take(study.code))
    count = 1 if here else min(sweep.launch.workers or MOST, MOST, len(runs))
    return Submitted(len(runs), [executor.submit(helper) for _ in range(count)])


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
            line = [sys.executable, "-m", "anynet_study", "work", self.study_folder, "--attached"]
            environment = {**os.environ, **self.code.environment}
            done = subprocess.run(line, env=environment, capture_output=True, text=True)
            if done.returncode:
                said = done.stderr.splitlines()[-1:] or [f"exit code {done.returncode}"]
                raise WorkFailedError(f"a worker of {study.folder} ended: {said[0]}")


def _is_free(study: StudyFolder) -> bool:
    """Whether a run that workers were called for is without a record, and nobody seems to be at it.

    Executors call their last functions when all is taken: these are to be quick.
    """
    call, recorded = _call(study), Recorded.read(study.journals)
    left = {run_id for run_id in call.runs if not recorded.is_over(run_id, call.retries)}
    now = time_at(study.logs)
    for claim in study.claims.glob("*") if left else ():
        quiet = silence(study.logs, Claimed.read(claim).job_id, now)
        if quiet is not None and quiet < SILENT:
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
    study: StudyFolder, minutes: float, tell: Callable[[str], None], attached: bool = False
) -> int:
    """Be a worker of a study until nobody is needed, or so many `minutes` have passed.

    `attached`: it ends with the process that started it. `tell` gets a line for people. What
    training prints is in the study's logs. Returns how many runs were begun. Raises UserError where
    no launch called workers, or where data here are others than the study's.
    """
    call, interruption = _call(study), Interruption(60 * minutes)
    if "ANYNET_DATA" not in os.environ and Path(call.data_root).is_dir():
        os.environ["ANYNET_DATA"] = call.data_root
    _check_data(study)
    job = ledger.arrival()
    study.logs.mkdir(parents=True, exist_ok=True)
    tell(f"worker {job.job_id}; its log: {job.log(study.logs, 'out')}")
    with (
        interruption.listening(),
        WorkerState(alive_file(study.logs, job.job_id)) as interruption.state,
        _logged(study, job),
    ):
        ledger.append(study.jobs, [job])
        if attached:
            interruption.state.note(attached=True)
            end_with(os.getppid(), interruption)
        begun = _train_rounds(
            study, interruption, lambda ids: ledger.note_taken(study.jobs, job.job_id, ids)
        )
        if interruption.signal is not None:
            interruption.state.note(left=f"asked to leave ({interruption.signal.name})", runs={})
    return begun


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
    finally:
        sys.stdout.flush()
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
    call, sweep, begun = _call(study), Sweep.load(study.launched_file), 0
    prepare_process(str(data_root()))
    from anynet_study.engine.dispatch.worker import train_runs  # imports torch

    while True:
        recorded = Recorded.read(study.journals)
        again = {**call.retries, **retries(recorded, sweep.launch.attempts)}
        new = train_runs(study, sweep, study.part(), again, interruption, told)
        begun += new
        if not new or interruption.signal is not None:
            return begun
