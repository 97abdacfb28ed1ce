"""The commands of a study one by one: sample, launch, status, run, collect, query, report."""

import json
import math
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from command import SWEEPS, command, environment, imported, in_this_process, train
from filelock import FileLock

from anynet_study import ResultStore, Sweep
from anynet_study.cli.whole_study import fingerprint
from anynet_study.core.errors import counted
from anynet_study.engine.dispatch import Recorded, ledger, open_study
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.store import JournalWriter, read_journal

#: Workers outlive their launcher: what submitit knows of them goes while they are at it.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning"),
]

#: The quickstart, with networks, images and epochs for a test: 4 x 3 runs.
TINY = [
    "population.count=4",
    "population.space.depths=[1, 2]",
    "population.space.widths=[8, 32]",
    "population.space.stem_width=8",
    "population.flops=[5e4, 2e5]",
    "datasets={digits: {per_class: 20}, digits-2: {base: digits, classes: 2, per_class: 20}, "
    "blobs: {per_class: 20}}",
    "recipes={basic: {epochs: 1, batch_size: 16, crop: none, flip: false}}",
    "replicates={}",
]
RUNS = 12
DATASETS = ["digits", "digits-2", "blobs"]
FEW = ["--resamples", 100]
#: Of the study that is followed to its report.
FOLLOWED = ["launch.workers=1", "recipes.basic.epochs=4"]
CHANGES = [
    "recipes.basic.epochs=2",
    "recipes.longer={epochs: 3, batch_size: 16, crop: none, flip: false, datasets: [digits], "
    "overrides: {digits: {lr: 0.02}}}",
]
#: Runs long enough that workers are still at them when they are first looked at.
LONGER = "recipes.basic.epochs=5"
LONGEST_WAIT = 600.0


