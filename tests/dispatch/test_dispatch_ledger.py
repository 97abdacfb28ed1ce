"""The ledger of submitted jobs: who is alive, whatever else is in the file."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from anynet_study.dispatch import ledger
from anynet_study.errors import WorkFailedError


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        yield process
        process.kill()


def test_a_process_is_alive_until_it_ends(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    path = tmp_path / "jobs.jsonl"
    job = ledger.local_job(str(sleeper.pid), ["a", "b"])
    ledger.append(path, [job])
    (live,) = ledger.live_jobs(path)
    assert (live.job, live.state, live.started) == (job, "running", job.started)
    sleeper.kill()
    psutil.Process(sleeper.pid).wait(10)
    assert ledger.live_jobs(path) == []


def test_a_reused_process_id_is_not_the_job(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    path = tmp_path / "jobs.jsonl"
    job = ledger.local_job(str(sleeper.pid), ["a"])
    ledger.append(path, [ledger.SubmittedJob(job.job_id, "local", job.host, 1.0, ("a",))])
    assert ledger.live_jobs(path) == []


def test_torn_lines_are_skipped(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    path = tmp_path / "jobs.jsonl"
    job = ledger.local_job(str(sleeper.pid), ["a"])
    ledger.append(path, [job])
    with path.open("a") as file:
        file.write('{"job_id": "1", "clu')
    assert list(ledger.read(path)) == [job]


def test_no_ledger_no_jobs(tmp_path: Path) -> None:
    assert ledger.live_jobs(tmp_path / "none") == []


def test_slurm_jobs_are_those_squeue_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "jobs.jsonl"
    ledger.append(path, [ledger.slurm_job(f"7_{n}", [str(n)]) for n in range(3)])
    squeue = tmp_path / "squeue"
    squeue.write_text(
        "#!/bin/sh\n"
        'test "$SLURM_TIME_FORMAT" = %s || exit 1\n'
        "echo '7_1|PENDING|N/A||Resources|anynet-a|b'\n"
        "echo '7_2|RUNNING|1795317349|node7|None|anynet-a|b'\n"
        "echo '99|RUNNING|1795317349|node8|None|other'\n"
    )
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    waits, runs = ledger.live_jobs(path)
    assert (waits.job.job_id, waits.state, waits.started) == ("7_1", "pending", None)
    assert waits.reason == "Resources"
    assert (runs.job.job_id, runs.state, runs.started) == ("7_2", "running", 1795317349.0)
    assert runs.host == "node7"


def test_jobs_whose_runs_are_recorded_are_not_asked_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "jobs.jsonl"
    ledger.append(path, [ledger.slurm_job("7_0", ["0", "1"])])
    monkeypatch.setenv("PATH", "")  # no squeue
    assert ledger.live_jobs(path, recorded={"0", "1", "2"}) == []
    with pytest.raises(WorkFailedError, match="squeue"):
        ledger.live_jobs(path, recorded={"0"})


def test_a_silent_squeue_is_not_taken_for_an_empty_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "jobs.jsonl"
    ledger.append(path, [ledger.slurm_job("7_0", ["0"])])
    squeue = tmp_path / "squeue"
    squeue.write_text("#!/bin/sh\nexit 1\n")
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(WorkFailedError, match="squeue"):
        ledger.live_jobs(path)
