"""What a launch, run and dry run say before they begin: what is left, and what is to be allowed."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripted_study import begun, of_runs
from test_dispatch_recorded import row
from tiny_study import Type, tree, typing_in

from anynet_study.engine.dispatch import JournalReader, current_status, ledger
from anynet_study.engine.dispatch.opened import OpenStudy
from anynet_study.engine.dispatch.worker_state import SILENT, alive_file, leave_file
from anynet_study.store import JournalWriter

#: Learning rates of a grid; of two keys, too many.
MANY = list(range(1, 200))
LOCAL = ["--cluster", "local", "--json"]


@pytest.fixture
def type_(tiny: OpenStudy, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Type:
    start = "anynet_study.engine.dispatch.launch.start_workers"
    monkeypatch.setattr(start, lambda *_, **__: [])
    return typing_in(Path.cwd(), monkeypatch, capsys)


def record(tiny: OpenStudy, runs: slice) -> None:
    with JournalWriter(tiny.folder.new_journal()) as writer:
        for run in tiny.plan[runs]:
            writer.append(row(**run.named()))


def test_evaluations_added_later_train_again_only_if_that_is_allowed(
    tiny: OpenStudy, type_: Type
) -> None:
    record(tiny, slice(0, 2))
    tiny.folder.weights_folder.mkdir()
    tiny.folder.weights(tiny.plan[1].run_id).touch()
    more = ["tiny.yaml", "evaluations={turned: {transform: rotation}}"]
    for command in ("launch", "run"):
        told = type_(command, *more)
        assert (told.code, "1 finished run would be trained again" in told.line) == (2, True)
        assert told.line.endswith("to allow it: --retrain")
    assert not tiny.sweep.evaluations  # nothing was written
    assert json.loads(type_("launch", *more, *LOCAL, "--retrain").out)["submitted"] == 12


def test_workers_on_another_machine_are_known_by_their_signs_of_life(
    tiny: OpenStudy, type_: Type
) -> None:
    job = replace(of_runs(os.getpid(), tiny.plan[:8].ids()), host="elsewhere")
    ledger.append(tiny.folder.jobs, [job])
    alive = alive_file(tiny.folder.logs, job.job_id)
    alive.touch()
    assert current_status(tiny, JournalReader(tiny.folder.journals)).is_active
    (row,) = json.loads(type_("logs", "tiny", "--json").out)
    assert (row["state"], row["host"]) == ("runs", "elsewhere")
    told = json.loads(type_("launch", "tiny.yaml", *LOCAL).out)
    assert (told["under_way"], told["submitted"]) == (8, 4)
    told = type_("cancel", "tiny")
    assert (told.code, told.out.endswith("workers on elsewhere\n")) == (0, True)
    assert leave_file(tiny.folder.logs, job.job_id).exists()
    os.utime(alive, (alive.stat().st_mtime - SILENT - 1,) * 2)
    assert json.loads(type_("launch", "tiny.yaml", *LOCAL).out)["submitted"] == 12
    assert type_("cancel", "tiny").out.startswith("no job")


def test_a_worker_that_hangs_is_named(tiny: OpenStudy, type_: Type) -> None:
    job = of_runs(os.getpid(), tiny.plan.ids()[:3])
    ledger.append(tiny.folder.jobs, [job])
    alive = alive_file(tiny.folder.logs, job.job_id)
    alive.touch()
    assert json.loads(type_("status", "tiny", "--json").out)["jobs_silent"] == {}
    os.utime(alive, (1.0, 1.0))
    assert job.job_id in json.loads(type_("status", "tiny", "--json").out)["jobs_silent"]
    assert "no sign of life for" in type_("status", "tiny").out
    refused = type_("launch", "tiny.yaml", *LOCAL)
    assert (refused.code, "1 gave no sign of life for long" in refused.line) == (2, True)
    record(tiny, slice(3, None))  # only the worker's own runs are left
    assert (
        f"no sign of life for long: {job.job_id};" in type_("launch", "tiny.yaml", *LOCAL[:2]).out
    )


@pytest.mark.parametrize("name", ["50%", "a:b", "a\nb", "back\\slash"])
def test_a_path_that_slurm_reads_as_something_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, name: str
) -> None:
    (tmp_path / name).mkdir()
    begun(tmp_path / name, monkeypatch)
    type_ = typing_in(tmp_path / name, monkeypatch, capsys)
    for command in ("launch", "run"):
        told = type_(command, "tiny.yaml")
        assert (told.code, "in a path as something else" in told.line) == (2, True)


@pytest.mark.parametrize(
    "change",
    [
        "recipes.basic.epochs=1000000000",
        "launch.job_minutes=1e+308",
        "replicates.count=1000000000000",
        "recipes.basic.tuning={space: {lr: 'loguniform(0.1, 1)'}, trials: 1000000000}",
        f"recipes.basic.tuning={{scheduler: grid, space: {{lr: {MANY}, weight_decay: {MANY}}}}}",
        "evaluations={own: {transform: identity, every: 1}}; recipes.basic.epochs=100000",
    ],
)
def test_absurd_sizes_are_refused_in_a_line(type_: Type, change: str) -> None:
    told = type_("launch", "tiny.yaml", "--dry-run", *change.split("; "))
    assert (told.code, change.partition("=")[0] in told.line) == (2, True)


def test_a_dry_run_says_what_is_left(tiny: OpenStudy, type_: Type) -> None:
    assert "left:" not in type_("run", "tiny.yaml", "--dry-run").out
    record(tiny, slice(0, 9))
    told = type_("launch", "tiny.yaml", "--dry-run")
    assert "done: 9; left: 3, " in told.out
    told = json.loads(type_("launch", "tiny.yaml", *LOCAL, "--dry-run").out)
    assert (told["runs"], told["runs_left"]) == (12, 3)
    assert told["seconds_left"] < told["seconds"]
    record(tiny, slice(9, 12))
    told = type_("launch", "tiny.yaml", "--cluster", "slurm", "--dry-run")
    assert (told.code, "done: 12; left: 0" in told.out) == (0, True)


def test_a_dry_run_says_that_the_folder_holds_another_population(type_: Type) -> None:
    told = type_("run", "tiny.yaml", "--dry-run", "population.seed=3")
    assert told.code == 0
    assert "this would be refused: studies/tiny holds a study of another population" in told.out


def test_a_changed_key_that_leaves_recorded_runs_unused_is_to_be_allowed(
    tiny: OpenStudy, type_: Type
) -> None:
    with JournalWriter(tiny.folder.new_journal()) as writer:
        for run in tiny.plan[:9]:
            writer.append(row(**run.named(), seconds=30.0, error=10.0))
    changed = ["tiny.yaml", "recipes.basic.lr=0.04"]
    said = "recipes.basic.lr (0.1 before, 0.04 now); 9 of its 9 recorded runs would stay unused"
    told = [type_(command, *changed) for command in ("launch", "run")]
    assert [it.code for it in told] == [2, 2]
    assert all(said in it.line and "--changed" in it.line and "name=" in it.line for it in told)
    dry = type_("launch", *changed, "--dry-run")
    assert (dry.code, f"changed since the last launch: {said}" in dry.out) == (0, True)
    measured = dry.out.partition("predicted by: ")[2].partition(", median")[0]
    assert "(measured on 9 finished runs" in measured
    assert json.loads(type_("launch", *changed, *LOCAL, "--changed").out)["submitted"] == 12
    dry = type_("launch", *changed, "--dry-run")  # it is the study's own sweep now
    assert "--changed" not in dry.out
    assert measured in dry.out, "what was measured before the change predicts until a run has ended"
    assert json.loads(type_("launch", *changed, *LOCAL).out)["submitted"] == 12
    told = type_("launch", "tiny.yaml", *LOCAL, "name=other", "recipes.basic.lr=0.03")
    assert json.loads(told.out)["submitted"] == 12


def test_what_only_adds_runs_or_changes_none_asks_for_nothing(tiny: OpenStudy, type_: Type) -> None:
    record(tiny, slice(0, 9))
    more = ["replicates.count=2", "datasets.gratings={}", "question=why"]
    told = type_("launch", "tiny.yaml", *LOCAL, *more)
    assert (told.code, json.loads(told.out)["recorded"]) == (0, 9)
    fewer = type_("launch", "tiny.yaml", *LOCAL, *more[:1])
    assert fewer.code == 0, "no run was recorded on the dataset that was removed"


def test_who_may_not_write_hears_that_nothing_is_left(
    tiny: OpenStudy, type_: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tiny, slice(0, 12))
    before = tree(tiny.folder.folder)
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    told = type_("launch", "tiny.yaml", *LOCAL)
    assert told.code == 0, told
    counts = json.loads(told.out)
    assert (counts["recorded"], counts["submitted"]) == (12, 0)
    told = type_("run", "tiny.yaml")
    assert (told.code, "no results.h5 yet" in told.line) == (2, True)
    monkeypatch.setattr("anynet_study.cli.whole_study.find_store", lambda _: None)
    assert "nothing to do: all 12 runs are recorded" in type_("run", "tiny.yaml").out
    assert tree(tiny.folder.folder) == before
    assert not (tiny.folder.folder / ".lock").exists()
