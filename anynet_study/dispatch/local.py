"""Training a whole plan on this machine, watched to its end."""

import time
from collections.abc import Sequence

import submitit

from anynet_study.dispatch import ledger
from anynet_study.dispatch.last_words import last_words
from anynet_study.dispatch.plan import PlannedRun, still_to_do
from anynet_study.dispatch.submit import submit_locally
from anynet_study.errors import WorkFailedError
from anynet_study.progress import Report, progress
from anynet_study.store import finished_runs
from anynet_study.study import Study
from anynet_study.sweep import Sweep

#: Longest share of the time spent on looking at the journals.
LOOK_SHARE = 0.02
SHORTEST_LOOK = 0.5


def train_all(
    study: Study, sweep: Sweep, planned: Sequence[PlannedRun], retry_failed: bool = False
) -> None:
    """Train what is missing with local workers, or follow those that are at it already.

    Workers that end early are replaced as long as runs are being finished. Raises WorkFailedError
    with what is known of the reason when they are not. On Ctrl-C the workers are ended.
    """
    began = time.time()
    todo = _todo(study, planned, retry_failed)
    if not ledger.live_jobs(study.jobs_file):
        study.remove_litter(finished_runs(study.journals))
    if not todo:
        return
    with progress("training", len(planned), start=len(planned) - len(todo)) as report:
        while todo:
            if ledger.live_jobs(study.jobs_file):
                _follow_others(study, planned, report)
                todo = _todo(study, planned, retry_failed)
                continue
            jobs = submit_locally(study, sweep, todo, attached=True, retry_failed=retry_failed)
            _follow(jobs, study, planned, report)
            before, todo = len(todo), _todo(study, planned, retry_failed=False)
            retry_failed = False
            if todo and len(todo) == before:
                raise WorkFailedError(
                    f"{len(todo)} of {len(planned)} runs did not finish and none more do: "
                    f"{last_words(study, began)}"
                )


def _todo(study: Study, planned: Sequence[PlannedRun], retry_failed: bool) -> list[PlannedRun]:
    return still_to_do(list(planned), finished_runs(study.journals), retry_failed)


def _follow(
    jobs: Sequence["submitit.Job[int]"],
    study: Study,
    planned: Sequence[PlannedRun],
    report: Report,
) -> None:
    try:
        while not all(job.done() for job in jobs):
            _look(study, planned, report)
    finally:
        for job in jobs:
            if not job.done():
                job.cancel(check=False)
    _look(study, planned, report)


def _follow_others(study: Study, planned: Sequence[PlannedRun], report: Report) -> None:
    while ledger.live_jobs(study.jobs_file):
        _look(study, planned, report)


def _look(study: Study, planned: Sequence[PlannedRun], report: Report) -> None:
    began = time.monotonic()
    finished = finished_runs(study.journals)
    mine = [finished[run.run_id] for run in planned if run.run_id in finished]
    failed = mine.count("failed")
    report(len(mine), note=f"{failed} failed" if failed else "")
    time.sleep(max(SHORTEST_LOOK, (time.monotonic() - began) / LOOK_SHARE))
