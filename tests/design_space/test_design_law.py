"""Candidates and samples have the documented law.

Every marginal before any constraint or band has the documented mass function, computed here from
the formulas of the docstrings. Samples of small spaces are held against the exact law, by trying
every combination of parameters (tests/plain_sampler.py); different draws of one network are added.
"""

from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import plain_sampler
import pytest
from plain_sampler import Bands
from scipy import stats

from anynet_study.design_space import Architecture, DesignSpace, sampling
from anynet_study.design_space.architecture import architecture_of
from anynet_study.design_space.distribution import words_of
from anynet_study.design_space.networks import Networks
from anynet_study.design_space.regnet import RegNet
from anynet_study.design_space.sampling import Request

pytestmark = pytest.mark.slow

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
    """The p-value of a chi-square test of drawn values."""
    values, seen = np.unique(np.asarray(drawn), return_counts=True)
    return chi_square(dict(zip(values.tolist(), seen.tolist(), strict=True)), mass)


def chi_square(counts: dict[Any, int], mass: Mass) -> float:
    """The p-value of a chi-square test; rare events are taken together."""
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


RESOLUTION, CLASSES = 24, 3
SMALL: dict[str, Any] = {
    "strides": [1, 2],
    "stem": "cifar",
    "stem_width": 8,
    "depths": [1, 3],
    "widths": [8, 24],
    "bottleneck_ratios": [1, 2],
    "group_widths": [2, 8],
}
TOYS: dict[str, tuple[Any, Bands]] = {
    "free": (SMALL, {}),
    "in three bands": (
        SMALL,
        {"flops": (1e6, 4e6), "parameters": (3e3, 12e3), "activations": (40e3, 110e3)},
    ),
    "all non-decreasing": (
        {**SMALL, "non_decreasing": ["depths", "widths", "bottleneck_ratios", "group_widths"]},
        {"parameters": (3e3, 12e3)},
    ),
    "shared": (
        {**SMALL, "strides": [1, 2, 1], "shared": ["bottleneck_ratios", "group_widths"]},
        {"activations": (30e3, 60e3)},
    ),
    "eight networks": (
        {
            **SMALL,
            "shared": ["depths", "widths", "bottleneck_ratios"],
            "depths": [1, 2],
            "widths": [8, 16],
            "group_widths": [8],
        },
        {},
    ),
    "one basic stage": (
        {"block": "basic", "strides": [2], "depths": [1, 3], "widths": [8, 32]},
        {"parameters": (10e3, 60e3)},
    ),
    "uniform ranges by stage": (
        {
            **SMALL,
            "depths": [[1, 2], [2, 4]],
            "widths": [[16, 16], [8, 32]],
            "depth_distribution": "uniform",
            "width_distribution": "uniform",
            "se_ratio": 0.25,
        },
        {"parameters": (2e3, 9e3)},
    ),
    "RegNet": (
        {
            "base": "regnety",
            "strides": [2, 1],
            "depth": [2, 6],
            "initial_width": [8, 24],
            "slope": [8.0, 8.7],
            "width_multiplier": [1.95, 2.05],
            "bottleneck_ratios": [1, 2],
            "group_widths": [2, 8],
        },
        {"parameters": (3e3, 12e3)},
    ),
}  # fmt: skip


def request_of(name: str, count: int = 1, seed: int = 0) -> Request:
    spec, bands = TOYS[name]
    space = DesignSpace.from_spec(spec)
    bounds = {"flops": None, "parameters": None, "activations": None, **bands}
    return sampling.request(space, count, bounds, RESOLUTION, CLASSES, seed)


def law_of(name: str) -> dict[Architecture, float]:
    spec, bands = TOYS[name]
    return plain_sampler.law(DesignSpace.from_spec(spec), bands, RESOLUTION, CLASSES)


@pytest.mark.parametrize("name", TOYS)
def test_candidates_in_the_band_have_the_law_of_the_space_given_the_band(name: str) -> None:
    law = law_of(name)
    assert len(law) > 3
    assert sum(law.values()) == pytest.approx(1)
    seen = request_of(name).look(0, 1 << 17)
    skeleton = request_of(name).space.skeleton
    rows, counts = np.unique(seen.rows, axis=0, return_counts=True)
    found = {
        architecture_of(row, skeleton): count
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True)
    }
    assert chi_square(found, law) * len(TOYS) > 0.01


@pytest.mark.parametrize("name", ["eight networks", "one basic stage"])
def test_samples_have_the_law_of_different_draws_in_a_row(name: str) -> None:
    """The first two of a sample are i, j with probability p_i p_j / (1 - p_i)."""
    law = {a.id: p for a, p in law_of(name).items()}
    assert 4 < len(law) < 12
    pairs = {(i, j): p * q / (1 - p) for i, p in law.items() for j, q in law.items() if i != j}
    firsts: dict[Any, int] = {}
    both: dict[Any, int] = {}
    for seed in range(1000):
        ids = sampling.sample(request_of(name, 2, seed), chunk=256, threads=1).ids
        firsts[ids[0]] = firsts.get(ids[0], 0) + 1
        both[ids] = both.get(ids, 0) + 1
    assert chi_square(firsts, law) > 1e-3
    assert chi_square(both, pairs) > 1e-3


def test_as_many_repetitions_as_theory_expects() -> None:
    """All sixteen equally likely networks take 16 (1 + 1/2 + ... + 1/16) candidates on average."""
    space = DesignSpace.anynetx(
        depths=[1, 1], widths=[8, 8], bottleneck_ratios=[1], group_widths=[4, 8]
    )
    bounds = dict.fromkeys(("flops", "parameters", "activations"))
    records = [
        sampling.sample(sampling.request(space, 16, bounds, 8, 2, seed), 256, 1).sampling
        for seed in range(400)
    ]
    assert all(r["in_band"] == r["in_space"] == r["candidates"] for r in records)
    assert all(r["duplicates"] == r["candidates"] - 16 for r in records)
    left = np.arange(1, 17) / 16
    mean, variance = (1 / left).sum(), ((1 - left) / left**2).sum()
    deviation = np.mean([r["candidates"] for r in records]) - mean
    assert abs(deviation) < 3 * np.sqrt(variance / len(records))
