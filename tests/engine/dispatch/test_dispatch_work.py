"""Workers that come by themselves: nothing is lost, doubled or left, whatever happens to them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import anynet_study, environment
from tiny_study import TINY

from anynet_study.engine.dispatch import submitted_jobs
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.store import read_journals

pytestmark = pytest.mark.slow

FAKE = Path(__file__).parent / "fake_workers.py"
MANY = ("--cluster", "none", "population.count=40", "launch.attempts=100")


@pytest.fixture
def study(tmp_path: Path) -> StudyFolder:
    """A study of 120 runs."""
    (tmp_path / "tiny.yaml").write_text(TINY)
    told = anynet_study(tmp_path, "launch", "tiny.yaml", *MANY)
    assert "to start a worker, as often as you like: ANYNET_DATA=" in told.stdout
    return StudyFolder(tmp_path / "studies/tiny")


def work(study: StudyFolder, count: int, *options: object) -> dict[str, Any]:
    """What workers with a fake trainer say; all runs are recorded, and none twice as completed."""
    done = subprocess.run(
        [sys.executable, FAKE, study.folder, str(count), *map(str, options)],
        env=environment(study.folder.parents[1]),
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    rows = read_journals(study.journals).select(["run_id", "status"]).to_pylist()
    completed = [row["run_id"] for row in rows if row["status"] == "completed"]
    assert len(completed) == len(set(completed)) == told["recorded"] == 120
    assert told["failed"] == 0
    return told


def test_many_workers_share_a_study(study: StudyFolder) -> None:
    told = work(study, 6, "--seconds", 0.05)
    begun = [worker[0] for worker in told["workers"]]
    assert sum(begun) == 120
    assert sum(count > 0 for count in begun) > 3
    taken = [run for job in submitted_jobs(study.jobs) for run in job.runs]
    assert len(taken) == len(set(taken)) == 120


@pytest.mark.parametrize("apart", [[], ["--apart"]])
@pytest.mark.parametrize("seed", [0, 1])
def test_workers_are_killed_at_random(study: StudyFolder, apart: list[str], seed: int) -> None:
    told = work(study, 4, "--seconds", 0.3, "--kills", 20, "--seed", seed, *apart)
    assert told["killed"] == 20


def test_some_clocks_are_an_hour_ahead(study: StudyFolder) -> None:
    told = work(study, 4, "--seconds", 0.3, "--kills", 4, "--apart", "--ahead", 3600)
    assert told["killed"] == 4
