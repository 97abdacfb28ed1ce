"""The closed forms are, to the unit, what fvcore traces in the torch module and torch trains."""

import warnings
from collections import Counter
from typing import NamedTuple

import pytest
from architecture_strategies import architectures
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn, zeros

from anynet_study.design_space import Architecture, DesignSpace, complexity
from anynet_study.engine.models import build

OPERATORS = ("conv", "linear", "addmm")


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
        complexity.by_part("flops", networks, resolution, classes),
        complexity.by_part("activations", networks, resolution, classes),
        complexity.by_part("parameters", networks, 1, classes),
        strict=True,
    )
    stem, stages, head = parts
    of_stages = zip(*(counts[:, 0].tolist() for counts in stages), strict=True)
    return {
        "": Counts(
            a.flops(resolution, classes), a.activations(resolution, classes), a.parameters(classes)
        ),
        "stem": Counts(*map(int, stem)),
        **{f"stages.{number}": Counts(*counts) for number, counts in enumerate(of_stages)},
        "head": Counts(*(int(counts[0]) for counts in head)),
    }


def assert_same(a: Architecture, resolution: int, classes: int) -> None:
    expected = counted(a, resolution, classes)
    found = traced(build(a, classes), resolution)
    assert {name: found[name] for name in expected} == expected


@pytest.mark.slow
@given(architectures(most_depth=2), st.sampled_from([1, 2, 7, 8, 33, 64]), st.integers(1, 20))
@settings(derandomize=True, deadline=None, max_examples=15)
def test_of_any_network(a: Architecture, resolution: int, classes: int) -> None:
    assert_same(a, resolution, classes)


@pytest.mark.slow
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
