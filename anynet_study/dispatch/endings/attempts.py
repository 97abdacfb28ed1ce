"""Before a launch: what became of the runs of jobs that are gone, and what is tried again where."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from anynet_study.dispatch.endings.deaths import (
    Death,
    deaths_in,
    endings_of,
    fatal,
    record_deaths,
    unfinished_jobs,
)
from anynet_study.dispatch.endings.last_words import disk_is_full
from anynet_study.dispatch.endings.logs import Ending
from anynet_study.dispatch.endings.retries import PASSING_KINDS, nodes_failed_on, retries
from anynet_study.dispatch.jobs import ledger
from anynet_study.dispatch.jobs.ledger import LiveJob, SubmittedJob
from anynet_study.dispatch.journal_reader import JournalReader
from anynet_study.dispatch.planned import Plan
from anynet_study.dispatch.recorded import Recorded, Retries
from anynet_study.dispatch.slurm.elsewhere import worth_avoiding
from anynet_study.dispatch.slurm.sacct import reasons
from anynet_study.study_folder import StudyFolder
from anynet_study.sweep import Sweep


@dataclass(frozen=True)
class Attempts:
    """What is recorded once workers' deaths are, too; and what that means for the next try."""

    recorded: Recorded
    again: Retries
    #: Nodes that jobs must not get.
    avoid: Collection[str]


def next_attempts(
    study: StudyFolder,
    sweep: Sweep,
    planned: Plan,
    reader: JournalReader,
    live: Iterable[LiveJob],
    kinds: Collection[str] = PASSING_KINDS,
    limited: bool = True,
) -> Attempts:
    """Record runs that failed with their workers; say which failures of some kinds are tried again.

    Only while alone at the study. `live`: its jobs that run or wait. `limited`: by
    `launch.attempts`.
    """
    recorded = reader.read()
    deaths = _deaths(study, recorded, {each.job.job_id for each in live})
    failed = fatal(deaths, recorded.failures)
    if failed:
        record_deaths(study, planned, failed)
        recorded = reader.read()
    again = retries(recorded, sweep.launch.attempts if limited else None, kinds, deaths)
    hurt = {*again, *(death.run_id for death in deaths)}
    hosts = nodes_failed_on(recorded, hurt, deaths) if sweep.launch.cluster == "slurm" else ()
    return Attempts(recorded, again, worth_avoiding(hosts, sweep.launch.slurm.get("partition", "")))


def _deaths(study: StudyFolder, recorded: Recorded, alive: Collection[str]) -> list[Death]:
    """Workers that were killed at runs which are unfinished; sacct is asked where logs are mute."""
    if disk_is_full(study):  # then their logs are not whole
        return []
    jobs = unfinished_jobs(ledger.read(study.jobs), recorded, alive)
    ends = list(endings_of(study, jobs))
    mute = [job.job_id for job, end in ends if _is_mute(job, end)]
    known = reasons(mute)
    told: Sequence[Ending] = [
        replace(end, kind=known[job.job_id][0], words=known[job.job_id][1])
        if job.job_id in known
        else end
        for job, end in ends
    ]
    return deaths_in(study, told)


def _is_mute(job: SubmittedJob, end: Ending) -> bool:
    return job.cluster == "slurm" and bool(end.runs) and end.unexplained
