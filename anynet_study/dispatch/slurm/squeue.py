"""What squeue lists: one call for all jobs of this user."""

import os
import re
import subprocess
from dataclasses import dataclass

from anynet_study.errors import WorkFailedError

#: States of a job that has no node.
WAITING = frozenset(
    {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
)
#: Id, state, start, nodes, reason, comment.
FORMAT = "%i|%T|%S|%N|%r|%k"
#: How a job's comment says which submission it is of.
TOKEN = re.compile(r"\banynet-study:([0-9a-f]+)")


@dataclass(frozen=True, slots=True)
class Queued:
    """A line of squeue."""

    state: str
    #: When it began, or is expected to begin (seconds since 1970); None where Slurm does not know.
    started: float | None
    host: str
    reason: str
    #: Of the submission that it is of; "" of a job that is not ours.
    token: str


def comment_of(token: str) -> str:
    """What a job of a submission carries as its comment."""
    return f"anynet-study:{token}"


def queued_jobs() -> dict[str, Queued]:
    """All jobs of this user that wait or run, by id; the tasks of an array each by its own.

    Raises WorkFailedError where squeue does not answer: silence is no empty queue.
    """
    command = ["squeue", "--noheader", "--array", f"--format={FORMAT}", "--user", str(os.getuid())]
    times = {**os.environ, "SLURM_TIME_FORMAT": "%s"}
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=60, env=times
        )
    except (OSError, subprocess.SubprocessError) as error:
        words = " ".join((getattr(error, "stderr", "") or str(error)).split())
        raise WorkFailedError(
            f"squeue does not answer, so queued jobs cannot be told from lost ones: {words}"
        ) from None
    return dict(_parsed(line) for line in answer.stdout.splitlines() if line.count("|") >= 5)


def _parsed(line: str) -> tuple[str, Queued]:
    job_id, state, started, host, reason, comment = line.split("|", 5)
    known = float(started) if started.strip().isdigit() else None
    token = TOKEN.search(comment)
    return job_id.strip(), Queued(state, known, host, reason, token[1] if token else "")
