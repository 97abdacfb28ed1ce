"""Samples of small spaces against the exact law, by enumeration of all that can be drawn.

The law of a candidate given that it is in the space and its bands is computed by trying every
combination of parameters (tests/plain_sampler.py); different draws of one network are added up.
"""

from typing import Any

import numpy as np
import plain_sampler
import pytest
from plain_sampler import Bands
from scipy import stats

from anynet_study.design_space import Architecture, DesignSpace, sampling
from anynet_study.design_space.architecture import architecture_of
from anynet_study.design_space.sampling import Request

pytestmark = pytest.mark.slow

Mass = dict[Any, float]

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
