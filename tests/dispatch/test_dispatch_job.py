"""What a Slurm job runs: its part of the array's file, again while it makes progress."""

import os
import pickle
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from anynet_study.dispatch.job import MAX_STALLED_REQUEUES, Job, JobArray, array_file, run_task
from anynet_study.study_folder import StudyFolder


@dataclass(frozen=True)
class Said(Job):
    """A job that only notes its runs, and leaves by the signal of a time limit if it is told to."""

    def __call__(self) -> int:
        folder = Path(self.study_folder)
        with (folder / "said").open("a") as file:
            file.write(" ".join(self.run_ids) + "\n")
        if (folder / "leave").exists():
            (folder / "leave").unlink()
            signal.raise_signal(signal.SIGUSR2)
        return len(self.run_ids)


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Runs a task of an array of three, as in a Slurm job."""
    job = Said(str(tmp_path), "", "", ())
    JobArray(job, ("a b", "c", "d e f"), 60, 5).write(array_file(tmp_path, "token"))
    monkeypatch.setenv("SUBMITIT_EXECUTOR", "slurm")
    monkeypatch.setenv("SLURM_JOB_ID", "13")
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "12")
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGCONT)}
    usr2 = signal.getsignal(signal.SIGUSR2)

    def task(number: int) -> None:
        monkeypatch.setenv("SLURM_ARRAY_TASK_ID", str(number))
        try:
            run_task(tmp_path, "token")
        finally:
            for caught, handler in {**before, signal.SIGUSR2: usr2}.items():
                signal.signal(caught, handler)

    return task


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".sh")


def test_each_task_does_its_part_and_leaves_no_files(
    tmp_path: Path, task: Callable[[int], None]
) -> None:
    task(2)
    task(0)
    assert (tmp_path / "said").read_text() == "d e f\na b\n"
    assert names(tmp_path) == ["said", "token.pkl"]


def test_a_task_that_hits_its_time_limit_is_queued_again_and_goes_on(
    tmp_path: Path, task: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    requeued = tmp_path / "bin" / "scontrol"
    requeued.parent.mkdir()
    requeued.write_text(f"#!/bin/sh\necho $@ >>{tmp_path}/requeued\n")
    requeued.chmod(0o755)
    monkeypatch.setenv("PATH", f"{requeued.parent}:{os.environ['PATH']}")
    (tmp_path / "leave").touch()
    with pytest.raises(SystemExit):
        task(1)
    assert (tmp_path / "requeued").read_text() == "requeue 12_1\n"
    assert "12_1_submitted.pkl" in names(tmp_path)
    # A kill while submitit writes that file leaves another, at which it would stumble.
    (tmp_path / "12_1_submitted.pkl.save_tmp").write_bytes(b"half")
    task(1)
    assert (tmp_path / "said").read_text() == "c\nc\n"
    assert names(tmp_path) == ["bin", "requeued", "said", "token.pkl"]


def test_without_its_array_s_file_it_fails(tmp_path: Path, task: Callable[[int], None]) -> None:
    array_file(tmp_path, "token").unlink()
    with pytest.raises(FileNotFoundError):
        task(1)


def test_a_large_array_s_file_is_small(tmp_path: Path) -> None:
    ids = tuple(" ".join(f"{task:08x}{run:08x}" for run in range(50)) for task in range(1001))
    array = JobArray(Job("/s", "/d", "x" * 5000, ()), ids, 60, 5)
    array.write(tmp_path / "array.pkl")
    assert (tmp_path / "array.pkl").stat().st_size < 1.05 * 17 * 50 * 1001
    assert JobArray.read(tmp_path / "array.pkl") == array
    one = pickle.loads(pickle.dumps(array.submission(7)))
    assert one.function.run_ids == tuple(ids[7].split())


@pytest.fixture
def study(tmp_path: Path) -> StudyFolder:
    study = StudyFolder(tmp_path)
    study.journals.mkdir()
    study.checkpoints.mkdir()
    (study.journals / "elsewhere-7-1.arrow").touch()
    return study


def lives(job: Job) -> int:
    """How often it is queued again, of ten times that it is asked."""
    for times in range(10):
        again = job.checkpoint()
        if again is None:
            return times
        job = again.function
    return 10


def test_one_that_gets_nowhere_is_given_up(study: StudyFolder) -> None:
    job = Job(str(study.folder), "", "", ("a", "b"))
    before = psutil.Process().create_time() - 60
    for run in ("a", "other"):
        (study.checkpoints / f"{run}.pt").touch()
    os.utime(study.checkpoints / "a.pt", (before, before))  # of an earlier life
    assert lives(job) == MAX_STALLED_REQUEUES - 1


@pytest.mark.parametrize("what", ["journal", "checkpoint"])
def test_one_that_gets_on_always_comes_back(study: StudyFolder, what: str) -> None:
    path = study.new_journal() if what == "journal" else study.checkpoints / "b.pt"
    path.touch()
    job = Job(str(study.folder), "", "", ("a", "b"), stalled=MAX_STALLED_REQUEUES - 1)
    assert lives(job) == 10
    path.unlink()
    assert lives(job) == 0
