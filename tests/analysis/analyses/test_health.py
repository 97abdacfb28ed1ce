"""What makes an answer worth little is found, in the order of its weight, with advice that fits."""

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scripted_study import PACKED
from small_study import run_records, small_study, write_store
from tiny_study import TINY

from anynet_study.analysis.analyses import (
    Evidence,
    concerns,
    concerns_of,
    load,
    study_of,
)
from anynet_study.analysis.analyses.health import RUNS
from anynet_study.analysis.analysis import Options
from anynet_study.cli.concerns import concerns_so_far
from anynet_study.engine.dispatch import JournalReader, OpenStudy, open_sweep
from anynet_study.engine.planning import PlannedRun
from anynet_study.engine.stages import collect_study
from anynet_study.store import JournalWriter, RunRecord


def runs(errors: dict[str, list[float]], replicates: int = 1, noise: float = 0.0) -> pd.DataFrame:
    """A run of each architecture and replicate, with these errors by dataset."""
    generator = np.random.default_rng(0)
    rows = [
        (str(number), name, replicate, "completed", error + generator.normal(0, noise))
        for name, column in errors.items()
        for number, error in enumerate(column)
        for replicate in range(replicates)
    ]
    return pd.DataFrame(rows, columns=RUNS)


def datasets(chance: float, images: float = math.nan) -> pd.DataFrame:
    known = {"dataset": ["a"], "chance": [chance], "test_images": [images], "metric": ["top1"]}
    return pd.DataFrame(known)


def kinds(evidence: Evidence) -> list[tuple[str, bool]]:
    return [(concern.kind, concern.serious) for concern in concerns(evidence)]


def test_a_healthy_study_has_none() -> None:
    many = runs({"a": list(np.linspace(10, 40, 60))}, replicates=2, noise=0.5)
    assert kinds(Evidence.of(many, datasets(90.0, 1000), planned={"a": 120})) == []


@pytest.mark.parametrize(
    ("guess", "images", "expected"),
    [
        (49.9, math.nan, None),
        (50.0, math.nan, True),
        (49.0, 1000, True),  # 1.6 standard errors of a proportion are 2.6 points
        (47.5, 1000, True),
        (47.3, 1000, None),
    ],
)
def test_networks_that_guess(guess: float, images: float, expected: bool | None) -> None:
    errors = {"a": [*np.linspace(10, 30, 36), *[guess] * 24]}
    found = concerns(Evidence.of(runs(errors), datasets(50.0, images)))
    assert [it.serious for it in found] == ([] if expected is None else [expected])
    if expected:
        assert found[0].said == (
            "Not shown to do better than guessing: 24 of 60 architectures on a (error of guessing: "
            "50.0%). Their order there may say nothing about them."
        )
        assert found[0].advice.startswith("Train longer or with a higher learning rate on a")


def test_where_runs_diverged_a_higher_rate_is_no_advice() -> None:
    table = runs({"a": [10.0] * 30 + [90.0] * 30})
    table.loc[40:, "status"] = "diverged"
    (found,) = concerns(Evidence.of(table, datasets(90.0)))
    assert found.advice.startswith("20 runs there diverged: lower the learning rate on a")
    (imported,) = concerns(Evidence.of(table, datasets(90.0), trains=False))
    assert imported.advice == ""


def test_noise_that_hides_the_architectures() -> None:
    noisy = runs({"a": [20.0] * 60}, replicates=2, noise=1.0)
    (found,) = concerns(Evidence.of(noisy, datasets(90.0)))
    assert (found.kind, found.serious) == ("noise", True)
    assert "it is not shown that architectures differ at all on a (ICC" in found.said
    some = runs({"a": list(np.linspace(18, 22, 200))}, replicates=2, noise=2.5)
    (found,) = concerns(Evidence.of(some, datasets(90.0)))
    assert (found.kind, found.serious) == ("noise", False)
    assert "Training noise is most of the differences between single runs on a" in found.said
    assert "(ICC 0.2" in found.said


@pytest.mark.parametrize(("twice", "kind"), [(3, []), (4, ["noise"])])
def test_a_few_replicates_are_no_evidence_of_noise(twice: int, kind: list[str]) -> None:
    """As of a study that has just begun: everything would look like noise."""
    table = runs({"a": [20.0] * 60}, replicates=2, noise=1.0)
    once = table["replicate"].eq(1) & (table["architecture"].astype(int) >= twice)
    assert [name for name, _ in kinds(Evidence.of(table[~once], datasets(90.0)))] == kind


def test_two_architectures_that_were_trained_often_tell_that_they_differ() -> None:
    """Of 500 that differ by 2.6 points with an error of 0.03, two were trained 250 times."""
    generator = np.random.default_rng(0)
    truth, often = generator.normal(30, 2.6, 500), {0, 1}
    rows = [
        (str(number), "a", replicate, "completed", error + generator.normal(0, 0.03))
        for number, error in enumerate(truth)
        for replicate in range(250 if number in often else 1)
    ]
    assert kinds(Evidence.of(pd.DataFrame(rows, columns=RUNS), datasets(90.0))) == []


def test_of_a_weighted_sample_the_noise_is_not_told() -> None:
    noisy = runs({"a": [20.0] * 60}, replicates=2, noise=1.0)
    assert kinds(Evidence.of(noisy, datasets(90.0), effective=55.0)) == []


