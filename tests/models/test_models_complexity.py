"""The closed forms are, to the unit, what fvcore traces in the torch module and torch trains."""

import warnings
from collections import Counter
from typing import Any, NamedTuple

import pytest
from architecture_strategies import architectures
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn, zeros

from anynet_study.design_space import Architecture, DesignSpace, complexity
from anynet_study.design_space.space import SPACES
from anynet_study.models import build

OPERATORS = ("conv", "linear", "addmm")
#: Spaces that differ from the named ones in block, number of stages, stem and excitation.
CUSTOM: list[dict[str, Any]] = [
    {"block": "basic", "strides": [1, 2], "depths": [1, 6]},
    {"block": "basic", "stem": "cifar", "strides": [1, 2, 2, 1, 2], "widths": [8, 128]},
    {"block": "vanilla", "stem": "simple", "strides": [2, 1]},
    {"block": "vanilla", "strides": [1, 2, 1, 2, 2], "widths": [8, 128], "depths": [1, 4]},
    {"strides": [2, 3], "se_ratio": 0.5, "stem": "simple", "stem_width": 7},
    {"strides": [1, 2, 1, 2, 2], "se_ratio": 0.1, "stem": "cifar"},
    {"base": "anynetxe", "stem_width": 16, "strides": [1, 2, 2]},
    {"base": "regnety", "strides": [1, 2, 2, 2, 2], "depth": [5, 30], "se_ratio": 1.0},
]


class Counts(NamedTuple):
    """FLOPs and activations of convolutions and linear layers, and parameters."""

    flops: int
    activations: int
    parameters: int


def traced(network: nn.Module, resolution: int) -> dict[str, Counts]:
    """Counts of the network ("") and of each of its modules, by its name."""
    with warnings.catch_warnings():
        # fvcore traces with torch.jit, which torch has deprecated.
        warnings.simplefilter("ignore")
        from fvcore.nn import ActivationCountAnalysis, FlopCountAnalysis

        image = zeros(1, 3, resolution, resolution)
        flops, activations = (
            analysis(network.eval(), image).unsupported_ops_warnings(False).by_module_and_operator()
            for analysis in (FlopCountAnalysis, ActivationCountAnalysis)
        )
    parameters = {
        name: sum(weights.numel() for weights in module.parameters())
        for name, module in network.named_modules()
    }
    return {
        name: Counts(_layers(flops[name]), _layers(activations[name]), parameters[name])
        for name in parameters
    }


def _layers(by_operator: Counter[str]) -> int:
    return int(sum(by_operator[name] for name in OPERATORS))


def counted(a: Architecture, resolution: int, classes: int) -> dict[str, Counts]:
    """The same by the closed forms, of the network, its stem, its stages and its head."""
    networks = a.networks()
    parts = zip(
        complexity.flops_by_part(networks, resolution, classes),
        complexity.activations_by_part(networks, resolution, classes),
        complexity.parameters_by_part(networks, classes),
        strict=True,
    )
    stem, stages, head = parts
    of_stages = zip(*(one[:, 0].tolist() for one in stages), strict=True)
    return {
        "": Counts(
            a.flops(resolution, classes), a.activations(resolution, classes), a.parameters(classes)
        ),
        "stem": Counts(*(int(one) for one in stem)),
        **{f"stages.{number}": Counts(*one) for number, one in enumerate(of_stages)},
        "head": Counts(*(int(one[0]) for one in head)),
    }


def assert_same(a: Architecture, resolution: int, classes: int) -> None:
    expected = counted(a, resolution, classes)
    found = traced(build(a, classes), resolution)
    assert {name: found[name] for name in expected} == expected


@given(architectures(most_depth=2), st.sampled_from([1, 2, 7, 8, 33, 64]), st.integers(1, 20))
@settings(derandomize=True, deadline=None, max_examples=50)
def test_of_any_network(a: Architecture, resolution: int, classes: int) -> None:
    assert_same(a, resolution, classes)


@pytest.mark.parametrize("spec", [*SPACES, *CUSTOM], ids=str)
def test_of_random_members_of_a_space(spec: Any) -> None:
    space = DesignSpace.from_spec(spec)
    population = space.sample(2, flops=(1e6, 2e7), resolution=32, classes=10, seed=3)
    for a, (resolution, classes) in zip(population, [(1, 3), (47, 100)], strict=True):
        assert_same(a, resolution, classes)


@pytest.mark.parametrize(
    ("stem", "count", "band", "resolution", "classes"),
    [("imagenet", 4, (360e6, 400e6), 224, 1000), ("cifar", 3, (50e6, 60e6), 33, 10)],
)
def test_of_the_paper_s_populations(
    stem: str, count: int, band: tuple[float, float], resolution: int, classes: int
) -> None:
    population = DesignSpace.anynetx(stem).sample(count, band, resolution, classes, seed=4)
    columns = zip(*(population.table[name].to_pylist() for name in Counts._fields), strict=True)
    for architecture, costs in zip(population, columns, strict=True):
        assert costs == traced(build(architecture, classes), resolution)[""]
