"""Training on this machine: workers as jobs of submitit, and a plan watched to its end.

submitit's `LocalExecutor` starts the workers. Ours is what it does not do: a worker is told from
another process that got its id (`process_mark`), it hears no Ctrl-C (`executors.DETACHED`), it ends
with `run` if that is killed (`process.end_with`), and one that was killed is replaced.
"""

import os
import secrets
import shlex
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import submitit

from anynet_study.core.errors import WorkFailedError
from anynet_study.core.files import naming
from anynet_study.core.progress import Report, progress
from anynet_study.engine.dispatch import ledger
from anynet_study.engine.dispatch.executors import (
    DETACHED,
    FOREVER_MIN,
    executor_for,
    for_submission,
    outside_of_jobs,
)
from anynet_study.engine.dispatch.failures import (
    EVERY_KIND,
    Death,
    deaths_in,
    ending,
    fatal_deaths,
    out_of_memory_kills,
    record_deaths,
    retries,
    tail,
)
from anynet_study.engine.dispatch.ledger import SubmittedJob, logs_name
from anynet_study.engine.dispatch.pack import pack_for_workers
from anynet_study.engine.dispatch.process import tell_to_leave
from anynet_study.engine.dispatch.recorded import (
    NO_RETRIES,
    JournalReader,
    Recorded,
    Retries,
    Retry,
)
from anynet_study.engine.dispatch.snapshot import Snapshot, take
from anynet_study.engine.dispatch.task import Task, Worklist, worklist_file
from anynet_study.engine.dispatch.worker_state import alive_file, changed, remove_states
from anynet_study.engine.planning import Plan, PlannedRun, gpus_here
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Sweep

#: At most this share of the time is spent on reading journals; and seconds between two looks.
LOOK_SHARE = 0.02
LOOK_SECONDS = 0.5
#: Between two looks at whether a worker has ended, which costs nothing, in seconds.
TICK = 0.1


def local_workers(sweep: Sweep) -> int:
    """Workers that this machine carries: one per GPU, or without GPUs per core."""
    most = len(gpus_here()) or len(os.sched_getaffinity(0))
    return min(sweep.launch.workers or most, most)


@dataclass(frozen=True, eq=False)
class LocalWorker:
    """A worker of this machine, and what it was given to do."""

    handle: "submitit.Job[None]"
    runs: list[PlannedRun]
    #: Its place among this machine's workers: which GPU it has.
    number: int
    #: Its entry in the ledger.
    job: SubmittedJob

    @property
    def ended(self) -> bool:
        return bool(self.handle.done())


@dataclass(frozen=True)
class LocalWorkers:
    """How workers of this machine are started: by an executor of submitit's."""

    study: StudyFolder
    sweep: Sweep
    executor: submitit.Executor
    #: What they import.
    code: Snapshot
    #: The process with which they end; None: they outlive this one.
    launcher: int | None = None

    @classmethod
    def attached(cls, study: StudyFolder, sweep: Sweep) -> "LocalWorkers":
        """Workers that end with this process."""
        launch = sweep.launch.model_copy(update={"cluster": "local"})
        return cls(study, sweep, executor_for(study, launch), take(study.code), os.getpid())

    def start_all(
        self, runs: Sequence[PlannedRun], retries: Retries = NO_RETRIES
    ) -> list[LocalWorker]:
        """Start as many workers as this machine carries, with equal shares of the runs."""
        packed = pack_for_workers(runs, local_workers(self.sweep))
        return [self.start(part, number, retries) for number, part in enumerate(packed)]

    def start(
        self, runs: list[PlannedRun], number: int, retries: Retries = NO_RETRIES
    ) -> LocalWorker:
        """Start one worker, on the `number`-th GPU of this machine if it has GPUs.

        It is detached: it hears neither Ctrl-C nor the end of this terminal, and writes to files
        alone.
        """
        study, token, gpus = self.study, secrets.token_hex(6), gpus_here()
        ids = " ".join(run.run_id for run in runs)
        work = Worklist.of(study, self.sweep, [ids], retries, self.launcher)
        work.write(worklist_file(study.logs, token))
        # Of submitit's `visible_gpus` each is a number, none such as GPU-8c9f... and MIG-...
        gpu = gpus[number % len(gpus)] if gpus else ""
        lines = [*DETACHED, f"export CUDA_VISIBLE_DEVICES={shlex.quote(gpu)}"]
        minutes = self.executor.parameters.get("timeout_min", FOREVER_MIN)
        executor = for_submission(self.executor, self.code, lines, timeout_min=minutes)
        with naming(study.logs), outside_of_jobs(devices=True):
            handle = executor.submit(Task(work.study_folder, token))
        logs = logs_name(study.logs, executor.folder)
        job = ledger.local_job(int(handle.job_id), ids, logs)
        alive_file(study.logs, job.job_id).touch()  # until it says so itself
        ledger.append(study.jobs, [job])
        return LocalWorker(handle, runs, number, job)


