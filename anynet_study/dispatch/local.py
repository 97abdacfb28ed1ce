"""Training a whole plan on this machine, watched to its end."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from anynet_study.dispatch import ledger
from anynet_study.dispatch.last_words import interrupted_run, last_words, record_death
from anynet_study.dispatch.planned import PlannedRun
from anynet_study.dispatch.recorded import Recorded
from anynet_study.dispatch.submit import LocalWorker, start_worker, submit_locally
from anynet_study.errors import WorkFailedError
from anynet_study.progress import Report, progress
from anynet_study.study import Study
from anynet_study.sweep import Sweep

#: Longest share of the time spent on looking at the journals.
LOOK_SHARE = 0.02
SHORTEST_LOOK = 0.5
#: A run at which so many workers were killed is not tried again.
MOST_DEATHS = 2


def train_all(
    study: Study, sweep: Sweep, planned: Sequence[PlannedRun], retry_failed: bool = False
) -> None:
    """Train what is missing with local workers, after following those that are at it already.

    A worker that ends early is replaced, unless it got nowhere. Raises WorkFailedError with what
    is known of the reason where runs are left. On Ctrl-C the workers are ended.
    """
    began = time.time()
    recorded = Recorded.read(study.journals)
    todo = recorded.todo(planned, retry_failed)
    alive = ledger.live_jobs(study.jobs_file)
    if not alive:  # of this sweep's runs, and those of an earlier form of it
        unfinished = {run.run_id for run in recorded.todo(planned)}
        study.remove_litter(set(recorded.runs) - unfinished)
    if not todo:
        return
    with progress("training", len(planned), start=len(planned) - len(todo)) as report:
        if alive:
            _follow_others(study, planned, report)
            todo = _todo(study, planned, retry_failed)
        look = partial(_look, study, planned, report, retry_failed)
        _train(study, sweep, todo, retry_failed, look)
    left = _todo(study, planned)
    if left:
        raise WorkFailedError(
            f"{len(left)} of {len(planned)} runs did not finish and none more do: "
            f"{last_words(study, began)}"
        )


def _todo(
    study: Study, planned: Sequence[PlannedRun], retry_failed: bool = False
) -> list[PlannedRun]:
    return Recorded.read(study.journals).todo(planned, retry_failed)


def _train(
    study: Study,
    sweep: Sweep,
    todo: Sequence[PlannedRun],
    retry_failed: bool,
    look: Callable[[], None],
) -> None:
    """Keep this machine's workers at `todo` until it is done or those left get nowhere."""
    crew = submit_locally(study, sweep, todo, attached=True, retry_failed=retry_failed)
    deaths: Counter[str] = Counter()
    try:
        while crew:
            look()
            for worker in [worker for worker in crew if worker.job.done()]:
                crew.remove(worker)
                left = _left_by(worker, study, deaths)
                if left:
                    crew.append(start_worker(study, sweep, left, worker.number, attached=True))
    finally:
        for worker in crew:
            worker.job.cancel(check=False)
    look()


def _left_by(worker: LocalWorker, study: Study, deaths: Counter[str]) -> list[PlannedRun]:
    """What another worker should go on with; a run at which workers die is recorded as failed."""
    left = _todo(study, worker.runs)
    fatal = interrupted_run(study, worker.job.job_id)
    if fatal is None:
        return left if len(left) < len(worker.runs) else []
    deaths[fatal] += 1
    for run in left:
        if run.run_id == fatal and deaths[fatal] == MOST_DEATHS:
            record_death(study, run)
    return _todo(study, left)


def _follow_others(study: Study, planned: Sequence[PlannedRun], report: Report) -> None:
    while ledger.live_jobs(study.jobs_file):
        _look(study, planned, report)


def _look(
    study: Study, planned: Sequence[PlannedRun], report: Report, retry_failed: bool = False
) -> None:
    """Report how far it is; a failed run that is to be tried again is not done."""
    began = time.monotonic()
    recorded = Recorded.read(study.journals)
    failed = sum(recorded.runs.get(run.run_id) == "failed" for run in planned)
    done = len(planned) - len(recorded.todo(planned, retry_failed))
    report(done, note=f"{failed} failed" if failed else "")
    time.sleep(max(SHORTEST_LOOK, (time.monotonic() - began) / LOOK_SHARE))
