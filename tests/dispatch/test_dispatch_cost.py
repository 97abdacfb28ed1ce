"""What a run's time consists of, and learning a device's prices from a few runs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from anynet_study.design_space import Architecture, DesignSpace, Population
from anynet_study.design_space.populations.cells import groups_of
from anynet_study.dispatch.cost.features import Features, FloatArray, Workload, run_features
from anynet_study.dispatch.cost.fit import fit_cost, held_out_error
from anynet_study.dispatch.cost.prices import (
    CPU_CORE,
    H100,
    V100,
    CostModel,
    built_in_cost,
    expected_cost,
)
from anynet_study.models import build
from anynet_study.training import Recipe

RECIPE = Recipe(epochs=3, batch_size=64)
WORK = Workload.of(RECIPE, 1000, 300, 32, 10)
#: Known before anything is measured; fixed here, while the built-in prices follow the engine.
PRIOR = CostModel(
    "CPU core",
    Features(
        pointwise=2e-11,
        spatial=5e-12,
        spatial_outputs=1e-9,
        stem=1.5e-11,
        tiny=2e-11,
        outputs=2e-9,
        layers=1e-4,
        parameters=1e-8,
        pixels=1.5e-8,
        batches=1e-3,
        runs=0.1,
        starts=1.5,
        transforms=1e-7,
        tests=0.01,
    ),
)
#: Prices of a machine that is no multiple of that one.
MACHINE = CostModel(
    "machine",
    Features(
        *(p * f for p, f in zip(PRIOR.prices, [*[3, 1, 2, 1, 2, 1.5] * 2, 1, 1], strict=True))
    ),
)


@pytest.fixture(scope="module")
def population() -> Population:
    """Networks of which some have 1x1 and 2x2 maps on 32 pixels."""
    return DesignSpace.anynetx().sample(60, flops=(300e6, 500e6), seed=5)


@pytest.fixture(scope="module")
def runs(population: Population) -> FloatArray:
    """Features of 180 runs in a study's order: architectures on three datasets."""
    works = [
        Workload.of(Recipe(epochs=e, batch_size=b), train, test, side, 10)
        for e, b, train, test, side in [
            (3, 64, 1000, 300, 32),
            (9, 32, 90, 40, 64),
            (1, 128, 5000, 900, 24),
        ]
    ]
    tables = [run_features(population.groups, work) for work in works]
    return np.stack(tables, axis=1).reshape(-1, len(Features._fields))


def error(model: CostModel, features: FloatArray, seconds: FloatArray) -> float:
    """The benchmark's measure: the median relative error."""
    return float(np.median(np.abs(model.seconds(features) / seconds - 1)))


def noisy(features: FloatArray, seed: int, spread: float = 0.1) -> FloatArray:
    """Seconds that MACHINE takes for runs, give or take."""
    noise = np.random.default_rng(seed).normal(0, spread, len(features))
    seconds: FloatArray = MACHINE.seconds(features) * np.exp(noise)
    return seconds


def test_multiply_adds_outputs_and_parameters_are_those_of_the_network(population: Population):
    table = Features(*run_features(population.groups, WORK).T)
    images = 3 * 15 * 3 * 64 + 3 * 300  # steps of each epoch, forward and twice back; tests
    adds = table.pointwise + table.spatial + table.stem + table.tiny
    assert adds.tolist() == (images * population.flops(32, 10)).tolist()
    assert table.outputs.tolist() == [images * (a.activations(32, 10) - 10) for a in population]
    assert table.parameters.tolist() == [3 * 15 * a.parameters(10) for a in population]
    assert set(table.pixels) == {(3 * 15 * 64 + 3 * 300) * 32**2}
    assert set(table.batches) == {3 * 3 * 15 + 3 * 2}
    assert set(table.runs) == {1}
    assert set(table.starts) == {0}


