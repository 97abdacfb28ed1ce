"""What runs take of a device's memory, and how many of them it carries."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anynet_study.design_space import Architecture, DesignSpace, Population
from anynet_study.design_space.populations.cells import groups_of
from anynet_study.dispatch.cost.features import Workload, layer_counts
from anynet_study.dispatch.cost.memory import (
    CPU_MEMORY,
    GPU_MEMORY,
    MIB,
    DeviceMemory,
    device_memory,
    run_bytes,
    runs_at_once,
    shared_bytes,
)
from anynet_study.dispatch.cost.prices import CPU_CORE, V100
from anynet_study.training import Recipe

BARE = DeviceMemory(process_bytes=0, layer_bytes=0, slack=0.0, resident=False)
WORK = Workload.of(Recipe(batch_size=64), 1000, 300, 32, 10)


@pytest.fixture(scope="module")
def population() -> Population:
    return DesignSpace.anynetx().sample(20, flops=(300e6, 500e6), seed=5)


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


def test_all_at_once_is_one_at_a_time(population: Population):
    alone = [run_bytes(groups_of([one]), WORK, CPU_MEMORY)[0] for one in population]
    assert run_bytes(population.groups, WORK, CPU_MEMORY).tolist() == alone


def test_datasets_are_shared_where_they_are_resident():
    assert shared_bytes(1000, GPU_MEMORY) == GPU_MEMORY.process_bytes + 3000
    assert shared_bytes(1000, CPU_MEMORY) == CPU_MEMORY.process_bytes
    assert device_memory(CPU_CORE.name) == device_memory("cpu") == CPU_MEMORY
    assert device_memory(V100.name) == device_memory("NVIDIA H200") == GPU_MEMORY


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.integers(0, 200), st.integers(1, 7))
def test_whichever_runs_are_at_it_together_they_fit(each: list[int], free: int, most: int):
    count = runs_at_once(each, free, most=most, reserve=0.0)
    assert 1 <= count <= min(most, len(each))
    if count > 1:
        assert all(sum(chosen) <= free for chosen in combinations(each, count))
    if count < min(most, len(each)):
        assert any(sum(chosen) > free for chosen in combinations(each, count + 1))


def test_what_is_shared_or_kept_free_is_not_given_to_runs():
    each = np.full(20, 10 * MIB)
    assert runs_at_once(each, 100 * MIB, reserve=0.0) == 10
    assert runs_at_once(each, 100 * MIB) == 9
    assert runs_at_once(each, 100 * MIB, shared=55 * MIB) == 3
    assert runs_at_once(each, 100 * MIB, most=2) == 2
    assert runs_at_once(each, 5 * MIB) == 1
    assert runs_at_once([], 5 * MIB) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ([-1.0], 10),
        ([[1.0]], 10),
        ([np.nan], 10),
        ([1.0], -1),
        ([1.0], 10, -1),
        ([1.0], 10, 0, 0),
        ([1.0], 10, 0, 4, 1.0),
    ],
)
def test_what_is_no_memory_is_refused(arguments: tuple):
    with pytest.raises(ValueError, match="no memory of runs"):
        runs_at_once(*arguments)
