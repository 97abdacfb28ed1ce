"""What was submitted for which runs: a folder in which each launcher writes a file of its own.

A line is a job, or an array about to be submitted with the runs of its tasks, or what came of that.
"""

import json
import os
import secrets
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from anynet_study.files import naming


@dataclass(frozen=True, slots=True)
class Submission:
    """A job, or an array of jobs, as it was, or was to be, submitted."""

    #: What its jobs carry in Slurm; "" of a job whose id was known at once.
    token: str
    cluster: str
    host: str
    #: When it was submitted, or the local process started (seconds since 1970).
    at: float
    #: The ids of each task's runs, separated by spaces: a million runs are some dozen megabytes.
    tasks: tuple[str, ...]
    #: submitit's id of a job, Slurm's id of an array; "" while it is not known.
    job_id: str
    is_array: bool

    def id_of(self, task: int) -> str:
        """The id of a task's job."""
        return f"{self.job_id}_{task}" if self.is_array else self.job_id


def record(folder: Path, cluster: str, host: str, at: float, job_id: str, runs: str) -> None:
    """Record durably a job with its id; `runs` separated by spaces."""
    _write(folder, {"job": job_id, "cluster": cluster, "host": host, "at": at, "runs": runs})


def intend(folder: Path, tasks: Sequence[str], is_array: bool = True) -> str:
    """Record durably that these tasks are about to be submitted to Slurm; their token."""
    token = secrets.token_hex(6)
    fields = {"token": token, "host": socket.gethostname(), "at": time.time(), "array": is_array}
    _write(folder, {**fields, "tasks": tasks})
    return token


def settle(folder: Path, token: str, job_id: str) -> None:
    """Record what came of an intention: Slurm's id, or "" if it was refused."""
    _write(folder, {"token": token, "job": job_id})


def submissions(folder: Path) -> Iterator[Submission]:
    """All that was submitted, and what was intended without a word on what came of it (no id).

    A line torn by a kill is skipped.
    """
    intended: dict[str, Submission] = {}
    settled: dict[str, str] = {}
    for fields in _lines(folder):
        try:
            if "runs" in fields:
                yield _job(fields)
                continue
            token = fields["token"]
            if "tasks" in fields:
                intended[token] = _intention(fields)
            else:
                settled[token] = fields["job"]
        except (TypeError, KeyError):
            continue
        if token in intended and token in settled:
            entry, job_id = intended.pop(token), settled.pop(token)
            if job_id:
                yield replace(entry, job_id=job_id)
    yield from intended.values()


def _job(fields: dict[str, Any]) -> Submission:
    cluster, host, at = fields["cluster"], fields["host"], fields["at"]
    return Submission("", cluster, host, at, (fields["runs"],), fields["job"], is_array=False)


def _intention(fields: dict[str, Any]) -> Submission:
    token, host, at, tasks = fields["token"], fields["host"], fields["at"], tuple(fields["tasks"])
    return Submission(token, "slurm", host, at, tasks, "", is_array=fields["array"])


def _lines(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines of all launchers' files, by the times when these began."""
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    fields = json.loads(line)
                except ValueError:
                    continue
                if isinstance(fields, dict):
                    yield fields


def _write(folder: Path, fields: dict[str, Any]) -> None:
    """Append a line to this process's own file: nobody else, on whatever machine, writes it."""
    began = int(1000 * psutil.Process().create_time())
    path = folder / f"{began}-{socket.gethostname()}-{os.getpid()}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    with naming(path), path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(fields, separators=(",", ":")) + "\n")
        file.flush()
        os.fsync(file.fileno())
