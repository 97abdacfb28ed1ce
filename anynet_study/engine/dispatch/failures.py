"""How jobs ended, which runs failed with their workers, and which runs are tried once more.

A killed worker records nothing. What it was at is told by the file that it left behind, and why it
was killed by Slurm's words in the job's log, or else by sacct.
"""

import os
import re
import socket
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from anynet_study.core.files import open_regular
from anynet_study.core.provenance import code_version
from anynet_study.engine.dispatch import ledger
from anynet_study.engine.dispatch.ledger import LiveJob, SubmittedJob
from anynet_study.engine.dispatch.opened import OpenStudy
from anynet_study.engine.dispatch.recorded import Failure, JournalReader, Recorded, Retries, Retry
from anynet_study.engine.dispatch.slurm.commands import ENDS, end_reasons
from anynet_study.engine.dispatch.slurm.site import nodes_to_exclude
from anynet_study.engine.dispatch.worker_state import Said, alive_file, changed
from anynet_study.engine.planning import Plan
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.store import FailureKind, JournalWriter, RunRecord

#: A run has failed if this many workers were killed while they trained it.
MOST_DEATHS = 2
#: Kinds of failure that another node may not meet. A run that had been saved goes on from there.
NODE_KINDS = frozenset({"timeout", "node"})
#: Those that another attempt may not meet: with less memory, or on another node.
PASSING_KINDS = NODE_KINDS | {"oom"}
EVERY_KIND = PASSING_KINDS | {"data", "code"}
#: At most this many bytes are read, from the end of a log.
TAIL_BYTES = 1 << 20
HEAD_BYTES = 1 << 12
#: The kind and words of a worker's end that nobody explains.
KILLED: tuple[FailureKind, str] = ("node", "killed, perhaps for want of memory")


@dataclass(frozen=True)
class Ending:
    """How the last worker of a job ended; a job that was requeued had several."""

    #: The runs that it was training, as in `Said`; none if it ended normally, or had begun none.
    runs: Mapping[str, float]
    #: The kind of failure of those runs; "" if they did not fail.
    kind: FailureKind
    #: Why, for people; "" if it ended normally and was not asked to.
    words: str
    #: The node; "" where that is not known.
    host: str
    #: When it gave its last sign of life (seconds since 1970).
    ended: float
    #: Whether it ended with the process that started it, by whatever way.
    attached: bool = False
    #: Whether it was at these runs when its GPU was lost.
    gpu_lost: bool = False

    @property
    def unexplained(self) -> bool:
        """Tell whether nobody said why it was killed: for want of memory, it may be."""
        return (self.kind, self.words) == KILLED


def ending(logs: Path, job: SubmittedJob) -> Ending | None:
    """Tell how a job that is not alive ended; None if it never began.

    `logs`: the study's folder of logs.
    """
    path = alive_file(logs, job.job_id)
    said = Said.read(path)
    if said is None:
        log = job.log(logs, "out")
        return Ending({}, "", "", host_in(log), 0.0) if log.exists() else None
    kind, words = _reason(tail(job.log(logs, "err"), said.before))
    if said.left:
        words = said.left if (kind, words) == KILLED else words
        return Ending({}, "", words, said.host, changed(path))
    if said.lost:
        kind, words = said.lost_kind, said.lost
    if not said.runs:
        kind, words = "", f"{words}, before its first run" if kind else words
    gpu_lost = "the GPU was lost" in said.lost
    return Ending(said.runs, kind, words, said.host, changed(path), said.attached, gpu_lost)


def _reason(said: str) -> tuple[FailureKind, str]:
    """The kind of failure, and the words for an end, by what Slurm `said` of it in a job's log."""
    for end in ENDS:
        if match := re.search(end.in_logs, said, re.IGNORECASE):
            return end.kind, end.words.format(*(group.lower() for group in match.groups()))
    return KILLED


