"""cancel and logs: with a Slurm made of scripts, and with workers of this machine."""

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from fake_slurm import slurm_job
from scripted_study import LIMIT, command, killed_at, of_runs, submitted
from test_dispatch_recorded import row
from tiny_study import Type

from anynet_study.engine.dispatch import ledger
from anynet_study.engine.dispatch.ledger import SubmittedJob
from anynet_study.engine.dispatch.opened import OpenStudy
from anynet_study.store import JournalWriter


def test_cancel_ends_the_jobs_that_bear_the_study_s_mark(tiny: OpenStudy, type_: Type) -> None:
    token = submitted(tiny, slice(0, 6), slice(6, 12))
    mark = f"anynet-study:{token}"
    command(
        "squeue",
        f"echo '7_0|RUNNING|100|n1|None|mine {mark}'; echo '7_1|PENDING|N/A||Priority|{mark}'\n"
        "echo '8|RUNNING|100|n1|None|anynet-study:0123456789ab'; echo '9|RUNNING|100|n1|None|'",
    )
    command("scancel", 'echo "$@" >> cancelled')
    told = type_("cancel", "tiny")
    assert (told.code, told.out) == (0, "cancelled: 1 running job, 1 waiting job\n")
    assert Path("cancelled").read_text().split() == ["7"]
    command("squeue", "true")
    assert type_("cancel", "tiny").out == "no job of studies/tiny runs or waits\n"
    assert Path("cancelled").read_text().split() == ["7"]
    (listed,) = json.loads(type_("list", "--json").out)
    assert (listed["state"], listed["recorded"]) == ("stopped", 0)


@pytest.mark.parametrize("comment", ["anynet-study:0123456789ab", ""])
def test_an_id_that_is_another_s_by_now_proves_nothing(
    tiny: OpenStudy, type_: Type, comment: str
) -> None:
    """As after a controller that lost its state: ids begin anew."""
    submitted(tiny, slice(0, 12))
    command("squeue", f"echo '7_0|RUNNING|100|n1|None|{comment}'")
    command("scancel", "touch cancelled")
    assert type_("cancel", "tiny").out == "no job of studies/tiny runs or waits\n"
    assert not Path("cancelled").exists()
    assert json.loads(type_("status", "tiny", "--json").out)["jobs"] == 0
    command("sbatch", "echo Submitted batch job 12")
    command("scontrol", "true")
    command("sinfo", "true")
    told = json.loads(type_("launch", "tiny.yaml", "--cluster", "slurm", "--json").out)
    assert (told["under_way"], told["submitted"]) == (0, 12)


def test_cancel_says_in_a_line_that_scancel_failed(tiny: OpenStudy, type_: Type) -> None:
    token = submitted(tiny, slice(0, 6))
    command("squeue", f"echo '7_0|RUNNING|100|n1|None|anynet-study:{token}'")
    command("scancel", "echo 'scancel: error: slurmctld is away' >&2; exit 1")
    told = type_("cancel", "tiny")
    assert told.code == 1
    assert "slurmctld is away" in told.line


@pytest.fixture
def worker() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that leaves when it is told to."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        yield process
        process.kill()


def test_cancel_waits_for_workers_of_this_machine(
    tiny: OpenStudy, type_: Type, worker: "subprocess.Popen[bytes]"
) -> None:
    entry = of_runs(worker.pid, tiny.plan[:3].ids())
    ledger.append(tiny.folder.jobs, [entry])
    assert type_("cancel", "tiny").out == "cancelled: 1 running job\n"
    assert not psutil.pid_exists(worker.pid) or worker.wait(60)
    assert type_("cancel", "tiny").out.startswith("no job")


def test_logs_finds_the_latest_job_that_was_at_a_run(tiny: OpenStudy, type_: Type) -> None:
    submitted(tiny, slice(0, 6), slice(6, 12))
    run = killed_at(tiny, "7_0", 2, err="a warning\n")
    log = tiny.folder.logs / "7_0_0_log.out"
    other = tiny.plan[3].run_id
    mixed = [f"{other} blobs a begins", f"{run} digits a completed", f"{other}: saved on SIGTERM"]
    log.write_text(log.read_text() + "\n".join(mixed))
    first = type_("logs", "tiny", run[:6])
    assert first.out == f"{run} digits a begins\n{run} digits a completed\n"
    assert first.err.endswith("7_0_0_log.err\n")
    slurm_job(tiny.folder.jobs, "9", [run])
    assert "7_0" in type_("logs", "tiny", run, "--path").out  # 9 has not begun
    killed_at(tiny, "9", 2, host="n5")
    assert type_("logs", "tiny", run, "--path").out == "studies/tiny/logs/9_0_log.out\n"
    assert type_("logs", "tiny", "9", "--lines", 1).out == f"{run} digits a begins\n"
    assert type_("logs", "tiny", "7_0", "--err").out == "a warning\n"
    (tiny.folder.logs / "7_0_0_log.err").write_text("")
    empty = type_("logs", "tiny", "7_0", "--err")
    assert (empty.out, empty.line) == ("", "studies/tiny/logs/7_0_0_log.err: nothing was written")


