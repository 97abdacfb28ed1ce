"""Training on this machine: as many workers as it carries, and a plan watched to its end.

The workers are those that come by themselves (`work`). Ours is to start them with a GPU each, so
that they hear no Ctrl-C, and to replace those that are killed.
"""

import json
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass

from anynet_study.core.errors import WorkFailedError
from anynet_study.core.progress import Report, progress
from anynet_study.engine.dispatch import ledger
from anynet_study.engine.dispatch.failures import (
    EVERY_KIND,
    out_of_memory_kills,
    retries,
    tail,
)
from anynet_study.engine.dispatch.ledger import Call, SubmittedJob
from anynet_study.engine.dispatch.recorded import JournalReader
from anynet_study.engine.dispatch.snapshot import Snapshot, take_for
from anynet_study.engine.dispatch.work import worker_command
from anynet_study.engine.dispatch.worker_state import Said, alive_file, changed, remove_states
from anynet_study.engine.planning import Plan, gpus_here
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Sweep

#: At most this share of the time is spent on reading journals; and seconds between two looks.
LOOK_SHARE = 0.02
LOOK_SECONDS = 0.5
#: Between two looks at whether a worker has ended, which costs nothing, in seconds.
TICK = 0.1


@dataclass(frozen=True, eq=False)
class LocalWorker:
    """A worker of this machine."""

    #: Its place among this machine's workers: which GPU it has.
    number: int
    #: Its entry in the ledger.
    job: SubmittedJob
    #: Records of the study when it was started.
    records: int = 0

    @property
    def ended(self) -> bool:
        with suppress(ChildProcessError):  # it has been waited for
            os.waitpid(self.job.pid, os.WNOHANG)
        return self.job.process is None


def local_workers(sweep: Sweep) -> int:
    """Workers that this machine carries: one per GPU, or without GPUs per core."""
    most = len(gpus_here()) or len(os.sched_getaffinity(0))
    return min(sweep.launch.workers or most, most)


def start_worker(
    study: StudyFolder, code: Snapshot, number: int, attached: bool = False, records: int = 0
) -> LocalWorker:
    """Start one worker, on the `number`-th GPU of this machine if it has GPUs.

    It hears neither Ctrl-C nor the end of this terminal. `attached`: it ends with this process.
    """
    gpus = gpus_here()
    # Of submitit's `visible_gpus` each is a number, none such as GPU-8c9f... and MIG-...
    gpu = {"CUDA_VISIBLE_DEVICES": gpus[number % len(gpus)] if gpus else ""}
    command = worker_command(study, attached)
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    own = code.environment | gpu
    pid = os.posix_spawn(command[0], command, own, file_actions=nowhere, setsid=True)
    job = ledger.arrival(pid)
    study.logs.mkdir(parents=True, exist_ok=True)
    alive_file(study.logs, job.job_id).touch()  # until it says so itself
    ledger.append(study.jobs, [job])
    return LocalWorker(number, job, records)


def start_workers(study: StudyFolder, sweep: Sweep, runs: int) -> list[LocalWorker]:
    """Start as many workers as this machine carries, which outlive this process."""
    code = take_for(study)
    return [start_worker(study, code, it) for it in range(min(local_workers(sweep), runs))]


def train_all(study: StudyFolder, sweep: Sweep, plan: Plan, retry_failed: bool = False) -> None:
    """Train what is missing with local workers, beside those that are at it already.

    A worker that ends early is replaced, unless it got nowhere; runs that failed in a way that
    another attempt may not meet are tried again, `launch.attempts` times in all. Raises
    WorkFailedError with what is known of the reason where runs are left. On Ctrl-C the workers are
    ended.
    """
    began, reader = time.time(), JournalReader(study.journals)
    recorded = reader.read()
    again = retries(recorded, *((None, EVERY_KIND) if retry_failed else (sweep.launch.attempts,)))
    todo = recorded.todo(plan, again)
    if not ledger.live_jobs(study):  # of this sweep's runs, and those of an earlier form of it
        study.remove_litter(recorded.ended(plan))
        remove_states(study.logs, recorded.ended(plan))
    if not todo:
        return
    with progress("training", len(plan), start=len(plan) - len(todo)) as report:
        training = _LocalTraining(study, sweep, plan, reader, report)
        while todo:
            known = reader.records
            ledger.call_workers(study.jobs, Call.of(again, todo))
            there = sum(it.job.is_of_here for it in ledger.live_jobs(study))
            training.follow(max(0, min(local_workers(sweep) - there, len(todo))))
            again = retries(reader.read(), sweep.launch.attempts)
            # Those that were there without us may have ended with a launcher that was killed.
            todo = reader.read().todo(plan, again) if reader.records > known or there else todo[:0]
    left = reader.read().todo(plan)
    if left:
        raise WorkFailedError(
            f"{len(left)} of {len(plan)} runs did not finish and none more do: "
            f"{_why_workers_ended(study, began)}"
        )


@dataclass
class _LocalTraining:
    """A plan that is trained on this machine."""

    study: StudyFolder
    sweep: Sweep
    plan: Plan
    reader: JournalReader
    report: Report

    def follow(self, count: int) -> None:
        """Keep so many workers at the study until they, and all others, have nothing to do."""
        code = take_for(self.study)
        self._killed = out_of_memory_kills()
        workers = [self._start(code, number) for number in range(count)]
        try:
            while workers or ledger.live_jobs(self.study):
                self._look()
                _wait(workers)
                for worker in [worker for worker in workers if worker.ended]:
                    workers.remove(worker)
                    if self._is_to_be_replaced(worker):
                        workers.append(self._start(code, worker.number))
        finally:
            for worker in workers:
                if process := worker.job.process:
                    process.terminate()
        self._look()

    def _start(self, code: Snapshot, number: int) -> LocalWorker:
        return start_worker(self.study, code, number, attached=True, records=self.reader.records)

    def _is_to_be_replaced(self, worker: LocalWorker) -> bool:
        """Tell whether a worker did not leave in order, but got somewhere: a run, or a record.

        What it was at is blamed, for it was not ended by us.
        """
        path = alive_file(self.study.logs, worker.job.job_id)
        said = Said.read(path)
        if said is None or self.study.is_full():
            return False
        self.reader.read()
        got_somewhere = bool(said.runs) or self.reader.records > worker.records
        killed, self._killed = self._killed, out_of_memory_kills()
        said.attached = False
        if self._killed > killed and not said.lost:
            said.lost_kind, said.lost = "oom", "killed for want of memory"
        path.write_text(json.dumps(asdict(said)) + "\n", encoding="utf-8")
        return got_somewhere

    def _look(self) -> None:
        """Report how far it is. A failed run that is to be tried again is not done."""
        recorded = self.reader.look(LOOK_SHARE)
        failed = recorded.failed_kinds(self.plan).total()
        again = retries(recorded, self.sweep.launch.attempts)
        done = len(self.plan) - len(recorded.todo(self.plan, again))
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
    return f"{reason.removeprefix('error: ')} (logs: {study.logs})"
