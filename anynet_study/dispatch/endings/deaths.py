"""Workers that were killed: at which runs, and which of these have therefore failed.

A killed worker records nothing, so that is told from the logs of jobs that are not alive any more.
"""

import socket
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from anynet_study.dispatch.endings.logs import Ending, ending
from anynet_study.dispatch.jobs.ledger import SubmittedJob
from anynet_study.dispatch.planned import Plan
from anynet_study.dispatch.recorded import Failure, Recorded
from anynet_study.provenance import code_version
from anynet_study.store import JournalWriter, RunRecord
from anynet_study.store.records import FailureKind
from anynet_study.study_folder import StudyFolder

#: A run at which so many workers were killed has failed.
MOST_DEATHS = 2
#: What a job's end is of a run that was saved on the way: it only goes on later.
PASSING = frozenset({"timeout", "node"})


@dataclass(frozen=True)
class Death:
    """A worker that was killed at a run, and others perhaps that it trained at the same time."""

    run_id: str
    kind: FailureKind
    #: For people: killed ..., lost ...
    words: str
    host: str
    #: Seconds since 1970.
    ended: float


def endings_of(
    study: StudyFolder, jobs: Iterable[SubmittedJob]
) -> Iterator[tuple[SubmittedJob, Ending]]:
    """How jobs that are not alive ended, of those that ever began."""
    for job in jobs:
        if (end := ending(study.logs, job.job_id)) is not None:
            yield job, end


def deaths_in(study: StudyFolder, ends: Iterable[Ending]) -> list[Death]:
    """The deaths that these endings are of the runs at which they were.

    A job that was cancelled, preempted, or that ended with the process that started it is none.
    Neither is one that ran out of time, or was lost with its node, if it had saved the run: that
    goes on from there.
    """
    return [
        Death(run_id, end.kind, end.words, end.host, end.ended)
        for end in ends
        if end.kind and not end.attached
        for run_id in end.runs
        if not (_may_pass(end) and _saved_since(study, run_id, end.ended))
    ]


def _may_pass(end: Ending) -> bool:
    """Whether the run had no part in it: being killed for no known reason may be its doing."""
    return end.kind in PASSING and not end.unexplained


def _saved_since(study: StudyFolder, run_id: str, said: float) -> bool:
    """Whether a run was saved after its worker last wrote to its log: that it began with it."""
    path = study.checkpoints / f"{run_id}.pt"
    try:
        return path.stat().st_mtime > said
    except OSError:
        return False


def fatal(deaths: Iterable[Death], failures: Mapping[str, Sequence[Failure]]) -> list[Death]:
    """The last death of each run that has failed by them: MOST_DEATHS, or one more later on.

    Deaths before a recorded failure are what that one is of.
    """
    counted: dict[str, list[Death]] = {}
    for death in sorted(deaths, key=lambda death: death.ended):
        before = failures.get(death.run_id, ())
        if not before or death.ended > before[-1].ended:
            counted.setdefault(death.run_id, []).append(death)
    return [
        each[-1]
        for run_id, each in counted.items()
        if len(each) >= (1 if failures.get(run_id) else MOST_DEATHS)
    ]


def record_deaths(study: StudyFolder, planned: Plan, deaths: Collection[Death]) -> None:
    """Record that the runs of these deaths failed; those that are not planned are left out."""
    runs = {run.run_id: run for run in planned.find(death.run_id for death in deaths)}
    mine = [death for death in deaths if death.run_id in runs]
    if not mine:
        return
    with JournalWriter(study.new_journal()) as journal:
        for death in mine:
            journal.append(
                RunRecord(
                    **runs[death.run_id].named(),
                    status="failed",
                    failure_kind=death.kind,
                    message=f"its workers were {death.words}",
                    error=float("nan"),
                    seconds=0.0,
                    started=time.time(),
                    host=death.host or socket.gethostname(),
                    device="",
                    torch_version=version("torch"),
                    code_version=code_version(),
                )
            )


def unfinished_jobs(
    jobs: Iterable[SubmittedJob], recorded: Recorded, alive: Collection[str]
) -> list[SubmittedJob]:
    """The jobs that ended with runs left, by ids of jobs that are alive."""
    return [
        job
        for job in jobs
        if job.job_id not in alive
        and any(recorded.runs.get(run_id, "failed") == "failed" for run_id in job.runs)
    ]


def out_of_memory_kills(vmstat: Path = Path("/proc/vmstat")) -> int:
    """How often this machine has killed a process for want of memory; 0 where it does not say."""
    try:
        lines = vmstat.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
