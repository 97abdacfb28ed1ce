"""Candidates before any constraint or band: every marginal has the documented mass function.

The mass functions are computed here, from the formulas of the docstrings.
"""

from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import plain_sampler
import pytest
from scipy import stats

from anynet_study.design_space import DesignSpace
from anynet_study.design_space.distribution import words_of
from anynet_study.design_space.networks import Networks
from anynet_study.design_space.regnet import RegNet

N = 100_000
Mass = dict[Any, float]

#: In these, every draw fits together as it is, so that the networks show what was drawn.
COMPATIBLE = {
    "log-uniform": {"widths": [128, 1024], "width_divisor": 128},
    "uniform": {
        "widths": [128, 1024],
        "width_divisor": 128,
        "depth_distribution": "uniform",
        "width_distribution": "uniform",
    },
    "ranges by stage": {
        "strides": [2, 1, 2],
        "depths": [[1, 3], [2, 9], [4, 4]],
        "widths": [[96, 384], [192, 288], [96, 960]],
        "width_divisor": 96,
        "bottleneck_ratios": [1, 3],
        "group_widths": [1, 2, 4, 16],
    },
    "eight basic stages": {
        "block": "basic",
        "strides": [1] * 8,
        "widths": [3, 60],
        "width_divisor": 3,
    },
    "one vanilla stage": {"block": "vanilla", "strides": [2], "depths": [1, 128]},
    "odd widths": {
        "widths": [1, 60],
        "width_divisor": 1,
        "bottleneck_ratios": [1],
        "group_widths": [1],
    },
}
NAMED = ["anynetx", "anynetxa", "anynetxb", "anynetxc", "anynetxd", "anynetxe"]
RANGED = {
    "log_uniform": lambda x, q: np.log((x + q / 2) / (x - q / 2)),
    "uniform": lambda x, q: 1.0,
}


def candidates(space: DesignSpace, seed: int, count: int = N) -> Networks:
    return space.draw(words_of(seed, 0, count, space.words))[0]


def p_value(drawn: npt.ArrayLike, mass: Mass) -> float:
    """The p-value of a chi-square test; rare values are taken together."""
    values, seen = np.unique(np.asarray(drawn), return_counts=True)
    counts = dict(zip(values.tolist(), seen.tolist(), strict=True))
    assert set(counts) <= set(mass)
    observed = np.array([counts.get(value, 0) for value in mass], dtype=float)
    expected = np.array(list(mass.values())) / sum(mass.values()) * observed.sum()
    rare = expected < 10
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    return float(stats.chisquare(observed, expected).pvalue) if len(expected) > 1 else 1.0


def accept(p_values: list[float]) -> None:
    """Refuse at a level of 1% for all together (Bonferroni), and where they are not uniform."""
    assert min(p_values) * len(p_values) > 0.01
    random = [p for p in p_values if p < 1]  # a parameter of one value has 1
    assert stats.kstest(random, "uniform").pvalue > 1e-3


def ranged_mass(kind: str, low: int, high: int, step: int) -> Mass:
    return {x: RANGED[kind](x, step) for x in range(low, high + 1, step)}


def each_stage(ranges: tuple[tuple[int, int], ...], stages: int) -> tuple[tuple[int, int], ...]:
    return ranges * stages if len(ranges) == 1 else ranges


@pytest.mark.parametrize("name", COMPATIBLE)
def test_every_parameter_of_every_stage(name: str) -> None:
    space = DesignSpace.from_spec(COMPATIBLE[name])
    stages, n = space.stages, space.skeleton.stages
    networks = candidates(space, seed=1)
    p_values = []
    for stage in range(n):
        depths, widths = (each_stage(ends, n)[stage] for ends in (stages.depths, stages.widths))
        w = ranged_mass(stages.width_distribution, *widths, stages.width_divisor)
        d = ranged_mass(stages.depth_distribution, *depths, 1)
        p_values += [p_value(networks.depths[stage], d), p_value(networks.widths[stage], w)]
        if space.skeleton.block == "bottleneck":
            b, g = (dict.fromkeys(v, 1.0) for v in (stages.bottleneck_ratios, stages.group_widths))
            p_values.append(p_value(networks.bottleneck_ratios[stage], b))
            p_values.append(p_value(networks.group_widths[stage], g))
    accept(p_values)