def test_layers_are_those_that_torch_has(population: Population):
    table = Features(*run_features(population.groups, WORK).T)
    layers = [
        sum(isinstance(module, nn.Conv2d | nn.Linear) for module in build(one, 10).modules())
        for one in list(population)[:12]
    ]
    assert (table.layers / table.batches).tolist()[:12] == layers


def test_what_is_on_tiny_maps_is_counted_there():
    # 64 pixels, stem to 16: the stages put out 16, 8, 4, 2.
    network = Architecture((1, 1, 1, 2), (8, 8, 8, 16), (1, 1, 1, 2), (8, 8, 4, 4))
    work = Workload.of(Recipe(epochs=1, batch_size=2), 2, 0, 64, 3)
    table = Features(*run_features(groups_of([network]), work)[0] / 3)
    # Of the last stage all but the first block's entrance (8 to 8 channels on 4x4 maps).
    spatial, leaving, shortcut, entering = 8 * 4 * 9, 8 * 16, 8 * 16, 16 * 8
    assert table.tiny == 2 * 4 * (2 * spatial + 2 * leaving + shortcut + entering)
    assert table.spatial == 2 * 9 * (8 * 8 * 16**2 + 8 * 8 * 8**2 + 8 * 4 * 4**2)
    assert table.spatial_outputs == 2 * 8 * (16**2 + 8**2 + 4**2)


def test_excitations_and_other_blocks_have_features():
    plain = Architecture((1, 2), (16, 24), strides=(1, 2), block="basic")
    excited = Architecture((1, 2), (16, 24), strides=(1, 2), se_ratio=0.25)
    table = run_features(groups_of([plain, excited]), WORK)
    assert table.shape == (2, len(Features._fields))
    assert (PRIOR.seconds(table) > 0).all()


def test_all_at_once_is_one_at_a_time(population: Population):
    alone = [run_features(groups_of([one]), WORK)[0] for one in population]
    together = run_features(population.groups, WORK)
    assert np.array_equal(together, alone)
    one_by_one = [MACHINE.seconds(row[None])[0] for row in together]
    assert MACHINE.seconds(together) == pytest.approx(one_by_one, rel=1e-12)


def test_rows_of_different_frames_stay_in_order():
    mixed = [
        Architecture((1, 1), (8, 16), strides=(1, 2)),
        Architecture((2, 2), (8, 16), strides=(1, 2), stem="cifar"),
        Architecture((1, 3), (8, 16), strides=(1, 2)),
    ]
    table = run_features(groups_of(mixed), WORK)
    assert np.array_equal(table, [run_features(groups_of([one]), WORK)[0] for one in mixed])


@given(
    st.integers(1, 400),
    st.integers(0, 400),
    st.integers(1, 4),
    st.integers(4, 64),
    st.sampled_from(["train_images", "test_images", "epochs", "resolution"]),
)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_more_work_never_takes_less(train: int, test: int, epochs: int, side: int, more: str):
    network = groups_of([Architecture((1, 2, 1, 1), (8, 16, 16, 24))])

    def seconds(scale: int) -> float:
        grown = {"train_images": train, "test_images": test, "epochs": epochs, "resolution": side}
        grown[more] *= scale
        recipe = Recipe(epochs=grown["epochs"], batch_size=32, resolution=grown["resolution"])
        work = Workload.of(recipe, grown["train_images"], grown["test_images"], side, 10)
        return float(PRIOR.seconds(run_features(network, work))[0])

    assert seconds(2) >= seconds(1) > 0


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_prices_of_a_machine_are_recovered(runs: FloatArray, spread: float):
    """Also if every built-in price is wrong by a factor of its own, often of 3."""
    factors = np.exp(np.random.default_rng(0).normal(0, spread, len(Features._fields)))
    wrong = Features(*(np.asarray(PRIOR.prices) * factors).tolist())
    prior = replace(PRIOR, prices=wrong)
    seconds = noisy(runs, seed=0, spread=0.02)
    half = np.arange(len(runs)) % 2 == 0
    fitted = fit_cost(runs[half], seconds[half], prior)
    assert error(fitted, runs[~half], seconds[~half]) < 0.03
    assert (fitted.basis, fitted.runs) == ("fitted", half.sum())
    assert min(fitted.prices) >= 0


