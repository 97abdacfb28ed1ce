"""Which runs the live jobs of a study are about to bring to an end."""

from collections.abc import Iterable

from anynet_study.dispatch.jobs.ledger import LiveJob
from anynet_study.dispatch.planned import Plan
from anynet_study.dispatch.recorded import Again, Recorded, Retries


def under_way(todo: Plan, recorded: Recorded, live: Iterable[LiveJob]) -> Plan:
    """Those of `todo` that live jobs have, but for those that failed since their job was submitted.

    Of these a job does nothing more: they may be given to another.
    """
    given_up = recorded.failed().keys() - tried_again(recorded, live)
    return todo.among(job.job.runs for job in live).without(todo.find(given_up))


def tried_again(recorded: Recorded, live: Iterable[LiveJob]) -> Retries:
    """The failed runs that jobs submitted since then have: tries that are under way."""
    failed = recorded.failed()
    return {
        run_id: Again(len(recorded.failures[run_id]))
        for job in live
        for run_id in job.job.runs
        if run_id in failed and failed[run_id].ended < job.job.started
    }
