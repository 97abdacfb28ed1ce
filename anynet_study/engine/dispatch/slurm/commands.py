"""What the commands of Slurm answer: squeue of jobs that live, sacct of those that ended."""

import os
import re
import subprocess
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from anynet_study.core.errors import WorkFailedError
from anynet_study.store import FailureKind

#: How long a command may take to answer, in seconds.
PATIENCE = 60.0
#: States of a job that has no node.
WAITING = frozenset(
    {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
)
#: Id, state, start, nodes, reason, comment.
FORMAT = "%i|%T|%S|%N|%r|%k"
#: How a job's comment says which submission it is of.
TOKEN = re.compile(r"\banynet-study:([0-9a-f]+)")
#: Ids in one call of sacct: the latest.
MOST_IDS = 1000


@dataclass(frozen=True)
class EndedBySlurm:
    """A way in which Slurm ends jobs."""

    #: sacct's states of such a job, separated by spaces; "": it has none of its own.
    states: str
    #: A pattern of what Slurm writes to the job's log of errors.
    in_logs: str
    #: The kind of failure of the runs at which the job was; "" if it is none.
    kind: FailureKind
    #: For people; `{}` is what the pattern's group found.
    words: str


#: The first that is found counts: Slurm also reports jobs as killed that were cancelled or out of
#: time.
ENDS = (
    EndedBySlurm(
        "OUT_OF_MEMORY",
        r"oom.kill|Out Of Memory|OOM Killed",
        "oom",
        "killed for want of memory",
    ),
    EndedBySlurm(
        "TIMEOUT DEADLINE", "DUE TO TIME LIMIT", "timeout", "ended at the job's time limit"
    ),
    EndedBySlurm("NODE_FAIL BOOT_FAIL", r"DUE TO NODE.?FAIL", "node", "lost with its node"),
    EndedBySlurm("PREEMPTED", "DUE TO PREEMPTION", "", "preempted"),
    EndedBySlurm("REQUEUED", "DUE TO JOB REQUEUE", "", "requeued"),
    EndedBySlurm("CANCELLED", "CANCELLED AT", "", "cancelled"),
    # The first is a file that went away under the job, the second a processor of another kind.
    EndedBySlurm("", r"task \d+: (Bus error|Illegal instruction)", "node", "killed: {}"),
    EndedBySlurm(
        "",
        r"task \d+: (Segmentation fault|Aborted|Floating point exception)",
        "code",
        "killed: {}",
    ),
)


@dataclass(frozen=True)
class Answer:
    """What a command said, and whether it succeeded."""

    text: str
    #: What it said of its failure (the line that calls it fatal, or else the first), or why it
    #: could not be run.
    error: str
    works: bool
    #: Whether there is such a command at all.
    is_there: bool = True

    @property
    def lines(self) -> list[str]:
        return [line for line in self.text.splitlines() if line.strip()]


def ask(*command: str, patience: float = PATIENCE, **variables: str) -> Answer:
    """Run a command; that it fails, takes more than `patience` s or is not there is an answer, too.

    `variables` are added to its environment.
    """
    how: Any = {"capture_output": True, "text": True, "errors": "replace", "timeout": patience}
    try:
        done = subprocess.run(command, env={**os.environ, **variables}, **how)
    except FileNotFoundError:
        return Answer("", f"there is no command {command[0]}", works=False, is_there=False)
    except subprocess.TimeoutExpired:
        return Answer("", f"{command[0]} does not answer", works=False)
    except OSError as error:
        return Answer("", f"{command[0]}: {error.strerror}", works=False)
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    reason = next((line for line in said if "fatal:" in line), "".join(said[:1]))
    return Answer(done.stdout, reason, done.returncode == 0)


def output_of(*command: str) -> str:
    """Return what a command prints; nothing where it fails, is slow or is not there."""
    answer = ask(*command)
    return answer.text if answer.works else ""


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A line of squeue."""

    state: str
    #: When it began, or is expected to begin (seconds since 1970); None where Slurm does not know.
    started: float | None
    host: str
    reason: str
    #: The token of its submission; "" if it is no job of this package.
    token: str


def comment_of(token: str) -> str:
    """Return what a job of a submission carries as its comment."""
    return f"anynet-study:{token}"


def queued_jobs() -> dict[str, QueuedJob]:
    """All jobs of this user that wait or run, by id; the tasks of an array each by its own.

    Raises WorkFailedError where squeue does not answer: silence is no empty queue.
    """
    options = ("--noheader", "--array", f"--format={FORMAT}", "--user", str(os.getuid()))
    told = ask("squeue", *options, SLURM_TIME_FORMAT="%s")
    if not told.works:
        words = told.error or "it fails"
        raise WorkFailedError(
            "squeue does not answer, so queued jobs cannot be told from lost ones; try again later "
            f"({words})"
        )
    return dict(_parsed(line) for line in told.lines if line.count("|") >= 5)


def _parsed(line: str) -> tuple[str, QueuedJob]:
    job_id, state, started, host, reason, comment = line.split("|", 5)
    when = float(started) if started.strip().isdigit() else None
    token = TOKEN.search(comment)
    return job_id.strip(), QueuedJob(state, when, host, reason, token[1] if token else "")


def end_reasons(job_ids: Collection[str]) -> dict[str, tuple[FailureKind, str]]:
    """Kind and words for those jobs of which sacct knows why they ended, by one call.

    Nothing where accounting is off, or refuses or is slow to answer: it is never needed.
    """
    if not job_ids:
        return {}
    jobs = ",".join(list(job_ids)[-MOST_IDS:])
    command = ["sacct", "--noheader", "--parsable2", "--allocations", "--format=JobID,State"]
    found = {}
    for line in output_of(*command, f"--jobs={jobs}").splitlines():
        job_id, _, state = line.partition("|")
        for end in ENDS:
            if job_id in job_ids and state.split(" ")[0] in end.states.split():  # CANCELLED by 0
                found[job_id] = end.kind, end.words
    return found
