"""Training a whole plan on this machine, watched to its end."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from anynet_study.dispatch.endings.deaths import (
    Death,
    deaths_in,
    fatal,
    out_of_memory_kills,
    record_deaths,
)
from anynet_study.dispatch.endings.last_words import disk_is_full, last_words
from anynet_study.dispatch.endings.logs import ending
from anynet_study.dispatch.endings.retries import EVERY_KIND, retries
from anynet_study.dispatch.jobs import ledger
from anynet_study.dispatch.journal_reader import JournalReader
from anynet_study.dispatch.planned import Plan, PlannedRun
from anynet_study.dispatch.recorded import Recorded, Retries
from anynet_study.dispatch.submit import LocalWorker, start_worker, submit_locally
from anynet_study.errors import WorkFailedError
from anynet_study.progress import Report, progress
from anynet_study.study_folder import StudyFolder
from anynet_study.sweep import Sweep

#: Longest share of the time spent on looking at the journals.
LOOK_SHARE = 0.02
SHORTEST_LOOK = 0.5
#: Between two looks at whether a worker has ended, which costs nothing.
TICK = 0.1


def train_all(study: StudyFolder, sweep: Sweep, planned: Plan, retry_failed: bool = False) -> None:
    """Train what is missing with local workers, after following those that are at it already.

    A worker that ends early is replaced, unless it got nowhere; runs that failed in a way that
    another try may not meet are tried again, `launch.attempts` times in all. Raises
    WorkFailedError with what is known of the reason where runs are left. On Ctrl-C the workers are
    ended.
    """
    began = time.time()
    here = _Here(study, sweep, planned, JournalReader(study.journals))
    recorded = here.reader.read()
    here.again = retries(recorded, None, EVERY_KIND) if retry_failed else here.another_try(recorded)
    todo = recorded.todo(planned, here.again)
    alive = ledger.live_jobs(study.jobs)
    if not alive:  # of this sweep's runs, and those of an earlier form of it
        study.remove_litter(recorded.ended(planned))
    if not todo:
        return
    with progress("training", len(planned), start=len(planned) - len(todo)) as report:
        if alive:
            _follow_others(here, report)
            todo = here.reader.read().todo(planned, here.again)
        _in_rounds(here, todo, report)
    left = here.reader.read().todo(planned)
    if left:
        raise WorkFailedError(
            f"{len(left)} of {len(planned)} runs did not finish and none more do: "
            f"{last_words(study, began)}"
        )


@dataclass
class _Here:
    """A plan that is trained on this machine."""

    study: StudyFolder
    sweep: Sweep
    planned: Plan
    reader: JournalReader
    #: Failed runs that are being tried again.
    again: Retries = field(default_factory=dict)
    deaths: list[Death] = field(default_factory=list)
    #: Processes that this machine had killed for want of memory, when that was last looked at.
    killed: int = field(default_factory=out_of_memory_kills)
    #: Seconds that the last look at the journals took.
    looked: float = 0.0

    def another_try(self, recorded: Recorded) -> Retries:
        return retries(recorded, self.sweep.launch.attempts, deaths=self.deaths)

    def with_less_memory(self) -> Retries:
        """What is tried again, and the runs at which a worker was killed with less memory."""
        died = self.another_try(self.reader.read()).items()
        self.again = {**self.again, **{run_id: it for run_id, it in died if not it.failures}}
        return self.again


def _in_rounds(here: _Here, todo: Plan, report: Report) -> None:
    """Train, and then once more what failed in a way that may pass, as long as that leads on."""
    while todo:
        known = here.reader.records
        _train(here, todo, lambda: _look(here, report))
        recorded = here.reader.read()
        if here.reader.records == known:
            return
        here.again = here.another_try(recorded)
        todo = recorded.todo(here.planned, here.again)


def _train(here: _Here, todo: Plan, look: Callable[[], float]) -> None:
    """Keep this machine's workers at `todo` until it is done or those left get nowhere."""
    study, sweep = here.study, here.sweep
    crew = deque(submit_locally(study, sweep, todo, attached=True, retries=here.again))
    try:
        while crew:
            _wait(look(), crew)
            for worker in [worker for worker in crew if worker.job.done()]:
                crew.remove(worker)
                if left := _left_by(worker, here):
                    again = here.with_less_memory()
                    code, number = worker.code, worker.number
                    crew.append(start_worker(study, sweep, code, left, number, True, again))
    finally:
        for worker in crew:
            worker.job.cancel(check=False)
    look()


def _left_by(worker: LocalWorker, here: _Here) -> list[PlannedRun]:
    """What another worker should go on with; a run at which workers die is recorded as failed."""
    study = here.study
    left = here.reader.read().left(worker.runs, here.again)
    end = ending(study.logs, worker.job.job_id)
    if end is None or not end.runs or not end.kind or disk_is_full(study):
        return left if len(left) < len(worker.runs) else []
    killed, here.killed = here.killed, out_of_memory_kills()
    if here.killed > killed:
        end = replace(end, kind="oom", words="killed for want of memory")
    here.deaths += deaths_in(study, [replace(end, attached=False)])
    record_deaths(study, here.planned, fatal(here.deaths, here.reader.read().failures))
    return here.reader.read().left(left, here.again)


def _follow_others(here: _Here, report: Report) -> None:
    while ledger.live_jobs(here.study.jobs):
        _wait(_look(here, report))


def _look(here: _Here, report: Report) -> float:
    """Report how far it is; seconds to the next look.

    A failed run that is to be tried again is not done.
    """
    began = time.monotonic()
    recorded = here.reader.read()
    failed = recorded.failed_kinds(here.planned).total()
    done = len(here.planned) - len(recorded.todo(here.planned, here.again))
    report(done, note=f"{failed} failed" if failed else "")
    # The quicker of two: the first that finds a journal also imports what reads it.
    last, here.looked = here.looked, time.monotonic() - began
    return max(SHORTEST_LOOK, min(last, here.looked) / LOOK_SHARE)


def _wait(seconds: float, crew: Iterable[LocalWorker] = ()) -> None:
    """Wait so long, or until one of `crew` has ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not any(worker.job.done() for worker in crew):
        time.sleep(TICK)
