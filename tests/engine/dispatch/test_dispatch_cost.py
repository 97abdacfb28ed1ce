"""What runs cost: features of their time, prices of devices, memory, and sizes known beforehand."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from torch import nn

from anynet_study.core.errors import UserError
from anynet_study.data import DatasetView, Variant, load_dataset, make_view
from anynet_study.data.catalog import CATALOG
from anynet_study.design_space import Architecture, DesignSpace, Population
from anynet_study.design_space.population_table import Group, groups_of
from anynet_study.engine.models import build
from anynet_study.engine.planning.features import (
    COST,
    MIXING_COST,
    Features,
    FurtherEvaluation,
    Workload,
    evaluation_features,
    layer_counts,
    run_features,
)
from anynet_study.engine.planning.memory import (
    CPU_MEMORY,
    GPU_MEMORY,
    MOST,
    RESERVE,
    DeviceMemory,
    device_memory,
    gpu_capacity,
    run_bytes,
    shared_bytes,
)
from anynet_study.engine.planning.prices import (
    CPU_CORE,
    H100,
    V100,
    CostModel,
    built_in_cost,
    expected_cost,
)
from anynet_study.engine.planning.sizes import dataset_size, size_of_view
from anynet_study.engine.training import Recipe, ResolvedRecipe
from anynet_study.engine.training.operators import TRANSFORMS

WORK = Workload.of(Recipe(epochs=3, batch_size=64), 1000, 300, 32, 10)
BARE = DeviceMemory(0, layer_bytes=0, slack=0.0, stream_bytes=0, is_gpu=False)
GIB = 2**30


@pytest.fixture(scope="module")
def population() -> Population:
    """Networks of which some have 1x1 and 2x2 maps on 32 pixels."""
    return DesignSpace.anynetx().sample(20, flops=(300e6, 500e6), seed=5)


def test_multiply_adds_outputs_and_layers_are_those_of_the_network(population: Population):
    table = Features(*run_features(population.groups, WORK).T)
    images = 3 * 15 * 3 * 64 + 3 * 300  # steps of each epoch, forward and twice back; tests
    counts = population.at(32, 10).table
    assert table.flops.tolist() == (images * np.array(counts["flops"])).tolist()
    assert table.activations.tolist() == [images * a.activations(32, 10) for a in population]
    assert (set(table.runs), set(table.transforms)) == ({1}, {0})
    layers = [
        sum(isinstance(module, nn.Conv2d | nn.Linear) for module in build(one, 10).modules())
        for one in list(population)[:12]
    ]
    assert (table.layers / (3 * 3 * 15 + 3 * 2)).tolist()[:12] == layers


def test_all_at_once_is_one_at_a_time_and_in_order(population: Population):
    cifar = Architecture((2, 2), (8, 16), strides=(1, 2), stem="cifar")  # of another frame
    networks = [*population, cifar, *population]
    together = run_features(groups_of(networks), WORK)
    assert np.array_equal(together, [run_features(groups_of([it]), WORK)[0] for it in networks])
    one_by_one = [V100.seconds(row[None])[0] for row in together]
    assert V100.seconds(together) == pytest.approx(one_by_one, rel=1e-12)


def test_steps_parts_and_a_trained_head_are_counted():
    by_steps = Workload.of(Recipe(steps=37, batch_size=64), 1000, 300, 32, 10)
    assert (by_steps.steps, by_steps.evaluations) == (37, 3)
    assert by_steps.passes == 3 * 37 * 64 + 3 * 300
    in_parts = Workload.of(Recipe(steps=37, batch_size=64, accumulation=4), 1000, 300, 32, 10)
    assert in_parts.passes == by_steps.passes
    assert in_parts.batches == 3 * 37 * 4 + 3 * 2
    head = Workload.of(Recipe(steps=37, batch_size=64, trained="head"), 1000, 300, 32, 10)
    assert head.passes == 37 * 64 + 3 * 300
    settled = Workload.of(Recipe(steps=37, batch_size=64, precise_bn=130), 1000, 300, 32, 10)
    assert settled.passes == by_steps.passes + 3 * 130
    assert settled.batches == by_steps.batches + 3 * 3
    seldom = Workload.of(
        Recipe(steps=37, batch_size=64, precise_bn=130, test_every=2), 1000, 300, 32, 10
    )
    assert seldom.evaluated == 2 * (300 + 130)
    assert (seldom.epochs, seldom.evaluations) == (3, 2)
    few = Workload.of(Recipe(epochs=2, batch_size=64), 10, 300, 32, 10)
    assert (few.steps, few.trained) == (2, 20)


def test_the_expected_device_is_what_slurm_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert expected_cost("local", {"gpus_per_node": 1}) is CPU_CORE
    assert expected_cost("slurm", {}) is CPU_CORE
    assert expected_cost("slurm", {"gpus_per_node": 1}) is V100
    assert expected_cost("slurm", {"gres": "gpu:H100:2"}) is H100
    assert expected_cost("slurm", {"gpus_per_node": 1, "constraint": "h200"}) is H100
    assert expected_cost("slurm", {"gpus_per_node": 1}, gpu="h200") is H100
    assert expected_cost("slurm", {}, gpu="h200") is CPU_CORE


def test_records_name_the_device_whose_prices_are_known():
    assert built_in_cost("cpu") is CPU_CORE
    named = built_in_cost("NVIDIA H200")
    assert named == replace(H100, name="NVIDIA H200")
    assert built_in_cost("Tesla V100-SXM2-32GB").prices == V100.prices


def test_how_fast_a_device_was_is_read_as_it_was_written(tmp_path: Path):
    measured, file = replace(CPU_CORE, factor=2.0, runs=3), tmp_path / "measured.json"
    file.write_text(measured.to_json())
    assert CostModel.of_json(file) == measured
    file.write_text('{"device": "cpu", "factor": 2.0, "runs": 3, "error": NaN}')  # before 0.2
    assert CostModel.of_json(file) == measured


def test_every_transform_has_a_price() -> None:
    assert set(COST) == set(TRANSFORMS)
    assert max(COST.values()) == 1


def test_operators_of_training_are_priced_by_what_they_are_applied_to() -> None:
    augment = [{"blur": {"probability": 0.5}}, "colour_jitter", "mixup"]
    recipe = Recipe(epochs=2, batch_size=50, precise_bn=100, augment=augment)  # type: ignore[arg-type]
    work = Workload.of(recipe, 1000, 300, 10, 10)
    assert work.transformed == pytest.approx(2 * 1100 * 100 * (0.5 * 0.9 + 1 + MIXING_COST))
    assert Workload.of(Recipe(), 1000, 300, 10, 10).transformed == 0


def test_an_evaluation_is_one_forward_pass_and_its_transform(population: Population) -> None:
    tests = [
        FurtherEvaluation("a", 300, 10, "colour_jitter", 7),
        FurtherEvaluation("b", 300, 10, "identity", 7),
        FurtherEvaluation("c", 20, 10, "colour_jitter", 7),
    ]
    table = Features(*evaluation_features(population.groups, tests, 8).T)
    assert table.flops.tolist() == (620 * np.array(population.at(8, 7).table["flops"])).tolist()
    layers = np.array([layer_counts(one.networks())[0] for one in population])
    assert table.layers.tolist() == ((2 + 2 + 1) * layers).tolist()
    assert set(table.transforms) == {320 * 10**2}
    assert set(table.runs) == {0}


def test_a_run_takes_its_training_step_and_the_images_of_a_batch(population: Population):
    large = Workload.of(Recipe(batch_size=512), 1000, 300, 32, 10)
    steps = np.array([one.training_memory(512, 32, 10) for one in population])
    images = run_bytes(population.groups, large, BARE) - steps
    assert len(set(images)) == 1  # training takes more than evaluation, for each of them
    pixels = 512 * 32 * 32
    assert 8 * pixels < images[0] < 64 * pixels
    doubled = run_bytes(population.groups, large, replace(BARE, slack=1.0))
    assert doubled.tolist() == (2 * (steps + images)).tolist()
    compiled = run_bytes(population.groups, large, replace(BARE, layer_bytes=7)) - steps - images
    assert compiled.tolist() == [7 * layer_counts(one.networks())[0] for one in population]


def test_parts_of_a_batch_take_less_memory(population: Population):
    whole, parts = (
        Workload.of(Recipe(batch_size=256, accumulation=parts), 1000, 300, 32, 10)
        for parts in (1, 4)
    )
    less = run_bytes(population.groups, parts, BARE) / run_bytes(population.groups, whole, BARE)
    assert (less < 0.7).all()


def test_evaluation_can_take_more_than_small_training_steps():
    flat = Architecture((1,), (512,), strides=(1,), stem="cifar")
    small = Workload.of(Recipe(batch_size=2), 1000, 300, 32, 10)
    step = flat.training_memory(2, 32, 10)
    evaluation = 3 * 256 * 512 * 32 * 32 * 4
    taken = run_bytes(groups_of([flat]), small, BARE)[0]
    assert step < evaluation < taken < 1.1 * evaluation
    without_tests = Workload.of(Recipe(batch_size=2), 1000, 1, 32, 10)
    assert run_bytes(groups_of([flat]), without_tests, BARE)[0] < 1.1 * step


def test_a_gpu_holds_the_graphs_of_a_run_and_evaluates_beside_them() -> None:
    """Of the largest map three copies an image, by the thousand; and room for its stream."""
    flat = Architecture((1,), (64,), strides=(1,), stem="cifar", stem_width=64, block="vanilla")
    work = Workload.of(Recipe(batch_size=2), 1000, 5000, 32, 10)
    on_cpu = run_bytes(groups_of([flat]), work, BARE)[0]
    gpu = replace(BARE, is_gpu=True)
    on_gpu = run_bytes(groups_of([flat]), work, gpu)[0]
    assert run_bytes(groups_of([flat]), work, replace(gpu, stream_bytes=7))[0] == on_gpu + 7
    maps = 3 * 4 * 64 * 32 * 32
    assert 2 * 1024 * maps < on_gpu < 2.1 * 1024 * maps
    assert 256 * maps < on_cpu < 1.1 * 256 * maps


def test_memory_of_all_at_once_is_that_of_one_at_a_time(population: Population):
    alone = [run_bytes(groups_of([one]), WORK, CPU_MEMORY)[0] for one in population]
    assert run_bytes(population.groups, WORK, CPU_MEMORY).tolist() == alone


def test_datasets_are_shared_where_they_are_resident():
    assert shared_bytes(1000, GPU_MEMORY) == GPU_MEMORY.process_bytes + 3000
    assert shared_bytes(1000, CPU_MEMORY) == CPU_MEMORY.process_bytes
    assert device_memory(CPU_CORE.name) == device_memory("cpu") == CPU_MEMORY
    assert device_memory(V100.name) == device_memory("NVIDIA H200") == GPU_MEMORY


def on_digits(count: int) -> tuple[Sequence[Group], DatasetView, ResolvedRecipe]:
    """So many networks, and a recipe of 32 pixels, on handwritten digits."""
    view = make_view(load_dataset("digits"), Variant(base="digits"))
    population = DesignSpace.anynetx(stem="cifar").sample(
        count, flops=(300e6, 400e6), resolution=32
    )
    recipe = Recipe(crop="pad", padding=12, resolution=32).resolved(view.size, 10)
    return population.groups, view, recipe


def test_from_one_to_the_most_and_never_fewer_with_more_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path))
    setting = on_digits(3)
    counts = [gpu_capacity([setting], int(free * GIB)) for free in (0.5, 1, 2, 4, 8, 16, 80)]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (1, 3)  # three networks: no more than there are
    assert gpu_capacity([], 80 * GIB) == 1 <= MOST


def test_a_dataset_that_takes_more_than_half_of_a_gpu_is_streamed_and_takes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path))
    groups, view, recipe = setting = on_digits(6)
    largest_first = sorted(run_bytes(groups, size_of_view(view).workload(recipe), GPU_MEMORY))[::-1]
    free = int((GPU_MEMORY.process_bytes + sum(largest_first[:5])) / (1 - RESERVE)) + 1
    fitting = {}
    for share in (0.0, 0.45, 0.55):
        pixels = max(0, int(share * free - GPU_MEMORY.process_bytes) // 3)
        monkeypatch.setattr("anynet_study.engine.planning.memory._pixels", lambda _, it=pixels: it)
        fitting[share] = gpu_capacity([setting], free)
    assert fitting[0.0] == fitting[0.55] == 5 > fitting[0.45] > 0


@pytest.mark.parametrize("name", [n for n, entry in CATALOG.items() if entry.kind != "test set"])
def test_all_that_can_be_trained_on(data_home, name):
    entry, size = CATALOG[name], dataset_size(Variant(base=name))
    assert (size.classes, size.side, size.known) == (entry.classes, entry.size, False)
    assert size.train_images + size.test_images == entry.images


@pytest.mark.parametrize(
    ("variant", "classes", "train"),
    [
        ({"groups": "superclasses"}, 20, 50_000),
        ({"groups": "superclasses", "classes": 5}, 5, 12_500),
        ({"groups": {"a": ["x"], "b": ["y"]}}, 2, 50_000),
        ({"classes": 10, "per_class": 50}, 10, 500),
        ({"classes": ["apple", "bear"], "fraction": "1/8"}, 2, 125),
    ],
)
def test_variants_of_cifar100(data_home, variant, classes, train):
    size = dataset_size(Variant.model_validate({"base": "cifar100", **variant}))
    assert (size.classes, size.train_images) == (classes, train)


def test_the_share_that_is_to_be_held_out(data_home):
    size = dataset_size(Variant(base="concrete", test_share=0.1))
    assert (size.train_images, size.test_images) == (36_000, 4_000)


@pytest.mark.parametrize(
    ("name", "variant", "reason"),
    [
        ("imagenetv2", {}, "'imagenetv2' is a test set only"),
        ("mine", {}, "add it with: anynet-study data add mine"),
        ("cifar100", {"groups": "superclasses", "classes": 21}, "has 20 classes, not 21"),
        ("aptos", {"groups": "superclasses"}, "aptos has no superclasses"),
    ],
)
def test_what_cannot_be_priced(data_home, name, variant, reason):
    with pytest.raises(UserError, match=reason):
        dataset_size(Variant.model_validate({"base": name, **variant}))
