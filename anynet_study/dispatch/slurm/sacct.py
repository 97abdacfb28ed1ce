"""What sacct, where a site has it, says of jobs that ended without a word."""

from collections.abc import Collection, Mapping

from anynet_study.dispatch.slurm.ask import told
from anynet_study.store.records import FailureKind

#: Ids in the one call: the latest.
MOST = 1000
#: Slurm's states of jobs that it ended, and the kind of failure of the runs at which they were.
STATES: Mapping[str, tuple[FailureKind, str]] = {
    "OUT_OF_MEMORY": ("oom", "killed for want of memory"),
    "TIMEOUT": ("timeout", "ended at the job's time limit"),
    "DEADLINE": ("timeout", "ended at the job's deadline"),
    "NODE_FAIL": ("node", "lost with its node"),
    "BOOT_FAIL": ("node", "lost with its node"),
    "PREEMPTED": ("", "preempted"),
    "CANCELLED": ("", "cancelled"),
    "REQUEUED": ("", "requeued"),
}


def reasons(job_ids: Collection[str]) -> dict[str, tuple[FailureKind, str]]:
    """Kind and words for those jobs of which sacct knows why they ended, by one call.

    Nothing where accounting is off, or refuses or is slow to answer: it is never needed.
    """
    if not job_ids:
        return {}
    jobs = ",".join(list(job_ids)[-MOST:])
    command = ["sacct", "--noheader", "--parsable2", "--allocations", "--format=JobID,State"]
    found = {}
    for line in told(*command, f"--jobs={jobs}").splitlines():
        job_id, _, state = line.partition("|")
        known = STATES.get(state.split(" ")[0])  # CANCELLED by 1000
        if known and job_id in job_ids:
            found[job_id] = known
    return found
