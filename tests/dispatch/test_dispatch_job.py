"""What a worker's process does: its part of a job's file, and again where it is interrupted."""

import json
import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from anynet_study.dispatch.job import MAX_STALLED_REQUEUES, Job, job_file, run_task
from tiny_study import TINY

from anynet_study.dispatch.process import NOTED, Interruption
from anynet_study.dispatch.recorded import Retry
from anynet_study.errors import WorkFailedError
from anynet_study.study_folder import StudyFolder

TASKS = ("a b", "c", "d e f")
Task = Callable[..., None]


class Worker:
    """Stands for training: notes its runs; may be warned of its end, and may make progress."""

    def __init__(self, study: StudyFolder) -> None:
        self.study, self.done = study, list[str]()
        self.warned, self.saves, self.records = False, "", False

    def train(
        self, study: StudyFolder, _: object, runs: Iterable[str], retries: object, stop: object
    ) -> None:
        assert (study.folder, retries) == (self.study.folder, {"a": Retry(2, 1)})
        assert list(study.logs.glob("12_*_0_alive")), "it gives no sign of life"
        self.done.append(" ".join(runs))
        if self.saves:
            (study.checkpoints / f"{self.saves}.pt").touch()
        if self.records:
            study.new_journal().touch()
        if self.warned:
            signal.raise_signal(signal.SIGUSR2)


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Worker:
    study = StudyFolder(tmp_path / "study")
    for folder in (study.logs, study.journals, study.checkpoints):
        folder.mkdir(parents=True)
    (study.journals / "elsewhere-7-1.arrow").touch()
    (study.checkpoints / "b.pt").touch()
    os.utime(study.checkpoints / "b.pt", (1.0, 1.0))  # of an earlier life
    job = Job(str(study.folder), "", TINY, TASKS, {"a": Retry(2, 1)}, most_requeues=5)
    job.write(job_file(study.logs, "token"))
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(f"#!/bin/sh\necho $@ >>{tmp_path}/requeued\n")
    scontrol.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "13")
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "12")
    worker = Worker(study)
    monkeypatch.setattr("anynet_study.dispatch.worker.train_runs", worker.train)
    return worker


@pytest.fixture
def task(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> Task:
    def task(number: int = 0) -> None:
        monkeypatch.setenv("SLURM_ARRAY_TASK_ID", str(number))
        run_task(worker.study.logs, "token")

    return task


def test_each_task_does_its_part_and_leaves_no_files(worker: Worker, task: Task) -> None:
    task(2)
    task(0)
    assert worker.done == ["d e f", "a b"]
    assert [path.name for path in worker.study.logs.iterdir()] == ["token.json"]


def test_one_that_is_warned_of_its_end_comes_back(
    worker: Worker, task: Task, tmp_path: Path
) -> None:
    worker.warned = True
    task(1)
    assert (tmp_path / "requeued").read_text() == "requeue 12_1\n"
    worker.warned = False
    task(1)
    assert worker.done == ["c", "c"]
    assert (tmp_path / "requeued").read_text() == "requeue 12_1\n"
    assert [path.name for path in worker.study.logs.iterdir()] == ["token.json"]


def lives(task: Task) -> int:
    """How often it is queued again, of ten times that it is warned."""
    for times in range(10):
        try:
            task()
        except WorkFailedError:
            return times
    return 10


def test_one_that_gets_nowhere_is_given_up(worker: Worker, task: Task) -> None:
    worker.warned, worker.saves = True, "other"  # no run of its own
    assert lives(task) == MAX_STALLED_REQUEUES - 1


@pytest.mark.parametrize("change", [{"saves": "b"}, {"records": True}])
def test_one_that_gets_on_comes_back_as_often_as_it_may(
    worker: Worker, task: Task, change: dict[str, object]
) -> None:
    vars(worker).update(change, warned=True)
    assert lives(task) == 5


def test_what_a_worker_reads_is_small_and_its_user_s_alone(tmp_path: Path) -> None:
    ids = tuple(" ".join(f"{task:08x}{run:08x}" for run in range(50)) for task in range(1001))
    job, path = Job("/s", "/d", "x" * 5000, ids, {"a": Retry(1, 2)}, 7), tmp_path / "job.json"
    umask = os.umask(0)
    try:
        job.write(path)
    finally:
        os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_size < 1.05 * 17 * 50 * 1001
    again = Job.read(path)
    assert (again.retries, again.launcher) == (job.retries, 7)
    assert tuple(again.tasks) == ids
    assert json.loads(path.read_text())["study_folder"] == "/s"


def test_what_goes_wrong_is_told_in_the_log(
    worker: Worker, task: Task, capsys: pytest.CaptureFixture[str]
) -> None:
    job_file(worker.study.logs, "token").unlink()
    with pytest.raises(FileNotFoundError):
        task(1)
    began, ended = capsys.readouterr().out.splitlines()
    assert began.startswith("worker began (20")
    assert ended == "the worker triggered an exception"


@pytest.mark.parametrize("number", NOTED)
def test_each_signal_is_noted_and_handlers_are_put_back(number: signal.Signals) -> None:
    at_first = signal.signal(number, signal.default_int_handler)
    try:
        before = [signal.getsignal(each) for each in NOTED]
        interruption = Interruption()
        assert not interruption.requested()
        with interruption.listening():
            signal.raise_signal(number)
            assert interruption.requested()
        assert interruption.signal == number
        assert [signal.getsignal(each) for each in NOTED] == before
    finally:
        signal.signal(number, at_first)


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        interruption = Interruption()
        with interruption.listening():
            signal.raise_signal(signal.SIGINT)
        assert not interruption.requested()
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
