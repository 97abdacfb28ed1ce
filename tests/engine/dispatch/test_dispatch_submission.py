"""Submission to a Slurm that has limits, refuses, and whose launcher is killed at any point."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command import command
from fake_slurm import FakeSlurm
from submitit.helpers import DelayedSubmission
from tiny_study import RUNS, TINY, Type, typing_in

from anynet_study.engine.dispatch import ledger
from anynet_study.engine.dispatch.ledger import submissions
from anynet_study.engine.dispatch.work import Task
from anynet_study.engine.study_folder import StudyFolder

#: A job a run.
SHORT = ["--cluster", "slurm", "launch.job_minutes=0.00001"]
Launch = Callable[..., dict[str, int]]


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    return FakeSlurm(tmp_path / "slurm", monkeypatch)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packed once for all tests."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def typed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Type:
    (tmp_path / "tiny.yaml").write_text(TINY)
    (tmp_path / "data").symlink_to(data)
    return typing_in(tmp_path, monkeypatch, capsys)


@pytest.fixture
def launch(typed: Type) -> Launch:
    def launch(*arguments: str) -> dict[str, int]:
        told = typed("launch", "tiny.yaml", *SHORT, *arguments, "--json")
        assert told.code == 0, told
        counts: dict[str, int] = json.loads(told.out)
        return counts

    return launch


@pytest.fixture
def study(tmp_path: Path) -> StudyFolder:
    return StudyFolder(tmp_path / "studies" / "tiny")


def runs_of(jobs: list[ledger.SubmittedJob]) -> list[str]:
    return [run for job in jobs for run in job.runs]


@pytest.mark.slow
def test_arrays_are_no_larger_than_the_site_s(slurm: FakeSlurm, launch: Launch, study: StudyFolder):
    slurm.set(max_array=5)
    assert launch()["jobs"] == RUNS
    assert slurm.option("array") == ["0-4%5", "0-4%5", "0-1%2"]
    assert [job.job_id for job in ledger.submitted_jobs(study.jobs)] == slurm.queue
    assert len(set(runs_of(list(ledger.submitted_jobs(study.jobs))))) == RUNS
    assert launch()["under_way"] == RUNS
    slurm.forget()
    assert launch()["submitted"] == RUNS


@pytest.mark.slow
def test_without_arrays_there_are_single_jobs(slurm: FakeSlurm, launch: Launch, study: StudyFolder):
    slurm.set(max_array=0)
    assert launch()["jobs"] == RUNS
    assert slurm.option("array") == [None] * RUNS
    assert slurm.queue == [str(number) for number in range(1, RUNS + 1)]
    assert launch("launch.slurm.array_parallelism=2")["under_way"] == RUNS


def test_arrays_of_a_launch_share_its_parallelism(slurm: FakeSlurm, launch: Launch):
    slurm.set(max_array=5)
    launch("launch.slurm.array_parallelism=3", "launch.slurm.dependency=afterok:99")
    assert slurm.option("array") == ["0-4%3", "0-4%3", "0-1%2"]
    chained = ["afterok:99", "afterok:99,afterany:1", "afterok:99,afterany:2"]
    assert slurm.option("dependency") == chained


@pytest.mark.slow
def test_what_there_is_no_room_for_is_left_for_later(
    slurm: FakeSlurm, typed: Type, launch: Launch, study: StudyFolder
):
    slurm.set(max_submit=7)
    told = typed("launch", "tiny.yaml", *SHORT)
    assert told.code == 0
    first, second = told.out.splitlines()
    assert f"{RUNS} runs: 0 recorded, 0 under way, 7 submitted in 7 jobs" in first
    assert second.startswith(
        "5 jobs (5 runs) are left, because Slurm takes no more now (AssocMaxSub"
    )
    assert len(slurm.queue) == 7
    assert told.err.count("sbatch") == 0
    in_order = runs_of(list(ledger.submitted_jobs(study.jobs)))
    slurm.set(max_submit=1000)
    counts = launch()
    assert [counts[it] for it in ("under_way", "submitted", "jobs", "jobs_left")] == [7, 5, 5, 0]
    slurm.forget()
    launch()
    again = runs_of(list(ledger.submitted_jobs(study.jobs)))[RUNS:]
    assert again[:7] == in_order  # the first rows were queued first


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("Job violates accounting/QOS policy (...)", ""),  # jobs of others may leave room later
        ("no partition fast", "; anynet-study doctor shows what this site has"),
    ],
)
def test_other_refusals_are_failures_in_one_line(
    slurm: FakeSlurm, typed: Type, study: StudyFolder, words: str, hint: str
):
    slurm.set(max_submit=0, refusal=f"sbatch: error: {words}\n")
    told = typed("launch", "tiny.yaml", *SHORT)
    assert told.code == 1
    assert told.err.splitlines()[-1] == f"failed: sbatch: {words}{hint}"
    assert list(submissions(study.jobs)) == []
    assert list(study.logs.iterdir()) == []  # nor what submitit wrote


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before_queue", "after_queue"])
def test_a_launcher_killed_at_sbatch_is_followed_by_another(
    slurm: FakeSlurm, launch: Launch, study: StudyFolder, tmp_path: Path, moment: str
):
    slurm.set(max_array=4, **{moment: 'test "$(cat "$FAKE/last")" = 2 && kill -9 $1\n'})
    killed = subprocess.run(command("launch", "tiny.yaml", *SHORT), cwd=tmp_path)
    assert killed.returncode == -signal.SIGKILL
    queued, orphans = 8, 2  # the dead launcher's sbatch lives on
    until = time.monotonic() + 30
    while len(slurm.queue) < queued and time.monotonic() < until:
        time.sleep(0.05)
    assert len(slurm.queue) == queued
    slurm.set(**{moment: ""})
    told = launch()
    assert (told["under_way"], told["submitted"]) == (queued, RUNS - queued)
    jobs = list(ledger.submitted_jobs(study.jobs))
    assert sorted(job.job_id for job in jobs) == sorted(slurm.queue)
    assert len(set(runs_of(jobs))) == RUNS
    # submitit has not put there what they call, so they do it themselves.
    script = next(it for number, it in slurm.scripts.items() if number == orphans)
    (line,) = [it for it in script.splitlines() if it.startswith("cp ")]
    of_job = {"SLURM_ARRAY_JOB_ID": str(orphans), "SLURM_ARRAY_TASK_ID": "2", "SLURM_JOB_ID": "9"}
    called = study.logs / f"{orphans}_2_submitted.pkl"
    assert not called.exists()
    subprocess.run(["sh", "-c", line], env={**os.environ, **of_job}, check=True)
    assert DelayedSubmission.load(called).function == Task(
        str(study.folder), re.findall("anynet-study:(.*)", script)[0]
    )


@pytest.mark.slow
def test_two_launches_at_once_where_locks_do_not_work(
    slurm: FakeSlurm, launch: Launch, study: StudyFolder, tmp_path: Path
):
    slurm.set(max_array=5)
    without_locks = (
        "import errno, fcntl\n"
        "def flock(*_): raise OSError(errno.ENOLCK, 'No locks available')\n"
        "fcntl.flock = flock\n"
        "from anynet_study.cli import main; main()"
    )
    arguments = [sys.executable, "-c", without_locks, "launch", "tiny.yaml", *SHORT]
    both = [subprocess.Popen(arguments, cwd=tmp_path) for _ in range(2)]
    assert [each.wait(120) for each in both] == [0, 0]
    assert launch()["under_way"] == RUNS
    # Whichever jobs there are, all are known; each run is in one at least.
    jobs = list(ledger.submitted_jobs(study.jobs))
    assert sorted(job.job_id for job in jobs) == sorted(slurm.queue)
    assert len(set(runs_of(jobs))) == RUNS


def test_an_answer_that_never_came_is_looked_up(slurm: FakeSlurm, typed: Type, launch: Launch):
    """Slurm took the job, but said so too late."""
    late = "echo 'sbatch: error: Socket timed out on send/recv operation' >&2; kill -9 $PPID\n"
    slurm.set(after_queue=late.replace("$PPID", "$(ps -o ppid= $$)"))
    told = typed("launch", "tiny.yaml", *SHORT)
    assert told.code == 1
    assert "timed out" in told.err.splitlines()[-1] or "exit code" in told.err.splitlines()[-1]
    slurm.set(after_queue="")
    assert launch()["under_way"] == RUNS


@pytest.mark.slow
def test_litter_is_removed_once_no_job_is_alive(
    slurm: FakeSlurm, launch: Launch, study: StudyFolder
):
    launch()
    (study.logs / "1_0_0_log.out").touch()
    (study.code / "an-older-one").mkdir()
    os.utime(study.code / "an-older-one", (1.0, 1.0))
    launch()
    assert len(list(study.code.iterdir())) == 2
    slurm.forget()
    old = list(study.logs.iterdir())
    for path in old:
        os.utime(path, (1.0, 1.0))
    launch()
    assert len(list(study.code.iterdir())) == 1
    assert [path.name for path in old if path.exists()] == ["1_0_0_log.out"]
    there = {path.name.replace(path.stem, "*") for path in study.logs.iterdir()}
    assert there == {"*.out", "*.pkl", "*.sh"}


def test_a_worker_that_came_by_itself_keeps_no_run_from_slurm(
    slurm: FakeSlurm, launch: Launch, study: StudyFolder
):
    launch()
    slurm.forget()
    ledger.append(study.jobs, [ledger.arrival(os.getpid())])
    assert launch()["submitted"] == RUNS


def test_what_jobs_execute_is_nobody_else_s_to_change(
    slurm: FakeSlurm, launch: Launch, study: StudyFolder
):
    before = os.umask(0o002)
    try:
        launch()
    finally:
        os.umask(before)
    executed = [*study.logs.glob("*.pkl"), *study.logs.glob("*.sh"), *study.jobs.iterdir()]
    assert len(executed) > RUNS
    assert {path.stat().st_mode & 0o022 for path in executed} == {0}
    assert "\numask 002\n" in slurm.scripts[1]  # results are for all whom the user lets


def test_a_shell_inside_a_job_passes_nothing_on(
    slurm: FakeSlurm, launch: Launch, monkeypatch: pytest.MonkeyPatch
):
    of_its_job = ["SLURM_CPU_BIND", "SLURM_JOB_ID", "SLURM_MEM_PER_NODE", "SLURMD_NODENAME"]
    of_its_job += ["SRUN_CPUS_PER_TASK", "SBATCH_CPU_BIND", "SBATCH_MEM_BIND", "SBATCH_TIMELIMIT"]
    of_its_job += ["CUDA_VISIBLE_DEVICES", "SUBMITIT_EXECUTOR"]
    for name in of_its_job:
        monkeypatch.setenv(name, "7")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm.conf")
    monkeypatch.setenv("SBATCH_ACCOUNT", "physics")
    monkeypatch.setenv("SBATCH_PARTITION", "short")
    launch("launch.slurm.partition=main")
    theirs = slurm.environment(1)
    ours = ("SLURM", "SBATCH", *of_its_job)
    kept = {name: theirs[name] for name in theirs if name.startswith(ours)}
    assert kept == {"SLURM_CONF": "/etc/slurm.conf", "SBATCH_ACCOUNT": "physics"}


def test_no_sbatch_no_study(typed: Type, study: StudyFolder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    told = typed("launch", "tiny.yaml", *SHORT)
    assert told.code == 2
    assert "there is no sbatch here" in told.err.splitlines()[-1]
    assert not study.folder.exists()