@pytest.mark.parametrize("factor", [0.02, 0.3, 1, 4, 50])
def test_one_run_tells_a_machine_that_is_faster_or_slower_as_a_whole(
    runs: FloatArray, factor: float
):
    seconds = factor * PRIOR.seconds(runs)
    fitted = fit_cost(runs[:1], seconds[:1], PRIOR)
    assert error(fitted, runs, seconds) < 0.05 + 0.05 * abs(np.log(factor))
    many = fit_cost(runs[:20], seconds[:20], PRIOR)
    assert error(many, runs, seconds) < 0.02


@pytest.mark.parametrize("count", [1, 2, 3, 5, 10])
def test_few_runs_hardly_ever_hurt_and_mostly_help(runs: FloatArray, count: int):
    """Against a prior that is right, and one that is wrong; runs with 10% of noise."""
    before, after = [], []
    for seed in range(30):
        seconds = noisy(runs, seed)
        chosen = np.random.default_rng(seed).permutation(len(runs))
        known, others = chosen[:count], chosen[count:]
        fitted = fit_cost(runs[known], seconds[known], PRIOR)
        right = fit_cost(runs[known], seconds[known], MACHINE)
        before.append(error(PRIOR, runs[others], seconds[others]))
        after.append(error(fitted, runs[others], seconds[others]))
        assert error(right, runs[others], seconds[others]) < 0.3
        assert after[-1] < 1.1 * before[-1]
    assert np.median(after) < 0.6 * np.median(before)


@pytest.mark.parametrize("odd", [0.02, 0.2, 5.0, 50.0])
def test_a_run_that_does_not_fit_the_others_says_little(runs: FloatArray, odd: float):
    """The machine was busy; or the run was resumed, and counts its last part only."""
    seconds = noisy(runs, seed=1)
    clean = fit_cost(runs[:12], seconds[:12], PRIOR)
    for place in (0, 5, 11):
        spoilt = seconds[:12].copy()
        spoilt[place] *= odd
        fitted = fit_cost(runs[:12], spoilt, PRIOR)
        assert error(fitted, runs[12:], seconds[12:]) < error(clean, runs[12:], seconds[12:]) + 0.05


def test_the_start_of_a_worker_is_told_from_its_first_run(runs: FloatArray):
    first = runs[:12].copy()
    first[0, Features._fields.index("starts")] = 1
    seconds = MACHINE.seconds(runs[:12])
    seconds[0] += 40
    fitted = fit_cost(first, seconds, PRIOR)
    assert error(fitted, runs[12:], MACHINE.seconds(runs[12:])) < 0.1


def test_what_no_run_has_costs_as_much_more_or_less_as_runs_do(population: Population):
    """Whatever becomes of the prices of what they have: here all but one are as good as none."""
    work = Workload.of(Recipe(epochs=1, batch_size=64), 128, 100, 8, 10)
    runs = run_features(population.groups, work)
    seconds = np.full(len(runs), 0.3)
    fitted = fit_cost(runs, seconds, PRIOR)
    faster = np.median(seconds / PRIOR.seconds(runs))
    assert fitted.prices.layers < 0.1 * faster * PRIOR.prices.layers
    for name in ("transforms", "tests", "starts"):
        price = getattr(PRIOR.prices, name)
        assert getattr(fitted.prices, name) == pytest.approx(faster * price, rel=0.05)


def test_a_fit_is_a_function_of_its_runs_whatever_their_order(runs: FloatArray):
    seconds = noisy(runs, seed=2)
    once, again = (fit_cost(runs[:20], seconds[:20], PRIOR) for _ in range(2))
    assert once.prices == again.prices
    turned = fit_cost(runs[:20][::-1], seconds[:20][::-1], PRIOR)
    assert turned.prices == pytest.approx(once.prices, rel=1e-6)


