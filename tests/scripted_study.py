"""A study in a folder of its own, whose Slurm is made of scripts."""

import atexit
import json
import os
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from fake_slurm import program
from tiny_study import TINY

from anynet_study.engine.dispatch.ledger import SubmittedJob, arrival, intend, settle
from anynet_study.engine.dispatch.opened import OpenStudy, open_sweep
from anynet_study.engine.dispatch.worker_state import alive_file

_FOLDER = TemporaryDirectory(prefix="anynet-study-tests-")
atexit.register(_FOLDER.cleanup)
#: A data directory in which datasets are packed once for all tests of a process.
PACKED = _FOLDER.name
LIMIT = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-22T04:19:25 DUE TO TIME LIMIT ***"


def begun(folder: Path, monkeypatch: pytest.MonkeyPatch) -> OpenStudy:
    """A study of 12 runs that has begun in `folder`, which becomes the current one.

    Slurm has no jobs of it, and sacct is off.
    """
    monkeypatch.chdir(folder)
    (folder / "data").symlink_to(PACKED)
    monkeypatch.setenv("ANYNET_DATA", str(folder / "data"))
    monkeypatch.setenv("PATH", f"{folder}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "80")
    (folder / "tiny.yaml").write_text(TINY)
    (folder / "bin").mkdir()
    prepared = _opened()
    prepared.folder.begin(prepared.sweep, prepared.population)
    prepared.folder.logs.mkdir()
    command("squeue", "true")
    command("srun", "")
    command("sacct", "exit 1")
    return prepared


@cache
def _opened() -> OpenStudy:
    """Opened once for all tests of a process: its folder is one below the current folder."""
    return open_sweep(Path("tiny.yaml"), ["launch.cluster=slurm"])


def command(name: str, script: str) -> None:
    """Put a command on PATH that does this."""
    program(Path("bin"), name, script)


def submitted(tiny: OpenStudy, *tasks: slice) -> str:
    """An array in the ledger, a task for each part of the plan; its id."""
    runs = [" ".join(tiny.plan[part].ids()) for part in tasks]
    token = intend(tiny.folder.jobs, runs)
    settle(tiny.folder.jobs, token, "7")
    return token


def of_runs(pid: int, runs: Iterable[str]) -> SubmittedJob:
    """A worker of this machine that was given runs, as earlier versions did."""
    return replace(arrival(pid), cluster="local", run_ids=" ".join(runs))


def killed_at(tiny: OpenStudy, job: str, run: int, err: str = "", host: str = "n1") -> str:
    """Write what a worker that was killed at a run left behind; the run's id."""
    run_id, logs = tiny.plan[run].run_id, tiny.folder.logs
    (logs / f"{job}_0_log.out").write_text(f"{run_id} digits a begins\n")
    alive_file(logs, job).write_text(json.dumps({"host": host, "runs": {run_id: 0.0}}) + "\n")
    (tiny.folder.logs / f"{job}_0_log.err").write_text(err)
    return run_id
