"""The ledger of submitted jobs: who is alive, whatever else is in the file."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from fake_slurm import program, slurm_job
from scripted_study import of_runs

from anynet_study.core.errors import UserError, WorkFailedError
from anynet_study.engine.dispatch import ledger
from anynet_study.engine.dispatch.ledger import Call
from anynet_study.engine.dispatch.recorded import Retry
from anynet_study.engine.dispatch.worker_state import SILENT, alive_file
from anynet_study.engine.study_folder import StudyFolder


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        yield process
        process.kill()


def test_a_process_is_alive_until_it_ends(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    study = StudyFolder(tmp_path)
    path = study.jobs
    job = of_runs(sleeper.pid, ["a", "b"])
    ledger.append(path, [job])
    assert job.job_id == ledger.arrival(sleeper.pid).job_id
    assert re.fullmatch(rf"{socket.gethostname()}-[0-9a-f]{{6}}-{sleeper.pid}", job.job_id)
    (live,) = ledger.live_jobs(StudyFolder(tmp_path))
    assert (live.job, live.state, live.started) == (job, "running", job.started)
    sleeper.kill()
    psutil.Process(sleeper.pid).wait(10)
    assert ledger.live_jobs(StudyFolder(tmp_path)) == []


def test_a_worker_is_known_whatever_the_clock_does_and_whoever_has_its_id_later(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    job = of_runs(sleeper.pid, ["a"])
    assert replace(job, started=job.started - 3600.0).process  # the clock was set
    assert not replace(job, mark=f"{job.mark}0").process  # another one, or after another boot
    before_marks, study = replace(job, mark=""), StudyFolder(tmp_path)
    study.logs.mkdir()
    ledger.append(study.jobs, [before_marks])
    assert ledger.live_jobs(study) == []
    alive_file(study.logs, job.job_id).touch()
    assert [it.job for it in ledger.live_jobs(study)] == [before_marks]


@pytest.mark.parametrize("host", [socket.gethostname(), "elsewhere"])
def test_workers_of_other_machines_and_containers_live_while_they_give_signs_of_life(
    tmp_path: Path, sleeper: subprocess.Popen[bytes], host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the clock of the file system: this machine's is an hour ahead."""
    monkeypatch.setattr("time.time", lambda now=time.time: now() + 3600.0)
    study = StudyFolder(tmp_path)
    study.logs.mkdir()
    job = replace(of_runs(sleeper.pid, ["a"]), host=host, mark="another-boot/pid:[1] 7")
    ledger.append(study.jobs, [job])
    assert ledger.live_jobs(study) == []
    alive = alive_file(study.logs, job.job_id)
    alive.touch()
    assert [it.job for it in ledger.live_jobs(study)] == [job]
    earlier = alive.stat().st_mtime - SILENT - 1
    os.utime(alive, (earlier, earlier))
    assert ledger.live_jobs(study) == []


def test_a_worker_that_came_by_itself_has_the_runs_that_it_took(tmp_path: Path) -> None:
    study = StudyFolder(tmp_path)
    study.logs.mkdir()
    first = ledger.arrival(os.getpid())
    ledger.append(study.jobs, [first])
    for runs in (["a"], ["b", "c"]):
        ledger.note_taken(study.jobs, first.job_id, runs)
    ledger.append(study.jobs, [ledger.arrival(os.getpid())])  # by itself, and by who started it
    (job,) = ledger.submitted_jobs(study.jobs)
    assert job == replace(first, run_ids="a b c")
    assert [it.job for it in ledger.live_jobs(study, recorded="abc")] == [job]  # it may take more


def test_retries_that_were_asked_for_stay_asked_for(tmp_path: Path) -> None:
    assert ledger.last_call(tmp_path) is None
    ledger.call_workers(tmp_path, Call(data_root="/a", runs=["x"], retries={"x": Retry(1)}))
    ledger.call_workers(tmp_path, Call(data_root="/b", runs=["y"], retries={"y": Retry(3, 1)}))
    call = ledger.last_call(tmp_path)
    assert call == Call(data_root="/b", runs=["x", "y"], retries={"x": Retry(1), "y": Retry(3, 1)})
    assert list(ledger.submissions(tmp_path)) == []


def test_a_torn_line_is_skipped(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    job = of_runs(sleeper.pid, ["a"])
    ledger.append(tmp_path, [job])
    (tmp_path / "0-elsewhere-7.jsonl").write_text('{"job": "1", "clu')
    assert list(ledger.submitted_jobs(tmp_path)) == [job]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "3",
        '{"job": 3, "runs": 1}',
        '{"job": "a", "runs": "b"}',
        '{"token": "a", "at": "x", "tasks": ["a"]}',
        "\xff",
    ],
)
def test_what_launch_does_not_write_is_one_clear_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "1-host-7.jsonl"
    path.write_bytes(line.encode("latin-1") + b"\n")
    with pytest.raises(UserError, match=r"1-host-7.jsonl: line 1 is none that launch writes"):
        list(ledger.submissions(tmp_path))
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UserError, match="no regular file"):
        list(ledger.submissions(tmp_path))