def test_held_out_error_is_that_of_runs_not_fitted(runs: FloatArray):
    seconds = noisy(runs, seed=3)
    known = held_out_error(runs[:40], seconds[:40], PRIOR)
    fitted = fit_cost(runs[:40], seconds[:40], PRIOR)
    assert known == pytest.approx(error(fitted, runs[40:], seconds[40:]), abs=0.03)
    assert np.isnan(held_out_error(runs[:3], seconds[:3], PRIOR))


def test_no_run_is_the_prior(runs: FloatArray):
    assert fit_cost(runs[:0], np.empty(0), PRIOR) is PRIOR


@pytest.mark.parametrize(
    ("features", "seconds"),
    [
        (np.ones((2, 3)), np.ones(2)),
        (np.ones((2, len(Features._fields))), np.ones(3)),
        (np.ones((2, len(Features._fields))), np.array([1.0, 0.0])),
        (np.ones((2, len(Features._fields))), np.array([1.0, np.nan])),
        (np.full((1, len(Features._fields)), np.nan), np.ones(1)),
        (-np.ones((1, len(Features._fields))), np.ones(1)),
        (np.zeros((1, len(Features._fields))), np.ones(1)),
    ],
)
def test_what_no_run_can_have_is_refused(features: FloatArray, seconds: FloatArray):
    with pytest.raises(ValueError, match=r"features|seconds"):
        fit_cost(features, seconds, PRIOR)


def test_the_expected_device_is_what_slurm_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert expected_cost("local", {"gpus_per_node": 1}) is CPU_CORE
    assert expected_cost("slurm", {}) is CPU_CORE
    assert expected_cost("slurm", {"gpus_per_node": 1}) is V100
    assert expected_cost("slurm", {"gres": "gpu:H100:2"}) is H100
    assert expected_cost("slurm", {"gpus_per_node": 1, "constraint": "h200"}) is H100


def test_records_name_the_device_whose_prices_are_known():
    assert built_in_cost("cpu") is CPU_CORE
    named = built_in_cost("NVIDIA H200")
    assert named == replace(H100, name="NVIDIA H200")
    assert built_in_cost("Tesla V100-SXM2-32GB").prices == V100.prices


def test_steps_parts_and_a_trained_head_are_counted():
    by_steps = Workload.of(Recipe(steps=37, batch_size=64), 1000, 300, 32, 10)
    assert (by_steps.steps, by_steps.evaluations) == (37, 3)
    assert by_steps.passes == 3 * 37 * 64 + 3 * 300
    in_parts = Workload.of(Recipe(steps=37, batch_size=64, accumulation=4), 1000, 300, 32, 10)
    assert in_parts.passes == by_steps.passes
    assert in_parts.batches == 3 * 37 * 4 + 3 * 2
    head = Workload.of(Recipe(steps=37, batch_size=64, trained="head"), 1000, 300, 32, 10)
    assert head.passes == 37 * 64 + 3 * 300
    few = Workload.of(Recipe(epochs=2, batch_size=64), 10, 300, 32, 10)
    assert (few.steps, few.trained) == (2, 20)


@given(st.integers(0, 10_000), st.integers(1, 40), st.floats(0, 6), st.integers(-3, 6))
@settings(derandomize=True, deadline=None, max_examples=40)
def test_whatever_was_measured_prices_stay_usable(seed: int, count: int, spread: float, size: int):
    random = np.random.default_rng(seed)
    shape = (count, len(Features._fields))
    features = np.exp(random.normal(0, 3, shape)) * 10.0 ** random.integers(-3, 14, shape[1])
    features *= random.random(shape) < random.uniform(0.2, 1)
    features[:, Features._fields.index("runs")] = 1
    seconds = np.exp(random.normal(0, spread, count)) * 10.0**size
    prior = (CPU_CORE, V100, H100)[seed % 3]
    fitted = fit_cost(features, seconds, prior)
    assert np.isfinite(fitted.prices).all()
    assert min(fitted.prices) > 0
    assert (fitted.seconds(features) > 0).all()
