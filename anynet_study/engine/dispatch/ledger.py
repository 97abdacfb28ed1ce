"""The jobs of a study: which were submitted, for which runs, and which of them live.

What was submitted is in a folder in which each launcher writes a file of its own. A line is a job,
or an array about to be submitted with the runs of its tasks, or what came of that.
"""

import json
import os
import secrets
import socket
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psutil
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anynet_study.core.errors import UserError
from anynet_study.core.files import naming, open_regular
from anynet_study.engine.dispatch.slurm.commands import WAITING, QueuedJob, queued_jobs
from anynet_study.engine.dispatch.worker_state import SILENT, silence

#: Slack when comparing a process's start time with the recorded one, in seconds.
CLOCK_SLACK = 1.0


@dataclass(frozen=True, slots=True)
class SubmittedJob:
    """A job as it was submitted."""

    #: Slurm's job id, or of a local worker `local_id`: before there were such, its process id.
    job_id: str
    cluster: str
    host: str
    #: When the local process started, or the job was queued (seconds since 1970).
    started: float
    #: The ids of its runs, separated by spaces: as text of their own a million take 70 MB more.
    run_ids: str
    #: `process_mark` of a local worker; "" of one launched before there were such marks.
    mark: str = ""
    #: Where its logs are, below the study's own or with a whole path (`logs_name`).
    logs: str = ""

    def log(self, logs: Path, kind: Literal["out", "err"]) -> Path:
        """What its worker wrote, as submitit names it; `logs`: the study's folder of logs.

        submitit knows a local worker by its process id. Logs beside Slurm's are of a time when
        local workers were not started by submitit.
        """
        name = self.job_id.rpartition("-")[2] if self.logs else self.job_id
        return logs / self.logs / f"{name}_0_log.{kind}"

    @property
    def runs(self) -> tuple[str, ...]:
        """The ids of its runs."""
        return tuple(self.run_ids.split())

    @property
    def is_of_here(self) -> bool:
        """Whether its process, of a local job, can be seen from here."""
        of_this_system = self.mark.split()[:1] in ([], [this_system()])
        return self.host == socket.gethostname() and of_this_system

    @property
    def process(self) -> psutil.Process | None:
        """The process of a local job, if it runs on this machine."""
        if self.cluster == "slurm" or self.host != socket.gethostname():
            return None
        try:
            process = psutil.Process(int(self.job_id.rpartition("-")[2]))
            if self.mark:
                same = process_mark(process.pid) == self.mark
            else:
                same = abs(process.create_time() - self.started) < CLOCK_SLACK
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


@dataclass(frozen=True, slots=True)
class LiveJob:
    """A job that is queued or running, as Slurm or this machine has it now."""

    job: SubmittedJob
    state: Literal["running", "pending"]
    #: When it began to run, this time (seconds since 1970); None while it waits.
    started: float | None
    #: The node it runs on; "" while it waits.
    host: str = ""
    #: Why it waits, in Slurm's words.
    reason: str = ""


class Submission(BaseModel):
    """A line of a launcher's file: a job, an array about to be submitted, or what came of that."""

    model_config = ConfigDict(strict=True, extra="ignore")
    #: What its jobs carry in Slurm; "" of a job whose id was known at once.
    token: str = ""
    cluster: str = "slurm"
    host: str = ""
    #: When it was submitted, or the local process started (seconds since 1970).
    at: float = 0.0
    #: The ids of a single job's runs, separated by spaces; None of an array.
    runs: str | None = None
    #: The same of each task of an array; None of other lines.
    tasks: tuple[str, ...] | None = None
    #: The id of a job, Slurm's id of an array; "" while it is not known, or if it was refused.
    job: str = Field("", pattern=r"^((.*-)?[0-9]{1,12})?$")
    array: bool = False
    mark: str = ""
    logs: str = ""

    @property
    def all_runs(self) -> tuple[str, ...]:
        """The ids of the runs of each of its jobs, separated by spaces."""
        return self.tasks or (() if self.runs is None else (self.runs,))

    def jobs(self) -> Iterator[SubmittedJob]:
        """Its jobs, once their ids are known."""
        for number, run_ids in enumerate(self.all_runs):
            yield self.submitted(f"{self.job}_{number}" if self.array else self.job, run_ids)

    def submitted(self, job_id: str, run_ids: str) -> SubmittedJob:
        """One of its jobs."""
        where = self.cluster, self.host, self.at
        return SubmittedJob(job_id, *where, run_ids, mark=self.mark, logs=self.logs)


def local_id(pid: int) -> str:
    """The id of a local worker: process ids alone repeat on machines that share the files."""
    return f"{socket.gethostname()}-{pid}"


def local_job(pid: int, run_ids: str, logs: str = "") -> SubmittedJob:
    """The entry of a job just started on this machine."""
    return SubmittedJob(
        job_id=local_id(pid),
        cluster="local",
        host=socket.gethostname(),
        started=psutil.Process(pid).create_time(),
        run_ids=run_ids,
        mark=process_mark(pid),
        logs=logs,
    )


def logs_name(logs: Path, folder: Path) -> str:
    """How the ledger names the `folder` of an executor, by the study's own of `logs`.

    A study may be moved; "" is the folder itself.
    """
    folder, own = folder.absolute(), logs.absolute()
    return (
        str(folder.relative_to(own)).removeprefix(".")
        if folder.is_relative_to(own)
        else str(folder)
    )


def this_system() -> str:
    """What tells this machine since it was started, and a container on it, from all others.

    "" where the system does not say.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def process_mark(pid: int) -> str:
    """What tells a process from all others: `this_system`, and the clock ticks since the boot.

    Process ids are used again, and times of day change with the clock. "" where the system does
    not say.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return f"{this_system()} {fields[19]}"