def test_no_ledger_no_jobs(tmp_path: Path) -> None:
    assert ledger.live_jobs(StudyFolder(tmp_path / "none")) == []


Squeue = Callable[..., None]


@pytest.fixture
def squeue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Squeue:
    """Sets what squeue lists: lines of id|state|start|nodes|reason|comment."""

    def lists(*lines: str) -> None:
        (tmp_path / "listed").write_text("".join(f"{line}\n" for line in lines))

    (tmp_path / "bin").mkdir()
    told = f'test "$SLURM_TIME_FORMAT" = %s && cat {tmp_path}/listed'
    program(tmp_path / "bin", "squeue", told)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    return lists


def ids(live: Sequence[ledger.LiveJob]) -> list[tuple[str, tuple[str, ...]]]:
    return [(each.job.job_id, each.job.runs) for each in live]


def test_tasks_of_an_array_have_its_id(tmp_path: Path, squeue: Squeue) -> None:
    path = tmp_path / "jobs"
    token = ledger.intend(path, ["a b", "c", "d e f"])
    ledger.settle(path, token, "12")
    assert ledger.submission(path, token).all_runs == ("a b", "c", "d e f")
    with pytest.raises(UserError, match="submission c0ffee any more"):
        ledger.submission(path, "c0ffee")
    assert [job.job_id for job in ledger.submitted_jobs(path)] == ["12_0", "12_1", "12_2"]
    mark = f"anynet-study:{token}"
    squeue(
        f"12_2|PENDING|N/A||Priority|{mark}", f"12_0|RUNNING|7|n1|None|{mark}", "13_1|RUNNING|7|||"
    )
    assert ids(ledger.live_jobs(StudyFolder(tmp_path))) == [
        ("12_2", ("d", "e", "f")),
        ("12_0", ("a", "b")),
    ]
    assert ids(ledger.live_jobs(StudyFolder(tmp_path), recorded=["a", "b", "e"])) == [
        ("12_2", ("d", "e", "f"))
    ]


@pytest.mark.parametrize("is_array", [True, False])
def test_an_intention_whose_launcher_was_killed_is_found_by_its_token(
    tmp_path: Path, squeue: Squeue, is_array: bool
) -> None:
    path = tmp_path / "jobs"
    submitted = ledger.intend(path, ["a b"], is_array)
    ledger.intend(path, ["c"], is_array)  # its launcher died before sbatch
    job_id = "5_0" if is_array else "5"
    squeue(f"{job_id}|PENDING|N/A||Priority|mine, anynet-study:{submitted}")
    assert list(ledger.submitted_jobs(path)) == []
    assert ids(ledger.live_jobs(StudyFolder(tmp_path))) == [(job_id, ("a", "b"))]
    ledger.adopt(path)
    assert [job.job_id for job in ledger.submitted_jobs(path)] == [job_id]
    squeue()
    assert ledger.live_jobs(StudyFolder(tmp_path)) == []


@pytest.mark.slow
def test_launchers_at_the_same_time_write_files_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    script = (
        "import sys; from pathlib import Path; from anynet_study.engine.dispatch import ledger\n"
        "for n in range(50):\n"
        "    run = f'{sys.argv[1]}-{n}'\n"
        "    token = ledger.intend(Path(sys.argv[2]), [run] * 200)\n"
        "    ledger.settle(Path(sys.argv[2]), token, run)\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", script, name, path]) for name in "xy"]
    assert [each.wait(300) for each in both] == [0, 0]
    told = {entry.job: entry.tasks for entry in ledger.submissions(path)}
    assert told == {f"{name}-{n}": (f"{name}-{n}",) * 200 for name in "xy" for n in range(50)}


def test_jobs_whose_runs_are_recorded_are_not_asked_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "jobs"
    slurm_job(path, "7", ["0", "1"])
    monkeypatch.setenv("PATH", "")  # no squeue
    assert ledger.live_jobs(StudyFolder(tmp_path), recorded={"0", "1", "2"}) == []
    with pytest.raises(WorkFailedError, match="squeue"):
        ledger.live_jobs(StudyFolder(tmp_path), recorded={"0"})


def test_a_silent_squeue_is_not_taken_for_an_empty_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "jobs"
    slurm_job(path, "7", ["0"])
    program(tmp_path, "squeue", "exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(WorkFailedError, match="squeue"):
        ledger.live_jobs(StudyFolder(tmp_path))
