"""How many runs a GPU is thought to carry."""

from pathlib import Path

import pytest

from anynet_study.data import Variant, load_dataset, make_view
from anynet_study.design_space import DesignSpace
from anynet_study.dispatch.cost.memory import MOST, gpu_capacity
from anynet_study.dispatch.plan import PlannedRun
from anynet_study.training import Recipe, RunSpec

GIB = 2**30


def test_from_one_to_the_most_and_never_fewer_with_more_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path))
    view = make_view(load_dataset("digits"), Variant(base="digits"))
    population = DesignSpace.anynetx(stem="cifar").sample(3, flops=(300e6, 400e6), resolution=32)
    recipe = Recipe(crop="pad", padding=12, resolution=32).resolved(view.size, 10)
    runs = [
        PlannedRun("0", RunSpec(architecture, {}, recipe), "digits", "basic", 0, 1.0)
        for architecture in population
    ]
    counts = [
        gpu_capacity(runs * 9, population, {"digits": view}, int(free * GIB))
        for free in (0.5, 1, 2, 4, 8, 16, 80)
    ]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (1, 3)  # three networks: no more than there are
    assert gpu_capacity([], population, {}, 80 * GIB) == 1 <= MOST