@cache
def realised_mass() -> Mass:
    """The paper's widths, ratios and group widths after realisation, as one number each."""
    mass: Mass = {}
    for w, p in ranged_mass("log_uniform", 8, 1024, 8).items():
        for b in (1, 2, 4):
            for g in (1, 2, 4, 8, 16, 32):
                realised = coded(*plain_sampler.realise(w, b, g), b)
                mass[realised] = mass.get(realised, 0) + p / 18
    return mass


def coded(w: Any, g: Any, b: Any) -> Any:
    return (w * 100 + g) * 10 + b


@pytest.mark.parametrize("name", NAMED)
def test_every_stage_of_the_named_spaces_before_constraints(name: str) -> None:
    space = DesignSpace.from_spec(name)
    networks = candidates(space, seed=NAMED.index(name) + 2)
    together = coded(networks.widths, networks.group_widths, networks.bottleneck_ratios)
    p_values = []
    for stage in range(4):
        depths = ranged_mass("log_uniform", 1, 16, 1)
        p_values.append(p_value(networks.depths[stage], depths))
        p_values.append(p_value(together[stage], realised_mass()))
        p_values.append(p_value(networks.bottleneck_ratios[stage], dict.fromkeys((1, 2, 4), 1.0)))
    accept(p_values)
    ratios_shared = (networks.bottleneck_ratios == networks.bottleneck_ratios[0]).all()
    assert ratios_shared == (name >= "anynetxb")
    wide = (networks.bottleneck_widths >= 32).all(axis=0)
    groups = networks.group_widths[:, wide]
    assert (groups == groups[0]).all() == (name >= "anynetxc")


@pytest.mark.parametrize("spec", [
    "regnetx",
    "regnety",
    {"base": "regnetx", "distribution": "uniform", "depth": [10, 20], "slope": [0.1, 40.0],
     "width_multiplier": [1.1, 4.0], "initial_width": [64, 64], "bottleneck_ratios": [1]},
])  # fmt: skip
def test_the_numbers_of_regnets(spec: Any) -> None:
    space = DesignSpace.from_spec(spec)
    stages = space.stages
    assert isinstance(stages, RegNet)
    words = words_of(9, 0, N, space.words)
    kind, drawn = (
        stages.distribution,
        [one.draw(row) for one, row in zip(stages.distributions, words, strict=True)],
    )
    tenths, hundredths = (
        [round(by * end) for end in ends]
        for by, ends in ((10, stages.slope), (100, stages.width_multiplier))
    )
    masses = [
        ranged_mass(kind, *stages.depth, 1),
        ranged_mass(kind, *stages.initial_width, 8),
        ranged_mass(kind, *tenths, 1),
        ranged_mass(kind, *hundredths, 1),
        dict.fromkeys(stages.bottleneck_ratios, 1.0),
        dict.fromkeys(stages.group_widths, 1.0),
    ]
    accept([p_value(one, mass) for one, mass in zip(drawn, masses, strict=True)])


def test_parameters_are_drawn_independently_of_each_other_and_of_the_candidate_before() -> None:
    networks = candidates(DesignSpace.from_spec(COMPATIBLE["log-uniform"]), seed=12)
    parts = ("depths", "widths", "bottleneck_ratios", "group_widths")
    drawn = np.vstack([getattr(networks, part) for part in parts])
    ranks = [np.unique(row, return_inverse=True)[1] for row in drawn]
    binned = [np.searchsorted(np.quantile(row, [0.25, 0.5, 0.75]), row) for row in ranks]
    pairs = [(a, b) for a, b in combinations(binned, 2)]
    pairs += [(a[1:], b[:-1]) for a in binned for b in binned]
    assert len(pairs) == 120 + 256
    accept([stats.chi2_contingency(table(a, b)).pvalue for a, b in pairs])


def table(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    counts = np.zeros((4, 4))
    np.add.at(counts, (a, b), 1)
    return counts[counts.any(axis=1)][:, counts.any(axis=0)]


def test_the_test_would_notice() -> None:
    """A mass function that is off by a little is refused, so those that are accepted are right."""
    networks = candidates(DesignSpace.from_spec(COMPATIBLE["log-uniform"]), seed=1)
    floor = {x: np.log((x + 1) / x) for x in range(1, 17)}  # rounded down, not to the nearest
    assert p_value(networks.depths[0], floor) < 1e-100