def train_all(study: StudyFolder, sweep: Sweep, plan: Plan, retry_failed: bool = False) -> None:
    """Train what is missing with local workers, after following those that are at it already.

    A worker that ends early is replaced, unless it got nowhere; runs that failed in a way that
    another attempt may not meet are tried again, `launch.attempts` times in all. Raises
    WorkFailedError with what is known of the reason where runs are left. On Ctrl-C the workers are
    ended.
    """
    began = time.time()
    training = _LocalTraining(study, sweep, plan)
    recorded = training.reader.read()
    training.retries = (
        retries(recorded, None, EVERY_KIND) if retry_failed else training.retries_of(recorded)
    )
    todo = recorded.todo(plan, training.retries)
    alive = ledger.live_jobs(study)
    if not alive:  # of this sweep's runs, and those of an earlier form of it
        study.remove_litter(recorded.ended(plan))
        remove_states(study.logs, recorded.ended(plan))
    if not todo:
        return
    with progress("training", len(plan), start=len(plan) - len(todo)) as training.report:
        if alive:
            training.follow_others()
            todo = training.reader.read().todo(plan, training.retries)
        training.in_rounds(todo)
    left = training.reader.read().todo(plan)
    if left:
        raise WorkFailedError(
            f"{len(left)} of {len(plan)} runs did not finish and none more do: "
            f"{_why_workers_ended(study, began)}"
        )


class _LocalTraining:
    """A plan that is trained on this machine."""

    def __init__(self, study: StudyFolder, sweep: Sweep, plan: Plan) -> None:
        self.study, self.sweep, self.plan = study, sweep, plan
        self.reader = JournalReader(study.journals)
        #: Failed runs that are being tried again.
        self.retries: Retries = {}
        self.report: Report = lambda done, note="": None
        self._deaths: list[Death] = []
        #: Processes that this machine had killed for want of memory, when that was last looked at.
        self._killed = out_of_memory_kills()

    def retries_of(self, recorded: Recorded) -> dict[str, Retry]:
        """The failed runs that are to be tried again now."""
        return retries(recorded, self.sweep.launch.attempts, deaths=self._deaths)

    def in_rounds(self, todo: Plan) -> None:
        """Train, and then once more what failed in a way that may pass, while records are made."""
        while todo:
            known = self.reader.records
            self._train(todo)
            recorded = self.reader.read()
            if self.reader.records == known:
                return
            self.retries = self.retries_of(recorded)
            todo = recorded.todo(self.plan, self.retries)

    def follow_others(self) -> None:
        """Wait until other jobs of the study have ended."""
        while ledger.live_jobs(self.study):
            self._look()
            _wait()

    def _train(self, todo: Plan) -> None:
        """Keep this machine's workers at `todo` until it is done or those left get nowhere."""
        start = LocalWorkers.attached(self.study, self.sweep)
        workers = start.start_all(todo, self.retries)
        try:
            while workers:
                self._look()
                _wait(workers)
                for worker in [worker for worker in workers if worker.ended]:
                    workers.remove(worker)
                    if left := self._left_by(worker):
                        self._give_less_memory()
                        workers.append(start.start(left, worker.number, self.retries))
        finally:
            tell_to_leave(worker.job.process for worker in workers)
        self.reader.read()
        self._look()

    def _give_less_memory(self) -> None:
        """Retry with less memory the runs that a killed worker was at, if nothing is recorded."""
        died = self.retries_of(self.reader.read()).items()
        less = {run_id: retry for run_id, retry in died if not retry.failures}
        self.retries = {**self.retries, **less}

    def _left_by(self, worker: LocalWorker) -> list[PlannedRun]:
        """What another worker should go on with; where workers die at a run, that is recorded."""
        left = self.reader.read().left(worker.runs, self.retries)
        end = ending(self.study.logs, worker.job)
        if end is None or not end.runs or not end.kind or self.study.is_full():
            return left if len(left) < len(worker.runs) else []
        killed, self._killed = self._killed, out_of_memory_kills()
        if self._killed > killed:
            end = replace(end, kind="oom", words="killed for want of memory")
        self._deaths += deaths_in(self.study, [replace(end, attached=False)])
        failed = fatal_deaths(self._deaths, self.reader.read().failures)
        record_deaths(self.study, self.plan, failed)
        return self.reader.read().left(left, self.retries)

    def _look(self) -> None:
        """Report how far it is. A failed run that is to be tried again is not done."""
        recorded = self.reader.look(LOOK_SHARE)
        failed = recorded.failed_kinds(self.plan).total()
        done = len(self.plan) - len(recorded.todo(self.plan, self.retries))
        self.report(done, note=f"{failed} failed" if failed else "")


def _wait(workers: Iterable[LocalWorker] = ()) -> None:
    """Wait until the next look, or until one of the workers has ended."""
    until = time.monotonic() + LOOK_SECONDS
    while time.monotonic() < until and not any(worker.ended for worker in workers):
        time.sleep(TICK)


def _why_workers_ended(study: StudyFolder, since: float) -> str:
    """Why workers ended, in a line: the last one of the latest log since a time (unix time)."""
    if study.is_full():
        return f"the disk that holds {study.folder} is full"
    logs = [(changed(path), path) for path in study.logs.rglob("*_log.err")]
    latest_first = [path for when, path in sorted(logs, reverse=True) if when >= since]
    said = (line for path in latest_first for line in reversed(tail(path).split("\n")))
    reason = next((line.strip() for line in said if line.strip()), "the workers were ended")
    return f"{reason.removeprefix('anynet_study.core.errors.UserError: ')} (logs: {study.logs})"
