"""Finished runs of a study, and their further evaluations, tell how long the others take."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_dispatch_recorded import row

from anynet_study.cli.dry_run import print_cost
from anynet_study.engine.dispatch.calibration import (
    calibrate,
    kept_weights,
    with_what_is_left,
)
from anynet_study.engine.dispatch.opened import OpenStudy, open_sweep
from anynet_study.engine.dispatch.recorded import JournalReader, Recorded
from anynet_study.engine.planning.features import FloatArray, evaluation_features
from anynet_study.engine.planning.plan import Prices, make_plan
from anynet_study.engine.planning.planned_run import PlannedRun
from anynet_study.engine.planning.prices import CPU_CORE, H100, V100
from anynet_study.store import JournalWriter, RunRecord

SWEEP = """
name: timed
population:
  space: {base: anynetx, depths: [1, 3], widths: [8, 48], stem: cifar, stem_width: 8}
  count: 12
  flops: [2.0e5, 8.0e5]
  resolution: 8
  classes: 10
source: digits
datasets: {digits: {per_class: 40}, digits-2: {base: digits, classes: 2}, blobs: {}}
recipes:
  basic: {epochs: 2, batch_size: 16, crop: none, flip: false, overrides: {digits-2: {epochs: 5}}}
replicates: {count: 2, architectures: 3}
evaluations:
  turned: {transform: rotation}
  mirrored: {transform: horizontal_flip}
  five: {classes: 5, datasets: [digits]}
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenStudy]:
    folder = tmp_path_factory.mktemp("timed")
    (folder / "sweep.yaml").write_text(SWEEP)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYNET_DATA", str(folder / "data"))
        patch.setenv("CUDA_VISIBLE_DEVICES", "")
        yield open_sweep(folder / "sweep.yaml")


def took(run: PlannedRun, seconds: float, started: float, **others: object) -> RunRecord:
    return row(**run.named() | {"seconds": seconds, "started": started} | others)


def write(folder: Path, name: str, records: Sequence[RunRecord]) -> None:
    with JournalWriter(folder / f"{name}.arrow") as journal:
        for record in records:
            journal.append(record)


def timings(folder: Path):
    reader = JournalReader(folder)
    reader.read()
    return reader.timings()


def training_seconds(study: OpenStudy) -> FloatArray:
    """Of each run, without its further evaluations, by the built-in prices."""
    prices = Prices(study.plan.population, study.plan.settings, CPU_CORE)
    return np.array([prices.of(run) for run in study.plan])


def test_a_study_is_calibrated_by_its_runs(tmp_path: Path, study: OpenStudy):
    """This machine takes 3 times as long as is built in, give or take."""
    nothing = calibrate(study.plan, timings(tmp_path), lambda: CPU_CORE)
    assert (nothing.cost, list(nothing.plan), nothing.ended) == (CPU_CORE, list(study.plan), {})
    dearer = calibrate(study.plan, timings(tmp_path), lambda: V100).plan
    assert list(dearer) == list(study.plan.priced(V100)) != list(study.plan)
    trained = 3 * training_seconds(study)
    noise = np.exp(np.random.default_rng(0).normal(0, 0.05, len(study.plan)))
    known = 15
    records = [
        took(run, trained[i] * noise[i], 1e9 + i) for i, run in enumerate(study.plan[:known])
    ]
    # Libraries warm up in a worker's first run.
    records[0] = replace(records[0], seconds=records[0].seconds + 1)
    write(tmp_path, "one", [*records, took(study.plan[known], 900.0, 2e9, status="diverged")])
    first = calibrate(study.plan, timings(tmp_path), lambda: pytest.fail("Slurm was asked"))
    assert (first.cost.name, first.cost.runs) == ("CPU core", known)
    assert first.cost.factor == pytest.approx(3, rel=0.05)
    assert first.cost.error < 0.1
    words = "built-in prices of one CPU core, times 3 (measured on 15 finished runs, median error"
    assert first.cost.basis.startswith(words)
    assert len(first.ended) == known
    truth = make_plan(study.sweep, study.population, study.views, replace(CPU_CORE, factor=3.0))
    lengths = [[run.seconds for run in plan] for plan in (first.plan, truth)]
    assert lengths[0] == pytest.approx(lengths[1], rel=0.05)


