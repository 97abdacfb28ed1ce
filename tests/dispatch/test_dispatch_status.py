"""How far a study is: counts against records and jobs written by hand."""

import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from fake_slurm import slurm_job
from test_dispatch_recorded import row
from tiny_study import TINY, Type, typing_in

from anynet_study.cli.prepared import Prepared, prepare
from anynet_study.dispatch import ledger
from anynet_study.dispatch.ledger import LiveJob, SubmittedJob
from anynet_study.dispatch.recorded import JournalReader, Pace
from anynet_study.dispatch.status import Jobs, Status, study_status
from anynet_study.store import JournalWriter

NOW = 10_000.0


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    """A study of 4 architectures on 3 datasets that has begun."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path / "data"))
    (tmp_path / "tiny.yaml").write_text(TINY)
    prepared = prepare(tmp_path / "tiny.yaml", [])
    prepared.study.begin(prepared.sweep, prepared.population)
    return prepared


def journal(tiny: Prepared, runs: Iterable[int], status: str = "completed", **more: Any) -> None:
    """Record the runs at these places of the plan."""
    with JournalWriter(tiny.study.new_journal()) as writer:
        for number in runs:
            writer.append(row(**tiny.planned[number].named() | {"status": status} | more))


def job(tiny: Prepared, number: int, runs: Iterable[int], at: float = 9000.0) -> SubmittedJob:
    ids = " ".join(tiny.planned[place].run_id for place in runs)
    return SubmittedJob(f"7_{number}", "slurm", "login", at, ids)


def status(tiny: Prepared, jobs: Jobs = Jobs()) -> Status:  # noqa: B008
    reader = JournalReader(tiny.study.journals)
    return study_status(tiny.planned, reader.read(), jobs, reader.pace(), NOW)


def test_runs_by_how_they_ended_and_failures_by_kind(tiny: Prepared) -> None:
    journal(tiny, [0, 1, 2, 3])
    journal(tiny, [4], "diverged", error=90.0)
    journal(tiny, [5, 6], "failed", failure_kind="oom")
    journal(tiny, [7], "failed", failure_kind="node")
    journal(tiny, [3], "failed", failure_kind="code")  # by another worker: it is completed
    now = status(tiny)
    assert (now.completed, now.diverged, now.failed, now.missing) == (4, 1, 3, 4)
    assert now.failures == {"oom": 2, "node": 1}
    assert (now.rows_complete, now.rows) == (2, 4)
    assert now.datasets == {"digits": (3, 4), "digits-2": (3, 4), "blobs": (2, 4)}
    assert (now.jobs, now.unassigned, now.under_way) == (0, 4, False)


def test_runs_are_running_queued_or_in_no_job(tiny: Prepared) -> None:
    journal(tiny, [0])
    jobs = [job(tiny, 0, [0, 1, 2]), job(tiny, 1, [3, 4]), job(tiny, 2, [5, 6])]
    live = [LiveJob(jobs[0], "running", 9500.0, "n1"), LiveJob(jobs[1], "pending", None, "", "QOS")]
    now = status(tiny, Jobs(live, jobs))
    assert (now.running, now.queued, now.unassigned) == (2, 2, 7)
    assert (now.jobs, now.jobs_running, now.jobs_queued, now.queue_reason) == (2, 1, 1, "QOS")
    assert now.jobs_lost == 1
    assert now.under_way
    seconds = tiny.planned.seconds()
    assert now.eta_seconds is not None
    assert now.eta_seconds <= seconds[1:5].sum()
    assert now.eta_assumes == "queued jobs follow the 1 job that runs now"


def test_a_job_is_not_lost_whose_runs_another_has(tiny: Prepared) -> None:
    again = job(tiny, 1, [1, 2])
    now = status(tiny, Jobs([LiveJob(again, "running", 9.0)], [job(tiny, 0, [1, 2]), again]))
    assert now.jobs_lost == 0


def test_a_failed_run_that_a_later_job_has_is_under_way(tiny: Prepared) -> None:
    journal(tiny, range(12), "failed", started=5000.0)
    before, after = job(tiny, 0, [0], 4000.0), job(tiny, 1, [1], 6000.0)
    live = [LiveJob(each, "running", 9000.0) for each in (before, after)]
    now = status(tiny, Jobs(live, [before, after]))
    assert (now.failed, now.running, now.unassigned) == (12, 1, 0)


@pytest.mark.parametrize(
    ("ended", "began", "rate"),
    [([], float("inf"), None), ([9000, 9900], 1000, 2.0), ([100], 0, 0.0), ([9400, 9700], 9100, 8)],
)
def test_the_pace_is_that_of_the_last_hour_or_less(
    ended: list[float], began: float, rate: float | None
) -> None:
    assert Pace(ended, began, {}).runs_per_hour(NOW) == rate


def test_cost_is_by_device(tiny: Prepared) -> None:
    journal(tiny, [0, 1], seconds=1800.0)
    journal(tiny, [2], "failed", seconds=900.0, device="NVIDIA H200")
    assert status(tiny).hours == {"cpu": 1.0, "NVIDIA H200": 0.25}


@pytest.fixture
def type_(tiny: Prepared, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Type:
    monkeypatch.setenv("COLUMNS", "80")
    return typing_in(Path.cwd(), monkeypatch, capsys)


def squeue(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A squeue that does this, before others on PATH."""
    folder = Path.cwd() / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "squeue").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_status_shows_all_within_80_columns(
    tiny: Prepared, type_: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal(tiny, [0, 1], seconds=1800.0, started=time.time() - 2000)
    journal(tiny, [2], "failed", failure_kind="oom", started=time.time() - 1000)
    ids = [[run.run_id for run in tiny.planned[a:b]] for a, b in ((3, 6), (6, 9))]
    ledger.append(tiny.study.jobs, [slurm_job(f"{n}", runs) for n, runs in enumerate(ids)])
    squeue(monkeypatch, "echo '1|PENDING|N/A||Priority|'")
    told = type_("status", "tiny")
    assert told.code == 0
    lines = told.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "runs: 2 completed, 0 diverged, 1 failed (oom 1), 9 missing of 12" in lines
    assert "jobs: 1 waiting (3 runs; Priority)" in lines
    assert "in no job: 6 runs; 1 job ended early; launch (or run) again to go on" in lines
    assert any(
        line.startswith("pace: 5.4 runs an hour; cost so far: 1 core-hours") for line in lines
    )
    assert any(line.startswith("ETA: not known before a job runs") for line in lines)


@pytest.mark.parametrize("reason", ["JobHeldUser", "launch failed requeued held"])
def test_jobs_that_nobody_will_start_are_named(
    tiny: Prepared, type_: Type, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    runs = [run.run_id for run in tiny.planned]
    ledger.append(tiny.study.jobs, [slurm_job(f"{n}", [runs[n]]) for n in range(2)])
    squeue(monkeypatch, f"echo '0|PENDING|N/A||Priority|'; echo '1|PENDING|N/A||{reason}|'")
    lines = type_("status", "tiny").out.splitlines()
    assert "held by Slurm: 1 job; to let them go on: scontrol release 1" in lines


def test_a_silent_squeue_hides_nothing_else(
    tiny: Prepared, type_: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal(tiny, [0, 1])
    ledger.append(tiny.study.jobs, [slurm_job("1", [tiny.planned[3].run_id])])
    squeue(monkeypatch, "echo slurmctld is away >&2; exit 1")
    told = type_("status", "tiny", "--json")
    assert told.code == 0
    now = json.loads(told.out)
    assert (now["completed"], now["missing"]) == (2, 10)
    assert "slurmctld is away" in now["jobs_unknown"]
    assert "slurmctld is away" in " ".join(type_("status", "tiny").out.split())


def test_watching_ends_when_no_job_is_left(
    tiny: Prepared, type_: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.append(tiny.study.jobs, [slurm_job("1", [tiny.planned[3].run_id])])
    squeue(monkeypatch, "test -e ran || { touch ran; echo '1|RUNNING|100|n1|None|'; }")
    looks = [
        json.loads(it)
        for it in type_("status", "tiny", "--watch", "--every", 1, "--json").out.splitlines()
    ]
    assert [look["jobs_running"] for look in looks] == [1, 0]
    assert [look["jobs_lost"] for look in looks] == [0, 1]
    told = type_("status", "tiny", "--watch")
    assert len(told.out.splitlines()) == 1
    assert "0/12 recorded, jobs: 0 running, 0 waiting" in told.out
    assert type_("status", "tiny", "--watch", "--every", 0).code == 2


def test_collect_and_run_say_failures_by_kind(tiny: Prepared, type_: Type) -> None:
    journal(tiny, range(2, 12))
    journal(tiny, [0, 1], "failed", failure_kind="code")
    assert type_("collect", "tiny").out.endswith("12 of 12 planned runs, 2 failed (code 2)\n")
    told = type_("run", "tiny.yaml", "--resamples", 100)
    assert told.code == 1
    assert "2 of 12 runs failed (code 2; the report says why)" in told.err