def test_runs_that_lack_or_failed() -> None:
    table = runs({"a": list(np.linspace(10, 40, 60)), "b": list(np.linspace(10, 40, 50))})
    table.loc[table.index[:2], ["status", "error"]] = ["failed", math.nan]
    found = concerns(Evidence.of(table, datasets(90.0), planned={"a": 60, "b": 60}))
    assert [it.said for it in found] == [
        "10 of 120 planned runs are not recorded yet (10 on b).",
        "2 of 110 runs failed (2 on a).",
    ]
    assert kinds(Evidence.of(table, datasets(90.0), planned={"a": 200}))[0] == ("missing", True)


def test_more_architectures_are_advised_only_where_all_that_are_asked_for_are_there() -> None:
    few = runs({"a": list(np.linspace(10, 40, 9))})
    advice = [concerns(Evidence.of(few, datasets(90.0), planned={"a": n}))[-1] for n in (9, 60)]
    assert [it.advice.partition(" (")[0] for it in advice] == ["Take more", ""]


@pytest.mark.parametrize(("count", "told"), [(49, False), (9, True), (50, None)])
def test_a_small_population(count: int, told: bool | None) -> None:
    found = concerns(Evidence.of(runs({"a": list(np.linspace(10, 40, count))}), datasets(90.0)))
    assert [it.serious for it in found] == ([] if told is None else [told])
    weighted = Evidence.of(runs({"a": [1.0] * 60}), datasets(90.0), effective=4.2)
    assert "of unequal weights and as good as 4," in concerns(weighted)[0].said


def test_the_worst_comes_first() -> None:
    table = runs({"a": [90.0] * 40}, replicates=2, noise=0.1)
    evidence = Evidence.of(
        table, datasets(90.0), planned={"a": 81}, backends="two backends are mixed"
    )
    assert kinds(evidence) == [
        *(("guessing", True), ("noise", True)),
        *(("missing", False), ("backends", False), ("few", False)),
    ]


def test_a_store_and_a_table_are_understood(tmp_path: Path) -> None:
    study = small_study(60)
    long = study.replicates
    lost = long["dataset"].eq("target-0") & long["architecture"].isin(study.errors.index[:40])
    long.loc[lost, "error"] = 80.0
    planned = len(long) + 5
    store = write_store(tmp_path / "s", study, run_records(study, failed={0}), planned)
    found = concerns_of(load(store, resamples=200))
    assert [it.kind for it in found] == ["guessing", "missing", "failed"]
    assert "40 of 60 architectures on target-0 (error of guessing: 80.0%)" in found[0].said
    table = study_of("t", Options(resamples=100), errors=study.errors[["base"]])
    assert concerns_of(table) == []


@pytest.fixture
def training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., OpenStudy]:
    """A function that begins a study with a record of every run but the last two."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANYNET_DATA", PACKED)

    def begun(*changes: str) -> OpenStudy:
        Path("tiny.yaml").write_text(TINY)
        study = open_sweep(Path("tiny.yaml"), changes)
        study.begin()
        generator = np.random.default_rng(0)
        with JournalWriter(study.folder.journals / "n1-1-x.arrow") as journal:
            for number, run in enumerate(study.plan[:-2]):
                error = float(generator.uniform(30, 95))
                for attempt in ("failed", "diverged" if error > 90 else "completed"):
                    journal.append(row(run, attempt, error, started=float(number)))
                journal.append(row(run, "completed", 0.0, started=1e6))  # a later one
        return study

    return begun


def row(run: PlannedRun, status: Any, error: float, **more: Any) -> RunRecord:
    failed = status == "failed"
    known = {"run_id": run.run_id, "architecture": run.architecture, "dataset": run.dataset}
    known |= {"recipe": run.recipe, "replicate": run.replicate, "metric": "top1", "spec": "{}"}
    known |= {"error": math.nan if failed else error, "failure_kind": "node" if failed else ""}
    known |= dict.fromkeys(["host", "device", "torch_version", "code_version"], "")
    return RunRecord(status=status, seconds=1.0, **known, **more)


WEIGHTED = "population.strata={of: depth, edges: [6]}"


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        ([], ["guessing"]),
        (["replicates.count=2"], ["guessing", "noise"]),
        (["replicates.count=2", WEIGHTED], ["guessing"]),  # weighted runs have no known noise
    ],
)
def test_a_study_that_trains_is_told_what_its_store_would_say(
    training: Callable[..., OpenStudy], changes: list[str], kinds: list[str]
) -> None:
    study = training(*changes)
    reader = JournalReader(study.folder.journals)
    reader.read()
    found = concerns_so_far(study, reader)
    assert [it.kind for it in found] == kinds
    collect_study(study)
    stored = concerns_of(load(study.folder.results, resamples=2_000))
    assert found == [it for it in stored if it.kind in ("guessing", "noise")]


def test_status_of_runs_without_replicates_needs_no_statistics(
    training: Callable[..., OpenStudy],
) -> None:
    training()
    script = (
        "import sys, anynet_study.cli\n"
        "sys.argv = ['anynet-study', 'status', 'tiny']\n"
        "try:\n    anynet_study.cli.main()\n"
        "finally:\n    print(*{'pandas', 'scipy', 'torch'} & {*sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "Not shown to do better than guessing" in done.stdout
    assert done.stderr.split() == []
