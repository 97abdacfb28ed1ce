"""A study through a real Slurm (`tests/slurm.sh` starts one) whose nodes see the test's folder."""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import in_this_process, train

from anynet_study.store import stores_equal

RUNS = 8
SWEEP = """
population:
  space: {base: anynetx, depths: [1, 2], widths: [8, 32], stem: cifar, stem_width: 8}
  count: 4
  flops: [0.1e+6, 0.4e+6]
  resolution: 8
  classes: 10
source: digits
datasets: {digits: {}, gratings: {}}
recipes: {basic: {epochs: 1, warmup_epochs: 0}}
launch: {job_minutes: 0.005}  # some runs a job, by prediction
"""
#: Jobs stay pending until they are released: the queue is full for as long as a test likes.
HELD = ["--cluster", "slurm", "launch.slurm.additional_parameters.hold=true"]
LONGEST_WAIT = 240.0

pytestmark = [pytest.mark.slurm, pytest.mark.slow]


@pytest.fixture(scope="module", autouse=True)
def _cluster() -> None:
    """Skips without a Slurm that answers; in CI that is a failure."""
    try:
        subprocess.run(["sinfo"], capture_output=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        how = "export SLURM_CONF=$(tests/slurm.sh) starts one"
        reason = f"no Slurm can be reached ({how}): {error}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture
def sweep(tmp_path: Path, name: str) -> Path:
    path = tmp_path / "sweep.yaml"
    path.write_text(f"name: {name}\n{SWEEP}")
    return path


@pytest.fixture
def name() -> Iterator[str]:
    """A study's name that no other job on the cluster has; jobs left over are cancelled."""
    name = f"test-{os.getpid()}-{time.time_ns()}"
    yield name
    subprocess.run(["scancel", "--name", f"anynet-{name}"], check=True)


def launch(folder: Path, sweep: Path, *options: str) -> tuple[int, int, int]:
    """Runs recorded, under way and submitted, as `launch` says."""
    done = in_this_process(folder, "launch", sweep, *options)
    assert "sacct" not in done.stderr  # many sites refuse it: it must not be asked
    counts = re.search(r"(\d+) recorded, (\d+) under way, (\d+) submitted", done.stdout)
    assert counts, done.stdout
    recorded, under_way, submitted = map(int, counts.groups())
    return recorded, under_way, submitted


def status(folder: Path, name: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(in_this_process(folder, "status", name, "--json").stdout)
    return told


def queued(name: str) -> list[str]:
    """The ids of the study's jobs that Slurm has pending or running."""
    command = ["squeue", "--noheader", "--array", "--format=%i", "--name", f"anynet-{name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def wait_until_done(folder: Path, name: str) -> dict[str, Any]:
    deadline = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < deadline:
        now = status(folder, name)
        if not now["jobs"]:
            return now
        time.sleep(0.3)
    logs = "\n".join(path.read_text() for path in folder.glob("studies/*/logs/*.err"))
    pytest.fail(f"jobs are still queued: {now}\n{logs}")


def test_a_study_through_slurm_equals_a_local_one(tmp_path: Path, name: str, sweep: Path) -> None:
    cluster, local = tmp_path / "cluster", tmp_path / "local"
    cluster.mkdir()
    local.mkdir()

    assert launch(cluster, sweep, *HELD) == (0, 0, RUNS)  # returns, though no job has begun
    pending = queued(name)
    assert len(pending) > 1
    assert launch(cluster, sweep, *HELD) == (0, RUNS, 0)
    assert sorted(queued(name)) == sorted(pending)
    assert status(cluster, name)["jobs"] == len(pending)

    subprocess.run(["scontrol", "release", *pending], check=True)
    done = wait_until_done(cluster, name)
    assert (done["completed"], done["missing"]) == (RUNS, 0)
    assert launch(cluster, sweep, "--cluster", "slurm") == (RUNS, 0, 0)
    assert set(queued(name)) <= set(pending)  # the last worker may still be leaving; none is new

    in_this_process(cluster, "collect", name)
    train(local, sweep, name)
    stores = [folder / "studies" / name / "results.h5" for folder in (cluster, local)]
    assert stores_equal(*stores) == []


def test_only_the_runs_of_a_job_that_is_gone_are_submitted_again(
    tmp_path: Path, name: str, sweep: Path
) -> None:
    a_job_a_run = [*HELD, "launch.job_minutes=0.0001"]
    assert launch(tmp_path, sweep, *a_job_a_run) == (0, 0, RUNS)
    pending = queued(name)
    assert len(pending) == RUNS
    subprocess.run(["scancel", pending[1]], check=True)
    assert status(tmp_path, name)["jobs"] == RUNS - 1
    assert launch(tmp_path, sweep, *a_job_a_run) == (0, RUNS - 1, 1)
    assert len(queued(name)) == RUNS


def test_a_refusal_by_slurm_is_one_line(tmp_path: Path, sweep: Path) -> None:
    options = ["--cluster", "slurm", "launch.slurm.partition=no-such-partition"]
    refused = in_this_process(tmp_path, "launch", sweep, *options, expect=1)
    said = refused.stderr.splitlines()
    assert "invalid partition" in said[-1]
    assert sum("sbatch" in line for line in said) == 1