def silent_jobs(logs: Path, live: Iterable[LiveJob]) -> dict[str, float]:
    """Seconds since the last sign of life of running jobs that gave none for SILENT, by id."""
    ids = [it.job.job_id for it in live if it.state == "running"]
    quiet = {job_id: silence(logs, job_id) for job_id in ids}
    return {job_id: it for job_id, it in quiet.items() if it is not None and it > SILENT}


def jobs_elsewhere(
    folder: Path, logs: Path, recorded: Collection[str]
) -> dict[SubmittedJob, float]:
    """Local workers of other machines that may live and have runs without a record.

    They cannot be seen from here. The values are seconds since a worker's last sign of life.
    Workers that have left are not included, nor those that ran here before this machine or
    container was started again.
    """
    ended, found = frozenset(recorded), dict[SubmittedJob, float]()
    here = time.time() - psutil.Process(1).create_time()
    for job in submitted_jobs(folder):
        if job.cluster == "slurm" or job.is_of_here or ended.issuperset(job.runs):
            continue
        quiet = silence(logs, job.job_id)
        if quiet is not None and (job.host != socket.gethostname() or quiet < here):
            found[job] = quiet
    return found


def append(folder: Path, jobs: Iterable[SubmittedJob]) -> None:
    """Record durably jobs whose ids are known."""
    for job in jobs:
        where = {"cluster": job.cluster, "host": job.host, "at": job.started, "mark": job.mark}
        _write(folder, {"job": job.job_id, **where, "logs": job.logs, "runs": job.run_ids})


def intend(folder: Path, tasks: Sequence[str], is_array: bool = True, logs: str = "") -> str:
    """Record durably that these tasks are about to be submitted to Slurm; their token."""
    token = secrets.token_hex(6)
    fields = {"token": token, "host": socket.gethostname(), "at": time.time(), "array": is_array}
    _write(folder, {**fields, "logs": logs, "tasks": tasks})
    return token


def settle(folder: Path, token: str, job_id: str) -> None:
    """Record what came of an intention: Slurm's id, or "" if it was refused."""
    _write(folder, {"token": token, "job": job_id})


def submissions(folder: Path) -> Iterator[Submission]:
    """All that was submitted, and what was intended without a word on what came of it (no id).

    Raises UserError for what no launch writes. A line torn by a kill is skipped.
    """
    intended: dict[str, Submission] = {}
    settled: dict[str, str] = {}
    for line in _lines(folder):
        if line.runs is not None:
            yield line
        elif line.tasks is not None:
            intended[line.token] = line
        else:
            settled[line.token] = line.job
        if line.token in intended and line.token in settled:
            entry, job = intended.pop(line.token), settled.pop(line.token)
            if job:
                yield entry.model_copy(update={"job": job})
    yield from intended.values()


def submitted_jobs(folder: Path) -> Iterator[SubmittedJob]:
    """All jobs ever submitted whose ids are known."""
    for entry in submissions(folder):
        if entry.job:
            yield from entry.jobs()


def live_jobs(folder: Path, recorded: Collection[str] = ()) -> list[LiveJob]:
    """The jobs that are queued or running now, in Slurm's order; one call of squeue for all.

    A job in Slurm is the study's if it bears the mark of one of its submissions.
    Jobs whose runs are all among `recorded` are not asked after: a finished study needs no Slurm.
    Local jobs of another machine cannot be seen from here: see `jobs_elsewhere`.
    """
    ended = frozenset(recorded)
    live, in_slurm = [], []
    for entry in submissions(folder):
        if all(ended.issuperset(runs.split()) for runs in entry.all_runs):
            continue
        if entry.cluster == "slurm":
            in_slurm.append(entry)
            continue
        live += [
            LiveJob(job, "running", job.started, job.host) for job in entry.jobs() if job.process
        ]
    tasks = {entry.token: entry for entry in in_slurm if entry.token}
    for job_id, line in queued_jobs().items() if tasks else ():
        if of := tasks.get(line.token):  # ids are used again: they prove nothing
            job = of.submitted(job_id, of.all_runs[int(job_id.partition("_")[2] or 0)])
            if not ended.issuperset(job.runs):
                live.append(_live(job, line))
    return live


def adopt(folder: Path) -> None:
    """Record the ids of jobs that Slurm has, though their launcher was killed before it knew."""
    unknown = {entry.token for entry in submissions(folder) if not entry.job}
    if unknown:
        lines = queued_jobs().items()
        found = {line.token: job_id.partition("_")[0] for job_id, line in lines}
        for token in unknown & found.keys():
            settle(folder, token, found[token])


def _live(job: SubmittedJob, line: QueuedJob) -> LiveJob:
    if line.state in WAITING:
        return LiveJob(job, "pending", None, reason=line.reason)
    return LiveJob(job, "running", line.started, line.host)


def _lines(folder: Path) -> Iterator[Submission]:
    """The lines of all launchers' files, by the times when these began."""
    for path in sorted(folder.glob("*.jsonl")):
        if not path.is_file():
            raise UserError(f"{path}: no regular file, as launch writes them; remove it")
        with open_regular(path) as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    continue  # torn
                try:
                    yield Submission.model_validate_json(line)
                except ValidationError:
                    raise UserError(
                        f"{path}: line {number} is none that launch writes; remove that line"
                    ) from None


def _write(folder: Path, fields: dict[str, Any]) -> None:
    """Append a line to this process's own file: nobody else, on whatever machine, writes it."""
    began = int(1000 * psutil.Process().create_time())
    path = folder / f"{began}-{socket.gethostname()}-{os.getpid()}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    with naming(path), path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(fields, separators=(",", ":")) + "\n")
        file.flush()
        os.fsync(file.fileno())
