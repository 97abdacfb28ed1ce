"""Runs that fail and workers that are killed: the rest goes on, and every failure is a row."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

import psutil
import pytest
from command import command, environment, in_this_process, train, train_here
from tiny_study import TINY, images

from anynet_study.engine.dispatch import local, open_sweep
from anynet_study.store import read_journals

pytestmark = pytest.mark.slow

#: One worker, and runs of half a second: time for things to go wrong.
SLOW = [
    "datasets={digits: {per_class: 100}, blobs: {per_class: 100}}",
    "recipes.basic.epochs=2",
    "population.count=2",
    "launch.workers=1",
    "launch.attempts=1",
]


Found = TypeVar("Found")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With data that is packed: it takes as long as a run."""
    (tmp_path / "tiny.yaml").write_text(TINY)
    in_this_process(tmp_path, "launch", "tiny.yaml", "--dry-run")
    return tmp_path


@contextmanager
def under_way(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A study that is being run."""
    with subprocess.Popen(
        command("run", "tiny.yaml", *SLOW, "--resamples", 100),
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def waited_for(process: "subprocess.Popen[str]", found: Callable[[], Found | None]) -> Found:
    """What `found` gives once that is something, while the process runs."""
    until = time.monotonic() + 600
    while time.monotonic() < until and process.poll() is None:
        if there := found():
            return there
        time.sleep(0.02)
    pytest.fail(f"exit {process.returncode}: {process.communicate()}")


def worker_at(
    folder: Path, process: "subprocess.Popen[str]", wanted: str, killed: set[str]
) -> tuple[psutil.Process, str]:
    """A worker, none of those `killed`, as soon as it is at a run on a dataset, or at a run.

    With the id of the run. It is suspended: however busy the machine is, it stays at that run.
    """

    def at(path: Path) -> str:
        words = (path.read_text().splitlines() or [""])[-1].split()
        return words[0] if wanted in words[:2] and words[-1] == "begins" else ""

    def found() -> tuple[psutil.Process, str] | None:
        for path in folder.glob("studies/tiny/logs/*_0_log.out"):
            if path.name in killed or not at(path):
                continue
            job = path.name.removesuffix("_0_log.out")
            worker = psutil.Process(int(job.rpartition("-")[2]))
            worker.suspend()
            if run := at(path):
                killed.add(path.name)
                return worker, run
            worker.resume()  # the run has just ended
        return None

    return waited_for(process, found)


def failures(folder: Path) -> list[dict[str, str]]:
    columns = "dataset,architecture,failure_kind,message"
    told = in_this_process(
        folder, "query", "tiny", "--where", "status = 'failed'", "--columns", columns, "--json"
    )
    rows: list[dict[str, str]] = json.loads(told.stdout)
    return rows


def test_data_damaged_under_way_fail_the_runs_that_need_them(folder: Path) -> None:
    with under_way(folder) as process:
        worker, _ = worker_at(folder, process, "digits", set())
        pixels = folder / "data/blobs/train_images.npy"
        whole = pixels.read_bytes()
        pixels.write_bytes(whole[: len(whole) // 2])
        worker.resume()
        _, said = process.communicate(timeout=300)
    assert process.returncode == 1
    assert said.splitlines()[-1].startswith("failed: 2 of 4 runs failed (data 2; the report says")
    assert "Traceback" not in said
    pixels.write_bytes(whole)
    rows = failures(folder)
    assert [(row["dataset"], row["failure_kind"]) for row in rows] == [("blobs", "data")] * 2
    assert all("train_images.npy: damaged dataset (" in row["message"] for row in rows)
    assert "damaged dataset" in (folder / "studies/tiny/report/report.html").read_text()
    again = [*SLOW, "--resamples", 100, "--retry-failed"]
    in_this_process(folder, "run", "tiny.yaml", *again)
    assert failures(folder) == []


def test_a_killed_worker_is_replaced_and_a_run_that_kills_is_given_up(folder: Path) -> None:
    with under_way(folder) as process:
        killed: set[str] = set()
        worker_at(folder, process, "digits", killed)[0].kill()
        worker, run = worker_at(folder, process, "blobs", killed)
        worker.kill()
        worker_at(folder, process, run, killed)[0].kill()
        _, said = process.communicate(timeout=300)
    assert process.returncode == 1
    assert said.splitlines()[-1].startswith("failed: 1 of 4 runs failed")
    (row,) = failures(folder)
    assert (row["dataset"], row["failure_kind"]) == ("blobs", "node")
    assert row["message"] == "its workers were killed, perhaps for want of memory"
    # Another try is one more than launch.attempts, unless more are allowed.
    more = [*SLOW, "launch.attempts=2", "--resamples", 100]
    done = in_this_process(folder, "run", "tiny.yaml", *more)
    assert "training: 3/4" in done.stderr
    assert failures(folder) == []


def test_workers_that_end_with_a_killed_launcher_are_followed_by_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given again at once, `run` meets the workers of the launcher that was killed: they go."""
    left = SimpleNamespace(job=SimpleNamespace(is_of_here=True))
    live, started = [left, left], []

    def follow(training: local._LocalTraining, count: int) -> None:
        started.append(count)
        live.clear()
        if count:
            train_here(training.study, training.sweep, training.plan)

    monkeypatch.setattr(local.ledger, "live_jobs", lambda *_: live)
    monkeypatch.setattr(local._LocalTraining, "follow", follow)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ANYNET_DATA", str(folder / "data"))
    study = open_sweep(Path("tiny.yaml"), ["population.count=1", "launch.workers=2"])
    study.begin()
    local.train_all(study.folder, study.sweep, study.plan)
    assert started == [0, 2]
    assert len(read_journals(study.folder.journals)) == 3


def test_a_dataset_of_other_content_is_other_data(folder: Path) -> None:
    images(folder / "once", {"cat": 9, "dog": 9})
    images(folder / "later", {"cat": 12, "dog": 12})
    add = ["data", "add", "pets", "--size", 8, "--from"]
    in_this_process(folder, *add, "once")
    sweep = ["datasets={digits: {per_class: 20}, pets: {}}", "population.count=2"]
    train(folder, "tiny.yaml", *sweep)
    in_this_process(folder, *add, "later", "--force")
    told = train(folder, "tiny.yaml", *sweep)
    assert "note: 2 recorded runs are not of this sweep as it is now" in told.stderr
    assert "4 of 4 planned runs, 0 failed" in told.stdout
    (folder / "data/pets").rename(folder / "pets.away")
    refused = in_this_process(folder, "run", "tiny.yaml", *sweep, expect=2)
    assert refused.stderr.startswith("error: no dataset 'pets' in ")
    assert "4 of 4 planned runs" in in_this_process(folder, "collect", "tiny").stdout
    assert "digits" in in_this_process(folder, "query", "tiny").stdout
