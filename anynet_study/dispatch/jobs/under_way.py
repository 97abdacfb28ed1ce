"""Which runs the live jobs of a study are about to bring to an end."""

from collections.abc import Iterable

from anynet_study.dispatch.jobs.ledger import LiveJob
from anynet_study.dispatch.recorded import Recorded


def under_way(recorded: Recorded, live: Iterable[LiveJob]) -> set[str]:
    """The runs that live jobs have, but for those that failed since their job was submitted.

    Of these a job does nothing more: they may be given to another.
    """
    failed = recorded.failed()
    return {
        run_id
        for job in live
        for run_id in job.job.runs
        if run_id not in failed or failed[run_id].ended < job.job.started
    }


def tried_again(recorded: Recorded, live: Iterable[LiveJob]) -> set[str]:
    """The failed runs that jobs submitted since then have."""
    failed = recorded.failed()
    return {
        run_id
        for job in live
        for run_id in job.job.runs
        if run_id in failed and failed[run_id].ended < job.job.started
    }