def test_logs_refuses_what_is_no_job_or_run_in_a_line(tiny: OpenStudy, type_: Type) -> None:
    submitted(tiny, slice(0, 6))
    for name in ("zzzz", tiny.plan[0].run_id[:3], ""):
        told = type_("logs", "tiny", name)
        assert told.code == 2
        assert "no job or run of studies/tiny" in told.line
    told = type_("logs", "tiny", "7_0")
    assert told.code == 1
    assert "has not begun" in told.line


def test_logs_says_how_many_runs_of_a_job_failed(tiny: OpenStudy, type_: Type) -> None:
    submitted(tiny, slice(0, 2), slice(2, 3))
    begun = (
        "submitit INFO - Starting with JobEnvironment(job_id=7_0, hostname=n1.site, node=0(1))\n"
    )
    (tiny.folder.logs / "7_0_0_log.out").write_text(begun)
    command("squeue", "true")
    how = {"status": "failed", "failure_kind": "code", "error": math.nan, "message": "boom"}
    with JournalWriter(tiny.folder.new_journal()) as writer:
        writer.append(row(**tiny.plan[0].named()))
        writer.append(row(**tiny.plan[1].named(), **how, started=time.time() + 1))
    job, _ = json.loads(type_("logs", "tiny", "--json").out)
    assert (job["state"], job["recorded"], job["runs"]) == ("done", 2, 2)
    assert job["note"] == "1 failed"


def test_logs_lists_jobs_and_how_they_ended(tiny: OpenStudy, type_: Type) -> None:
    token = submitted(tiny, slice(0, 1), slice(1, 3), slice(3, 5), slice(5, 7), slice(7, 9))
    mark = f"anynet-study:{token}"
    with JournalWriter(tiny.folder.new_journal()) as writer:
        writer.append(row(**tiny.plan[0].named()))
    begun = (
        "submitit INFO - Starting with JobEnvironment(job_id=7_0, hostname=n1.site, node=0(1))\n"
    )
    (tiny.folder.logs / "7_0_0_log.out").write_text(begun)
    killed_at(tiny, "7_1", 1, err=LIMIT)
    command(
        "squeue", f"echo '7_2|RUNNING|100|n3|None|{mark}'; echo '7_3|PENDING|N/A||Priority|{mark}'"
    )
    rows = json.loads(type_("logs", "tiny", "--json").out)
    assert [(it["job"], it["state"], it["note"]) for it in rows] == [
        ("7_0", "done", ""),
        ("7_1", "ended", "ended at the job's time limit"),
        ("7_2", "runs", ""),
        ("7_3", "waits", "Priority"),
        ("7_4", "ended", "never began"),
    ]
    assert rows[0]["host"] == "n1.site"
    with JournalWriter(tiny.folder.new_journal()) as writer:
        for run in tiny.plan[1:9]:
            writer.append(row(**run.named()))  # by other jobs
    rows = json.loads(type_("logs", "tiny", "--json").out)
    of_two = [(it["state"], it["note"], it["recorded"]) for it in (rows[1], rows[4])]
    notes = [
        f"{why}; by now all its runs are recorded"
        for why in ("ended at the job's time limit", "never began")
    ]
    assert of_two == [("ended", note, 2) for note in notes], "others did its runs"
    lines = type_("logs", "tiny", "--lines", 2).out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "the latest 2 of 5 jobs; more with --lines"
    command("squeue", "echo away >&2; exit 1")
    told = type_("logs", "tiny", "--json")
    assert [it["state"] for it in json.loads(told.out)] == ["done", *["ended"] * 4]
    assert "away" in told.line


def test_logs_says_where_a_worker_was_that_left_in_order(tiny: OpenStudy, type_: Type) -> None:
    job = SubmittedJob("n7-c0ffee-9", "none", "n7", 9.0)
    ledger.append(tiny.folder.jobs, [job])
    tiny.folder.logs.mkdir(exist_ok=True)
    job.log(tiny.folder.logs, "out").touch()
    (told,) = json.loads(type_("logs", "tiny", "--json").out)
    assert (told["state"], told["host"], told["note"]) == ("done", "n7", "")
