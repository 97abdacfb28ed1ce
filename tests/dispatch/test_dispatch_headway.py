"""A job that gets on is queued again any number of times, one that does not a few times."""

import os
from pathlib import Path

import psutil
import pytest

from anynet_study.dispatch.job import MOST_STALLED, Job
from anynet_study.study_folder import StudyFolder


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
    assert lives(job) == MOST_STALLED - 1


@pytest.mark.parametrize("what", ["journal", "checkpoint"])
def test_one_that_gets_on_always_comes_back(study: StudyFolder, what: str) -> None:
    path = study.new_journal() if what == "journal" else study.checkpoints / "b.pt"
    path.touch()
    job = Job(str(study.folder), "", "", ("a", "b"), stalled=MOST_STALLED - 1)
    assert lives(job) == 10
    path.unlink()
    assert lives(job) == 0
