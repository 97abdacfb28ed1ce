"""Finished runs of a study tell how long the others take; and so when its jobs will be done."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from anynet_study.cli.price import print_price
from anynet_study.data import DatasetView
from anynet_study.design_space import Population
from anynet_study.dispatch.calibration import features_of, learn, learned_cost
from anynet_study.dispatch.cost.features import Features
from anynet_study.dispatch.cost.prices import CPU_CORE, H100, V100, CostModel
from anynet_study.dispatch.plan import Plan, PlannedRun, load_views, plan
from anynet_study.dispatch.recorded import MeasuredRun, measured_runs
from anynet_study.store import JournalWriter, RunRecord
from anynet_study.sweep import Sweep

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
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory):
    """The sweep, its population, views and planned runs."""
    folder = tmp_path_factory.mktemp("timed")
    path = folder / "sweep.yaml"
    path.write_text(SWEEP)
    before = os.environ.get("ANYNET_DATA")
    os.environ["ANYNET_DATA"] = str(folder / "data")
    sweep = Sweep.load(path)
    views = load_views(sweep)
    population = sweep.population.population()
    yield sweep, population, views, plan(sweep, population, views)
    if before is None:
        del os.environ["ANYNET_DATA"]
    else:
        os.environ["ANYNET_DATA"] = before


@pytest.fixture
def planned(study) -> Plan:
    return study[3]


@pytest.fixture
def views(study) -> dict[str, DatasetView]:
    return study[2]


def record(run: PlannedRun, seconds: float, started: float, **others: object) -> RunRecord:
    values: dict[str, object] = {"status": "completed", "error": 10.0, "device": "cpu"} | others
    return RunRecord(
        run_id=run.run_id,
        spec="{}",
        architecture=run.spec.architecture.id,
        dataset=run.dataset,
        recipe=run.recipe,
        replicate=run.replicate,
        metric="top1",
        seconds=seconds,
        started=started,
        host="node",
        torch_version="2",
        code_version="1",
        **values,  # type: ignore[arg-type]
    )


def write(folder: Path, name: str, records: Sequence[RunRecord]) -> None:
    with JournalWriter(folder / f"{name}.arrow") as journal:
        for one in records:
            journal.append(one)


def test_completed_runs_are_measured_with_what_came_first(tmp_path: Path, planned: Plan):
    failed = {"status": "failed", "failure_kind": "code", "error": float("nan")}
    a, b, c, d = planned[:4]
    write(tmp_path, "one", [record(a, 3.0, 100.0), record(b, 2.0, 103.0)])
    write(tmp_path, "two", [record(c, 1.0, 90.0, **failed), record(d, 5.0, 91.0, device="X")])
    assert measured_runs(tmp_path) == [
        MeasuredRun(d.run_id, 5.0, 96.0, "X", "", first=False),
        MeasuredRun(a.run_id, 3.0, 103.0, "cpu", "", first=True),
        MeasuredRun(b.run_id, 2.0, 105.0, "cpu", "", first=False),
    ]
    assert measured_runs(tmp_path / "none") == []


def test_diverged_runs_are_not_measured(tmp_path: Path, planned: Plan):
    write(tmp_path, "one", [record(planned[0], 3.0, 100.0, status="diverged")])
    assert measured_runs(tmp_path) == []


def test_of_many_runs_the_latest_count(tmp_path: Path, planned: Plan):
    for number in range(6):
        runs = planned[4 * number : 4 * number + 4]
        records = [record(run, 1.0, 100.0 * number + place) for place, run in enumerate(runs)]
        write(tmp_path, f"{number}", records)
        os.utime(tmp_path / f"{number}.arrow", (1e9 + number, 1e9 + number))
    latest = [run.run_id for run in planned[18:24]]
    assert [run.run_id for run in measured_runs(tmp_path, most=6)] == latest


def test_lengths_of_planned_runs_are_those_of_the_plan(
    study: tuple[Sweep, Population, dict[str, DatasetView], Plan],
):
    sweep, population, views, _ = study
    planned = plan(sweep, population, views, V100)
    seconds = V100.seconds(features_of(planned, views))
    assert seconds == pytest.approx([run.seconds for run in planned])
    assert list(planned.priced(views, V100)) == list(planned)
    doubled = replace(V100, prices=Features(*(2 * price for price in V100.prices)))
    again = planned.priced(views, doubled)
    assert [run.seconds for run in again] == pytest.approx(2 * seconds)
    assert [run.run_id for run in again] == [run.run_id for run in planned]


def test_a_study_learns_from_its_runs(tmp_path: Path, planned: Plan, views: dict[str, DatasetView]):
    factors = [*[2, 1, 3, 1, 2, 2.5] * 2, 1, 1]
    prices = Features(*(p * f for p, f in zip(CPU_CORE.prices, factors, strict=True)))
    true = CostModel("true", prices).seconds(features_of(planned, views))
    nothing = learn(planned, views, tmp_path, CPU_CORE)
    assert nothing.cost is CPU_CORE
    assert list(nothing.planned) == list(planned)
    noise = np.exp(np.random.default_rng(0).normal(0, 0.05, len(planned)))
    known = 15
    records = [record(run, true[i] * noise[i], 1e9 + i) for i, run in enumerate(planned[:known])]
    write(tmp_path, "one", [replace(records[0], seconds=records[0].seconds + 9), *records[1:]])
    learned = learn(planned, views, tmp_path, V100)
    assert (learned.cost.basis, learned.cost.runs) == ("fitted", known)
    assert "fitted to 15 finished runs on one CPU core, median error" in learned.cost.told
    error = np.array([run.seconds for run in learned.planned[known:]]) / true[known:] - 1
    assert np.median(abs(error)) < 0.1
    assert learned.cost.error < 0.15
    assert len(learned.measured) == known


def test_runs_of_the_latest_device_and_engine_count_alone(
    planned: Plan, views: dict[str, DatasetView]
):
    def measured(device: str, engine: str, ended: float, place: int) -> MeasuredRun:
        return MeasuredRun(planned[place].run_id, 7.0, ended, device, engine, first=False)

    runs = [measured("cpu", "fast", 1.0 + place, place) for place in range(5)]
    runs += [measured("NVIDIA H200", "reference", 20.0 + place, place) for place in range(5, 8)]
    runs += [measured("NVIDIA H200", "fast", 30.0, 8)]
    cost = learned_cost(planned, views, runs, CPU_CORE)
    assert (cost.name, cost.runs) == ("NVIDIA H200", 1)
    assert np.isnan(cost.error)
    assert cost.told == "fitted to 1 finished run on one NVIDIA H200"
    by_itself = learned_cost(planned, views, runs[-1:], CPU_CORE)
    assert by_itself.prices == cost.prices
    unknown = [replace(run, run_id="0" * 16) for run in runs]
    assert learned_cost(planned, views, unknown, H100) is H100


def test_the_dry_run_says_what_predicted_it(
    study,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    sweep, population, _, planned = study
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    print_price(sweep, population)
    before = capsys.readouterr().out
    assert "predicted by: built-in prices of one CPU core" in before
    assert not list(tmp_path.iterdir())
    records = [record(run, 3600.0, 1e9 + i) for i, run in enumerate(planned[:6])]
    (tmp_path / "studies/timed").mkdir(parents=True)
    write(tmp_path / "studies/timed/journals", "one", records)
    print_price(sweep, population)
    after = capsys.readouterr().out
    assert "predicted by: fitted to 6 finished runs on one CPU core, median error" in after
    assert re.search(r"^45 runs, (3[0-9]|4[0-9]|5[0-9]) h|^45 runs, [12]\.\d days", after, re.M)