class Home:
    """A folder with data and studies, and what a user types in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def type(self, verb: str, name: str, *arguments: object, expect: int = 0) -> str:
        """Run a command that takes the sweep file, for a study `name`; what it prints."""
        sweep = [SWEEPS / "quickstart.yaml", *TINY, f"name={name}"]
        done = in_this_process(self.folder, verb, *sweep, *arguments, expect=expect)
        return done.stdout + done.stderr

    def launch(self, name: str, *arguments: object) -> tuple[int, int, int]:
        """Runs recorded, under way and submitted, as `launch` says."""
        told = self.type("launch", name, "--cluster", "local", *arguments)
        counts = re.search(r"(\d+) recorded, (\d+) under way, (\d+ submitted|nothing)", told)
        assert counts, told
        submitted = counts[3].removesuffix(" submitted").replace("nothing", "0")
        return int(counts[1]), int(counts[2]), int(submitted)

    def study(self, name: str) -> StudyFolder:
        return StudyFolder(self.folder / "studies" / name)

    def jobs(self, name: str) -> list[ledger.SubmittedJob]:
        """Every job that the study ever had."""
        return list(ledger.submitted_jobs(self.study(name).jobs))

    def status(self, name: str) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(
            in_this_process(self.folder, "status", name, "--json").stdout
        )
        return told

    def finish(self, name: str) -> dict[str, str]:
        """Wait for the workers of a launched study; its finished runs."""
        end = time.monotonic() + LONGEST_WAIT
        while ledger.live_jobs(self.study(name)):
            assert time.monotonic() < end
            time.sleep(0.2)
        return Recorded.read(self.study(name).journals).runs

    def collected(self, name: str) -> ResultStore:
        assert "results.h5" in in_this_process(self.folder, "collect", name).stdout
        return ResultStore(self.study(name).results)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("studies"))


@pytest.fixture(scope="module")
def reported(home: Home) -> Home:
    """With a study "followed", launched on one worker and followed by `run` to its report."""
    assert home.launch("followed", *FOLLOWED) == (0, 0, RUNS)
    told = home.type("run", "followed", *FOLLOWED, *FEW)
    assert "4 architectures x 3 datasets" in told
    assert "studies/followed/report/report.html" in told
    return home


@contextmanager
def standing_still(jobs: list[ledger.SubmittedJob]) -> Iterator[None]:
    """Workers of this machine wait, however long it takes to look at them."""
    submitted = [psutil.Process(int(job.job_id.rpartition("-")[2])) for job in jobs]
    all_of_them = [one for job in submitted for one in (job, *job.children(recursive=True))]
    for process in all_of_them:
        process.suspend()
    try:
        yield
    finally:
        for process in all_of_them:
            process.resume()


@dataclass(frozen=True)
class Launched:
    """What was seen of the study "launched" while its workers were at it."""

    told: str
    statuses: list[dict[str, Any]]
    #: The modules that `status` imports.
    imported: set[str]
    refusal: str
    population: tuple[str, ...]


@pytest.fixture(scope="module")
def launched(home: Home) -> Launched:
    """The launcher's output is a pipe: reading it must not wait for the workers.

    They have to live through a Ctrl-C and the end of the terminal.
    """
    arguments = [*TINY, LONGER, "name=launched", "launch.workers=99", "--cluster", "local"]
    launcher = subprocess.Popen(
        command("launch", SWEEPS / "quickstart.yaml", *arguments),
        cwd=home.folder,
        env=environment(home.folder),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    told, _ = launcher.communicate(timeout=LONGEST_WAIT)
    assert launcher.returncode == 0
    with standing_still(home.jobs("launched")):
        statuses = [home.status("launched")]
        modules = imported(home.folder, ("status", "launched"))
        for each in (signal.SIGINT, signal.SIGHUP):
            with suppress(ProcessLookupError):  # no worker is of the launcher's group
                os.killpg(launcher.pid, each)
        more = [LONGER, "population.count=6", "--cluster", "local"]
        refusal = home.type("launch", "launched", *more, expect=2)
    end = time.monotonic() + LONGEST_WAIT
    while statuses[-1]["jobs"] and time.monotonic() < end:
        time.sleep(0.3)
        statuses.append(home.status("launched"))
    return Launched(told, statuses, modules, refusal, home.study("launched").population().ids)


@pytest.fixture(scope="module")
def changed(home: Home) -> dict[str, str]:
    """The finished runs of a study "changed", before its epochs were changed and a recipe added."""
    sweep, journals = (
        [SWEEPS / "quickstart.yaml", *TINY, "name=changed"],
        home.study("changed").journals,
    )
    train(home.folder, *sweep)
    before = Recorded.read(journals).runs
    train(home.folder, *sweep, *CHANGES)
    after = Recorded.read(journals).runs
    assert before.items() < after.items()
    assert len(after) == 2 * RUNS + 4
    return before


def test_sample_draws_the_population_of_the_study(home: Home):
    told = home.type("sample", "sampled")
    assert "4 architectures in studies/sampled/population.parquet" in told
    study = home.study("sampled")
    assert sorted(path.name for path in study.folder.iterdir()) == [
        "population.parquet",
        "sweep.yaml",
    ]
    assert Sweep.load(study.sweep_file).name == "sampled"
    assert len(study.population()) == 4


def test_launched_workers_outlive_the_terminal_and_status_follows_them(
    home: Home, launched: Launched
):
    carried = min(len(psutil.Process().cpu_affinity()), RUNS)
    assert f"{RUNS} submitted in {counted(carried, 'job')}" in launched.told
    assert len(home.jobs("launched")) == carried
    first, *_, last = launched.statuses
    assert first["jobs"] > 0
    assert first["missing"] > 0
    done = [now["completed"] for now in launched.statuses]
    assert done == sorted(done)
    assert all(now["completed"] + now["missing"] == RUNS for now in launched.statuses)
    assert last["jobs"] == 0
    assert last["completed"] == last["planned"] == RUNS
    assert last["rows_complete"] == last["rows"] == 4
    assert last["datasets"] == {name: [4, 4] for name in DATASETS}


def test_what_is_slow_to_import_is_not_imported(launched: Launched, reported: Home):
    slow = {"torch", "matplotlib", "scipy", "PIL"}
    assert not {"torch", "matplotlib"} & launched.imported
    watching = imported(reported.folder, ("status", "followed", "--watch"))
    assert not {*slow, "pandas"} & watching  # h5py tells what the store knows beside journals
    assert not slow & imported(reported.folder, ("query", "followed", "--where", "error > 1"))


def test_a_launch_while_workers_are_at_the_study_changes_nothing(launched: Launched):
    assert "study launched: " in launched.refusal
    assert "still at work; wait for the end (anynet-study status launched)" in launched.refusal
    assert launched.refusal.count("\n") == 1
    assert len(launched.population) == 4
    assert {now["planned"] for now in launched.statuses} == {RUNS}


def test_a_larger_population_trains_the_new_architectures_alone(home: Home, launched: Launched):
    study = home.study("launched")
    before = Recorded.read(study.journals).runs
    assert home.launch("launched", LONGER, "launch.workers=1", "population.count=6") == (RUNS, 0, 6)
    after = home.finish("launched")
    assert before.items() < after.items()
    assert len(after) == records(study) == RUNS + 6  # nothing was trained twice
    assert not study.results.exists()  # to launch is not to collect
    errors = home.collected("launched").errors()
    assert tuple(errors.index) == study.population().ids
    assert study.population().ids[:4] == launched.population
    assert errors.shape == (6, 3)
    assert errors.notna().all(axis=None)
    refusal = home.type("launch", "launched", LONGER, "--cluster", "local", expect=2)
    assert "holds 6 architectures, population.count = 4 is fewer" in refusal


def test_local_never_starts_more_workers_than_it_may_use_cores(home: Home):
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(usable)})
    try:
        told = home.type("run", "counted", "launch.workers=99", "--dry-run")
    finally:
        os.sched_setaffinity(0, usable)
    assert "with 1 workers on this machine" in told
    assert not home.study("counted").folder.exists()


def test_bytes_in_place_of_a_journal_are_not_what_was_reported(reported: Home):
    study = reported.study("followed")
    opened = open_study(str(study.folder))
    (journal,) = study.journals.iterdir()
    records, reported_from = journal.read_bytes(), fingerprint(opened, 100)
    journal.write_bytes(bytes(len(records)))
    try:
        assert fingerprint(opened, 100) != reported_from
    finally:
        journal.write_bytes(records)
    assert fingerprint(opened, 100) == reported_from


def test_run_follows_workers_instead_of_starting_more(reported: Home):
    study = reported.study("followed")
    assert list(Recorded.read(study.journals).runs.values()) == ["completed"] * RUNS
    assert "nothing to do" in reported.type("run", "followed", *FOLLOWED, *FEW)
    assert "100 bootstrap resamples" in study.report.read_text()
    told = reported.type("run", "followed", *FOLLOWED, "--resamples", 200)
    assert "from 200 resamples" in told  # the report is made anew
    assert "200 bootstrap resamples" in study.report.read_text()
    assert len(list(study.journals.iterdir())) == len(reported.jobs("followed")) == 1
    (job,) = json.loads(in_this_process(reported.folder, "logs", "followed", "--json").stdout)
    assert job["state"] == "done"
    assert job["job"].startswith(f"{socket.gethostname()}-")
    assert not list((study.folder / "logs").glob("*_alive"))  # it has left


def test_a_second_process_at_the_same_study_is_refused(reported: Home):
    with FileLock(reported.study("followed").folder / ".lock"):
        told = reported.type("run", "followed", *FOLLOWED, *FEW, expect=2)
    assert "another process is running this study" in told


def test_other_epochs_are_other_runs_and_the_old_ones_are_kept(home: Home, changed: dict[str, str]):
    store = ResultStore(home.study("changed").results)
    runs = store.runs()
    assert set(runs.loc[~runs["planned"], "run_id"]) == set(changed)
    assert set(runs.loc[~runs["planned"], "epochs"]) == {1}
    new = runs[runs["planned"] & (runs["recipe"] == "basic")]
    assert set(new["epochs"]) == {2}
    assert len(new) == store.planned_runs - 4 == RUNS
    errors = store.errors()
    expected = new.pivot(index="architecture", columns="dataset", values="error")
    assert (errors == expected.loc[errors.index, DATASETS]).all(axis=None)


def test_a_second_recipe_for_some_of_the_datasets(home: Home, changed: dict[str, str]):
    store = ResultStore(home.study("changed").results)
    assert store.recipes == ["basic", "longer"]
    other = store.errors(recipe="longer")
    assert other["digits"].notna().all()
    assert other[["digits-2", "blobs"]].isna().all(axis=None)
    where = ["--where", "recipe = 'longer'", "--columns", "dataset,epochs,error", "--json"]
    rows = json.loads(in_this_process(home.folder, "query", "changed", *where).stdout)
    assert [row["error"] for row in rows] == other["digits"].tolist()
    assert {(row["dataset"], row["epochs"]) for row in rows} == {("digits", 3)}
    specs = store.runs(["recipe", "spec"]).to_numpy()
    rates = {(recipe, json.loads(spec)["recipe"]["lr"]) for recipe, spec in specs}
    assert rates == {("basic", 0.1), ("longer", 0.02)}


def test_back_to_the_first_epochs_nothing_is_trained(home: Home, changed: dict[str, str]):
    assert home.launch("changed", "launch.workers=1", "--changed") == (RUNS, 0, 0)
    assert records(home.study("changed")) == 2 * RUNS + 4


def test_two_names_for_the_same_runs_are_refused(home: Home):
    same = "datasets.numbers={base: digits, per_class: 20}"
    told = home.type("launch", "twins", same, "--cluster", "local", expect=2)
    assert told.count("\n") == 1
    assert "dataset numbers with recipe basic" in told
    assert "dataset digits with recipe basic" in told
    assert not home.study("twins").folder.exists()


def test_failed_runs_are_told_every_time_until_they_are_trained_again(reported: Home):
    """Its journal is that of a study whose first run found no memory."""
    name = "failed"
    (journal,) = reported.study("followed").journals.iterdir()
    first, *others = read_journal(journal).records
    broken = replace(
        first, status="failed", failure_kind="code", message="no such operator", error=math.nan
    )
    with JournalWriter(reported.study(name).journals / "worker.arrow") as writer:
        for record in (broken, *others):
            writer.append(record)

    told = reported.type("run", name, *FOLLOWED, *FEW, expect=1)
    assert f"failed: 1 of {RUNS} runs failed" in told
    assert "no such operator" in reported.study(name).report.read_text()
    again = reported.type("run", name, *FOLLOWED, *FEW, expect=1)
    assert "nothing to do" in again
    assert f"failed: 1 of {RUNS} runs failed" in again
    results = reported.study(name).results
    whole = results.read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"no store"):
        results.write_bytes(content)
        told = reported.type("run", name, *FOLLOWED, *FEW, expect=2)
        assert ("results.h5: " in told, "nothing to do" in told) == (True, False)
    results.write_bytes(whole)
    assert not reported.jobs(name)

    assert reported.launch(name, *FOLLOWED) == (RUNS, 0, 0)  # trying again would not help
    told = in_this_process(reported.folder, "retry", name, "--only", "code", "--json").stdout
    assert json.loads(told)["retried"] == json.loads(told)["submitted"] == 1
    assert list(reported.finish(name).values()) == ["completed"] * RUNS
    mended, whole = reported.collected(name), ResultStore(reported.study("followed").results)
    assert mended.errors().equals(whole.errors())


def records(study: StudyFolder) -> int:
    """Records in all journals of a study, of the same run or not."""
    return sum(len(read_journal(path).records) for path in study.journals.iterdir())
