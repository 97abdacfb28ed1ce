"""The loops that the benchmark compares with draw the same space and count the same."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from anynet_study.design_space import DesignSpace, Population

LOOPS = Path(__file__).parents[2] / "benchmarks" / "sampling_loops.py"


@pytest.fixture(scope="module")
def loops() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sampling_loops", LOOPS)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def population() -> Population:
    return DesignSpace.anynetx().sample(50)


def test_complexities(loops: Any, population: Population) -> None:
    for a in population:
        costs = a.flops(), a.parameters(), a.activations()
        stages = (a.depths, a.widths, a.bottleneck_ratios, a.group_widths)
        assert loops._lean_complexity(list(zip(*stages, strict=True))) == costs
        configuration = loops._defaults()
        names = ("DEPTHS", "WIDTHS", "RATIOS", "GROUP_WIDTHS")
        configuration.STAGES.update(zip(names, map(list, stages), strict=True))
        counted = loops._complexity(configuration)
        assert (counted["flops"], counted["parameters"], counted["activations"]) == costs


def test_with_and_without_configurations_the_same_is_drawn(loops: Any) -> None:
    assert loops.published(200) == loops.unconfigured(200)