def tail(path: Path, start: int = 0) -> str:
    """The end of a text file, from byte `start` at the earliest; "" if there is none."""
    try:
        with open_regular(path) as file:
            file.seek(max(start, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def host_in(log: Path) -> str:
    """Return where a job ran, as submitit writes at the beginning of its log; "" if it did not."""
    with open_regular(log) as file:
        found = re.search(rb"\bhostname=([^,)\s]+)", file.read(HEAD_BYTES))
    return found[1].decode("utf-8", "replace") if found else ""


@dataclass(frozen=True)
class Death:
    """A worker was killed at this run, perhaps at several that it trained at the same time."""

    run_id: str
    end: Ending


def deaths_in(study: StudyFolder, ends: Iterable[Ending]) -> list[Death]:
    """One `Death` for each run that a worker was training when it was killed.

    A job that was cancelled or preempted, or that ended with the process that started it, causes no
    deaths. Nor does a job that ran out of time or was lost with its node, for runs that it had
    saved: they go on from there.
    """
    return [
        Death(run_id, end)
        for end in ends
        if end.kind and not end.attached
        for run_id, saved in end.runs.items()
        # Being killed for no known reason may be the run's own doing.
        if end.kind not in NODE_KINDS
        or end.unexplained
        or changed(study.checkpoints / f"{run_id}.pt") <= saved
    ]


def fatal_deaths(deaths: Iterable[Death], failures: Mapping[str, Sequence[Failure]]) -> list[Death]:
    """The last death of each run that has failed by them: MOST_DEATHS, or one more later on.

    Deaths before a recorded failure are what that one is of.
    """
    counted: dict[str, list[Death]] = {}
    for death in sorted(deaths, key=lambda death: death.end.ended):
        before = failures.get(death.run_id, ())
        if not before or death.end.ended > before[-1].ended:
            counted.setdefault(death.run_id, []).append(death)
    return [
        of_run[-1]
        for run_id, of_run in counted.items()
        if len(of_run) >= (1 if failures.get(run_id) else MOST_DEATHS)
    ]


def record_deaths(
    study: StudyFolder, plan: Plan, deaths: Iterable[Death], reader: JournalReader
) -> Recorded:
    """Record that planned runs failed by these deaths, as `fatal_deaths`; return what is then."""
    recorded, runs = reader.read(), plan.by_id
    mine = [it for it in fatal_deaths(deaths, recorded.failures) if it.run_id in runs]
    if not mine:
        return recorded
    with JournalWriter(study.new_journal()) as journal:
        for death in mine:
            journal.append(
                RunRecord(
                    **runs[death.run_id].named(),
                    status="failed",
                    failure_kind=death.end.kind,
                    message=f"its workers were {death.end.words}",
                    error=float("nan"),
                    seconds=0.0,
                    started=time.time(),
                    host=death.end.host or socket.gethostname(),
                    device="",
                    torch_version=version("torch"),
                    code_version=code_version(),
                )
            )
    return reader.read()


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
    """Count what this machine has killed for want of memory; 0 where it does not say."""
    try:
        lines = vmstat.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


def more_memory(deaths: Iterable[Death]) -> Counter[str]:
    """By how many steps runs get more memory than when these workers were killed at them.

    Those at which one was killed for want of memory, or why is not known. One that was on a GPU
    when that was lost is tried alone, which is the first step of having more.
    """
    steps: Counter[str] = Counter()
    for death in deaths:
        steps[death.run_id] += death.end.kind == "oom" or death.end.unexplained
        steps[death.run_id] = max(int(death.end.gpu_lost), steps[death.run_id])
    return +steps


def retries(
    recorded: Recorded,
    attempts: int | None,
    kinds: Collection[str] = PASSING_KINDS,
    deaths: Iterable[Death] = (),
) -> dict[str, Retry]:
    """The runs that are tried once more, whose last failure was of one of `kinds`.

    After `attempts` failures a run stays as it is; None: no limit. `deaths` are of workers killed
    since.
    """
    short = more_memory(deaths)
    again = {
        run_id: Retry(0, times) for run_id, times in short.items() if run_id not in recorded.runs
    }
    for run_id, last in recorded.failed().items():
        failures = recorded.failures[run_id]
        if last.kind in kinds and (attempts is None or len(failures) < attempts):
            oom = sum(failure.kind == "oom" for failure in failures)
            again[run_id] = Retry(len(failures), oom + short[run_id])
    return again


def nodes_failed_on(
    recorded: Recorded, runs: Collection[str], deaths: Iterable[Death] = ()
) -> frozenset[str]:
    """The nodes on which these runs failed, or workers were killed at them; others may help."""
    failed = (failure for run_id in runs for failure in recorded.failures.get(run_id, ()))
    attempts = [(failure.kind, failure.host) for failure in failed]
    attempts += [(death.end.kind, death.end.host) for death in deaths if death.run_id in runs]
    return frozenset(host for kind, host in attempts if kind in NODE_KINDS and host)


@dataclass(frozen=True)
class NextAttempts:
    """What is recorded once workers' deaths are, too; and what that means for the next attempt."""

    recorded: Recorded
    retries: Retries
    #: Nodes that jobs must not get.
    excluded_nodes: Collection[str]


def next_attempts(
    study: OpenStudy,
    reader: JournalReader,
    live: Iterable[LiveJob],
    kinds: Collection[str] = PASSING_KINDS,
    limited: bool = True,
) -> NextAttempts:
    """Record runs that failed with their workers; say which failures of some kinds are tried again.

    Only while this process has the study's lock. `live`: its jobs that run or wait. `limited`: by
    `launch.attempts`.
    """
    folder, launch = study.folder, study.sweep.launch
    deaths = _deaths(folder, reader.read(), {live_job.job.job_id for live_job in live})
    recorded = record_deaths(folder, study.plan, deaths, reader)
    again = retries(recorded, launch.attempts if limited else None, kinds, deaths)
    affected = {*again, *(death.run_id for death in deaths)}
    hosts = nodes_failed_on(recorded, affected, deaths) if launch.cluster == "slurm" else ()
    excluded = nodes_to_exclude(hosts, launch.slurm.get("partition", ""))
    return NextAttempts(recorded, again, excluded)


def _deaths(study: StudyFolder, recorded: Recorded, alive: Collection[str]) -> list[Death]:
    """Workers that were killed at unfinished runs; sacct is asked where logs do not say why."""
    if study.is_full():  # then what they wrote is not whole
        return []
    jobs = unfinished_jobs(ledger.submitted_jobs(study.jobs), recorded, alive)
    ends = {job.job_id: (job, end) for job in jobs if (end := ending(study.logs, job))}
    unexplained = [
        job.job_id
        for job, end in ends.values()
        if job.cluster == "slurm" and end.runs and end.unexplained
    ]
    known = end_reasons(unexplained)
    explained = (
        replace(end, kind=known[job_id][0], words=known[job_id][1]) if job_id in known else end
        for job_id, (_, end) in ends.items()
    )
    return deaths_in(study, explained)


def in_jobs(live: Iterable[LiveJob], recorded: Recorded) -> set[str]:
    """The runs that live jobs have, but for those that failed since their job was submitted.

    Of these a job does nothing more: they may be given to another.
    """
    given_up = recorded.failed().keys() - retried_by(live, recorded)
    return {run_id for job in live for run_id in job.job.runs} - given_up


def retried_by(live: Iterable[LiveJob], recorded: Recorded) -> dict[str, Retry]:
    """The failed runs that live jobs submitted since then have: they are being tried again."""
    failed = recorded.failed()
    return {
        run_id: Retry(len(recorded.failures[run_id]))
        for job in live
        for run_id in job.job.runs
        if run_id in failed and failed[run_id].ended < job.job.started
    }
