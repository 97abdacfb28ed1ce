"""Further evaluations have a price: before any was made, and by those that were."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from tiny_study import TINY, Type, typing_in

from anynet_study.cli.prepared import Prepared, prepare
from anynet_study.dispatch.calibration import (
    kept_weights,
    learned_cost,
    measured_evaluations,
    with_what_is_left,
)
from anynet_study.dispatch.cost.features import COST, Features, FurtherTest, evaluation_features
from anynet_study.dispatch.cost.prices import CPU_CORE
from anynet_study.dispatch.dry_run import forecast, price
from anynet_study.dispatch.pack import pack_by_length
from anynet_study.dispatch.recorded import MeasuredRun, MeasuredTest, Recorded
from anynet_study.sweep import Sweep
from anynet_study.training.evaluation.transforms.catalog import PARAMETERS

EVALUATIONS = """
evaluations:
  turned: {transform: rotation}
  mirrored: {transform: horizontal_flip}
  five: {classes: 5, datasets: [digits]}
"""


@pytest.fixture
def type_(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Type:
    return typing_in(tmp_path, monkeypatch, capsys)


def opened(folder: Path, text: str) -> Prepared:
    path = folder / "sweep.yaml"
    path.write_text(text)
    return prepare(path, [])


@pytest.fixture
def tested(tmp_path: Path, type_: Type) -> Prepared:
    return opened(tmp_path, TINY + EVALUATIONS)


@pytest.fixture
def plain(tmp_path: Path, type_: Type) -> Prepared:
    return opened(tmp_path, TINY)


def test_every_transform_has_a_price() -> None:
    assert set(COST) == set(PARAMETERS)
    assert max(COST.values()) == 1


def test_an_evaluation_is_one_forward_pass_and_its_transform(plain: Prepared) -> None:
    population = plain.population
    tests = [
        FurtherTest("a", 300, 10, "colour_jitter", 7),
        FurtherTest("b", 300, 10, "identity", 7),
        FurtherTest("c", 20, 10, "colour_jitter", 7),
    ]
    table = Features(*evaluation_features(population.groups, tests, 8).T)
    adds = table.pointwise + table.spatial + table.stem + table.tiny
    assert adds.tolist() == (620 * population.flops(8, 7)).tolist()
    assert set(table.pixels) == {620 * 8**2}
    assert set(table.batches) == {2 + 2 + 1}
    assert set(table.transforms) == {320 * 10**2}
    assert set(table.tests) == {3}
    assert set(table.runs) == set(table.parameters) == {0}


def test_planned_lengths_are_training_and_evaluations(tested: Prepared, plain: Prepared) -> None:
    more = {run.run_id: run.seconds for run in tested.planned}
    for run in plain.planned:
        (setting,) = [it for it in tested.planned.settings if it.dataset == run.dataset]
        assert len(setting.tests) == (3 if run.dataset == "digits" else 2)
        groups = plain.population.select([run.spec.architecture.id]).groups
        features = evaluation_features(groups, setting.tests, run.spec.recipe.resolution)
        added = CPU_CORE.evaluation_seconds(features)[0]
        assert added > 0
        assert more[run.run_id] == pytest.approx(run.seconds + added)


def test_jobs_are_packed_and_foretold_with_evaluations(tested: Prepared, plain: Prepared) -> None:
    seconds = sum(run.seconds for run in plain.planned)
    jobs = [len(list(pack_by_length(it.planned, seconds / 3))) for it in (tested, plain)]
    assert jobs[0] > jobs[1]
    content = tested.sweep.model_dump() | {"launch": {"cluster": "slurm", "job_minutes": 1}}
    sweep = Sweep.model_validate(content)
    told = [forecast(it.study, sweep, it.planned, CPU_CORE).hours for it in (tested, plain)]
    assert told[0] > told[1]


def test_the_dry_run_prices_evaluations_as_the_plan_does(tested: Prepared, type_: Type) -> None:
    priced = price(tested.sweep, tested.population, CPU_CORE)
    assert priced.planned.seconds() == pytest.approx(tested.planned.seconds())
    assert {item.dataset: item.evaluations for item in priced.items} == {
        "digits": 12,
        "digits-2": 8,
        "blobs": 8,
    }
    for item in priced.items:
        assert 0 < item.evaluation_seconds < item.seconds
    told = type_("run", "sweep.yaml", "--dry-run").out
    assert "of which 28 further evaluations: " in told
    assert (
        "further evaluations" not in type_("run", "sweep.yaml", "--dry-run", "evaluations={}").out
    )


def test_without_data_the_catalog_says_how_many_images(type_: Type) -> None:
    content = yaml.safe_load(TINY) | {
        "source": "imagenet",
        "datasets": {
            "imagenet": None,
            "imagenet-100": {"base": "imagenet", "classes": 100},
            "concrete": None,
        },
        "evaluations": {
            "v2": {"test_set": "imagenetv2"},
            "fifty": {"classes": 50, "transform": "blur"},
        },
    }
    sweep = Sweep.model_validate(content)
    population = sweep.population.population()
    priced = price(sweep, population, CPU_CORE)
    found = {
        it.dataset: [(test.images, test.transform, test.classes) for test in it.tests]
        for it in priced.planned.settings
    }
    assert found == {
        "imagenet": [(10_000, "identity", 1000), (2_500, "blur", 1000)],
        "imagenet-100": [(1_000, "identity", 100), (2_500, "blur", 100)],
        "concrete": [],
    }


def test_a_test_set_that_nobody_knows_is_told_before_anything_is_there(type_: Type) -> None:
    Path("sweep.yaml").write_text(TINY + "evaluations: {far: {test_set: imagenetv9}}\n")
    told = type_("run", "sweep.yaml", "--dry-run")
    assert (told.code, "evaluations.far: no dataset 'imagenetv9'" in told.err) == (2, True)


def test_prices_of_evaluations_are_learned_apart_from_training(tested: Prepared) -> None:
    """Forward passes are twice as fast here as training says, and transforms a third as fast."""
    planned = tested.planned
    by_id = {run.run_id: run for run in planned}
    prices = Features(*(0.5 * price for price in CPU_CORE.prices))
    true = replace(CPU_CORE, prices=prices._replace(transforms=3 * CPU_CORE.prices.transforms))
    unknown = [
        MeasuredTest(run.run_id, one, 1.0, 0.0) for run in planned for one in run.evaluations
    ]
    seconds = true.seconds(measured_evaluations(by_id, planned, unknown).features)
    noise = np.exp(np.random.default_rng(0).normal(0, 0.05, len(seconds)))
    tests = [
        replace(it, seconds=float(took)) for it, took in zip(unknown, seconds * noise, strict=True)
    ]
    trained = planned.where(lambda *_: True).priced(tested.views, CPU_CORE)
    runs = [
        MeasuredRun(run.run_id, run.seconds, 1.0, "cpu", "fast", first=False) for run in trained
    ]
    alone = learned_cost(planned, tested.views, runs, CPU_CORE)
    cost = learned_cost(planned, tested.views, runs, CPU_CORE, tests[:12])
    assert cost.prices == alone.prices
    others = measured_evaluations(by_id, planned, tests[12:])
    error = np.median(np.abs(cost.evaluation_seconds(others.features) / seconds[12:] - 1))
    before = np.median(np.abs(alone.evaluation_seconds(others.features) / seconds[12:] - 1))
    assert error < 0.15 < before
    strangers = [replace(it, run_id="0" * 16) for it in tests]
    assert learned_cost(planned, tested.views, runs, CPU_CORE, strangers).evaluation is None


def test_of_a_trained_run_only_missing_evaluations_are_left(tested: Prepared) -> None:
    planned, study = tested.planned, tested.study
    kept, other, partly, failed = planned[0], planned[1], planned[3], planned[4]
    study.weights_folder.mkdir(parents=True)
    for run in (kept, partly, failed):
        study.weights(run.run_id).touch()
    statuses = dict.fromkeys((kept.run_id, other.run_id, partly.run_id), "completed")
    done = {(partly.run_id, one) for one in partly.evaluations[:2]}
    recorded = Recorded(statuses | {failed.run_id: "failed"}, done)
    weights = kept_weights(study.weights_folder)
    left = with_what_is_left(planned, recorded, weights, CPU_CORE)
    seconds = {run.run_id: run.seconds for run in left}
    assert [run.seconds for run in left] == pytest.approx(left.seconds())
    groups = [tested.population.select([it.spec.architecture.id]).groups for it in (kept, partly)]
    tests = planned.settings[0].tests
    alone = CPU_CORE.evaluation_seconds(evaluation_features(groups[0], tests, 8))[0]
    assert seconds[kept.run_id] == pytest.approx(alone)
    last = CPU_CORE.evaluation_seconds(evaluation_features(groups[1], tests[2:], 8))[0]
    assert seconds[partly.run_id] == pytest.approx(last)
    for run in planned:  # without weights it is trained once more
        if run.run_id not in (kept.run_id, partly.run_id):
            assert seconds[run.run_id] == run.seconds
    assert with_what_is_left(planned, recorded, set(), CPU_CORE) is planned