@pytest.mark.parametrize("odd", [0.02, 50.0])
def test_a_run_that_does_not_fit_the_others_says_little(
    tmp_path: Path, study: OpenStudy, odd: float
):
    """The machine was busy; or a run's time was cut short."""
    trained = training_seconds(study)
    records = [took(run, trained[i], 1e9 + i) for i, run in enumerate(study.plan[:5])]
    write(tmp_path, "one", [replace(records[0], seconds=odd * records[0].seconds), *records[1:]])
    cost = calibrate(study.plan, timings(tmp_path), lambda: CPU_CORE).cost
    assert cost.factor == pytest.approx(1)


def test_runs_of_the_latest_device_and_engine_count_alone(tmp_path: Path, study: OpenStudy):
    def measured(device: str, engine: str, place: int) -> RunRecord:
        return took(study.plan[place], 7.0, 1.0 + place, device=device, engine=engine)

    runs = [measured("cpu", "fast", place) for place in range(5)]
    runs += [measured("NVIDIA H200", "reference", place) for place in range(5, 8)]
    runs += [measured("NVIDIA H200", "fast", 8)]
    write(tmp_path, "one", runs)
    cost = calibrate(study.plan, timings(tmp_path), lambda: CPU_CORE).cost
    assert (cost.name, cost.runs, cost.prices) == ("NVIDIA H200", 1, H100.prices)
    assert cost.error is None
    assert cost.basis.endswith("(measured on 1 finished run)")
    write(tmp_path / "others", "one", [replace(run, run_id="0" * 16) for run in runs])
    unknown = calibrate(study.plan, timings(tmp_path / "others"), lambda: H100)
    assert unknown.cost is H100


def test_of_a_trained_run_only_missing_evaluations_are_left(tmp_path: Path, study: OpenStudy):
    plan = study.plan
    kept, other, partly, failed = plan[0], plan[1], plan[3], plan[4]
    for run in (kept, partly, failed):
        (tmp_path / f"{run.run_id}.pt").touch()
    statuses = dict.fromkeys((kept.run_id, other.run_id, partly.run_id), "completed")
    done = {(partly.run_id, one) for one in partly.evaluations[:2]}
    recorded = Recorded(statuses | {failed.run_id: "failed"}, done)
    left = with_what_is_left(plan, recorded, kept_weights(tmp_path), CPU_CORE)
    seconds = {run.run_id: run.seconds for run in left}
    tests = plan.settings[0].tests
    for run, missing in ((kept, tests), (partly, tests[2:])):
        groups = study.population.select([run.spec.architecture.id]).groups
        alone = CPU_CORE.seconds(evaluation_features(groups, missing, 8))[0]
        assert seconds[run.run_id] == pytest.approx(alone)
    for run in plan:  # without weights it is trained once more
        if run.run_id not in (kept.run_id, partly.run_id):
            assert seconds[run.run_id] == run.seconds


def test_the_dry_run_says_what_predicted_it(
    study: OpenStudy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    print_cost(study.sweep, study.population)
    before = capsys.readouterr().out
    assert "prices of one CPU core that is idle; finished runs will correct it\n" in before
    assert not list(tmp_path.iterdir())
    records = [took(run, 3600.0, 1e9 + i) for i, run in enumerate(study.plan[:6])]
    (tmp_path / "studies/timed").mkdir(parents=True)
    write(tmp_path / "studies/timed/journals", "one", records)
    print_cost(study.sweep, study.population)
    after = capsys.readouterr().out
    assert "(measured on 6 finished runs, median error" in after
    assert re.search(r"^45 runs, (3[0-9]|4[0-9]|5[0-9]) h|^45 runs, [1-3]\.\d days", after, re.M)
