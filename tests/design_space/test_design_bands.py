"""Stratified samples: the plain loop's choice, and weights that undo it."""

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np
import plain_sampler
import pytest
from sampling_cases import TOY, bounds

from anynet_study.core.errors import UserError
from anynet_study.design_space import Architecture, DesignSpace, sampling
from anynet_study.design_space.bands import checked_strata

QUANTITIES: dict[str, Callable[[Architecture], int]] = {
    "depth": lambda a: sum(a.depths),
    "width": lambda a: sum(a.widths),
    "flops": lambda a: plain_sampler.complexity(a, 9, 7)[0],
    "parameters": lambda a: plain_sampler.complexity(a, 9, 7)[1],
    "activations": lambda a: plain_sampler.complexity(a, 9, 7)[2],
}
CASES: dict[str, tuple[Any, dict[str, Any], dict[str, tuple[float, float]]]] = {
    "depth": ({}, {"of": "depth", "edges": [7, 9.5, 11]}, {}),
    "an edge belongs above": ({}, {"of": "depth", "edges": [8]}, {"flops": (5e5, 9e5)}),
    "width": ({"non_decreasing": ["widths"]}, {"of": "width", "edges": (80, 120, 150)}, {}),
    "the band's own measure": ({}, {"of": "flops", "edges": [7e5]}, {"flops": (5e5, 9e5)}),
    "another measure": ({}, {"of": "parameters", "edges": [4e3]}, {"activations": (0, 1e4)}),
    "activations": ({}, {"of": "activations", "edges": [6e3, 8e3]}, {"parameters": (0, 1e4)}),
}


@pytest.mark.parametrize("name", CASES)
def test_equal_to_a_plain_loop_over_candidates(name: str) -> None:
    changes, spec, bands = CASES[name]
    count = 31
    space = DesignSpace.from_spec({**TOY.to_spec(), **changes})
    request = sampling.request(space, count, bounds(bands), 9, 7, 5, spec)
    population = sampling.sample(request)
    strata = len(spec["edges"]) + 1
    wanted = [len(range(h, count, strata)) for h in range(strata)]
    kept: list[list[Architecture]] = [[] for _ in range(strata)]
    in_band = [0] * strata
    numbers, each = plain_sampler.words(5), plain_sampler.parameters(space)
    candidates = 0
    while sum(map(len, kept)) < count:
        one = plain_sampler.build(space, [parameter.draw(next(numbers)) for parameter in each])
        candidates += 1
        if one is not None and plain_sampler.inside(one, bands, 9, 7):
            stratum = bisect_right(spec["edges"], QUANTITIES[spec["of"]](one))
            in_band[stratum] += 1
            if one not in kept[stratum] and len(kept[stratum]) < wanted[stratum]:
                kept[stratum].append(one)
    assert list(population) == [kept[k % strata][k // strata] for k in range(count)]
    record = population.sampling
    assert (record["candidates"], record["in_band_by_stratum"]) == (candidates, in_band)
    assert record["in_band"] == sum(in_band)
    assert record["strata"] == {"of": spec["of"], "edges": list(spec["edges"])}
    expected = [
        (in_band[k % strata] / sum(in_band)) / (wanted[k % strata] / count) for k in range(count)
    ]
    weights = population.table["weight"].to_pylist()
    assert weights == pytest.approx(expected, rel=1e-12)
    assert np.mean(weights) == pytest.approx(1, rel=1e-12)


@pytest.mark.slow
def test_weighted_averages_are_those_of_the_space() -> None:
    """Half of each sample has fewer than 10 blocks, which fewer candidates have."""
    space = DesignSpace.anynetx("cifar", widths=[8, 128])
    plain = np.array([sum(a.depths) for a in space.sample(20_000, seed=1)])
    spec = {"of": "depth", "edges": [10]}
    unweighted, weighted = [], []
    for seed in range(40):
        table = space.sample(100, seed=seed, strata=spec).to_pandas()
        depth = table[["d1", "d2", "d3", "d4"]].sum(axis=1)
        unweighted.append(depth.mean())
        weighted.append(np.average(depth, weights=table["weight"]))
    error = np.std(weighted) / np.sqrt(len(weighted))
    assert abs(np.mean(weighted) - plain.mean()) < 4 * error
    assert abs(np.mean(unweighted) - plain.mean()) > 10 * error


def test_a_smaller_sample_has_the_first_architectures_of_a_larger_one() -> None:
    strata = {"of": "width", "edges": [90, 130]}
    smaller, larger = (TOY.sample(n, seed=1, strata=strata) for n in (31, 200))
    assert larger.ids[:31] == smaller.ids


def test_what_is_not_stratified_has_no_weights() -> None:
    population = TOY.sample(20)
    assert "weight" not in population.table.column_names
    assert "in_band_by_stratum" not in population.sampling


@pytest.mark.slow
def test_a_stratum_that_lacks_networks_is_named() -> None:
    with pytest.raises(UserError) as refused:
        TOY.sample(20, strata={"of": "depth", "edges": [10, 17]})
    message = str(refused.value)
    assert "\n" not in message
    assert "found 14 of 20 different architectures, 6 missing with depth from 17: " in message


@pytest.mark.parametrize(
    ("strata", "complaint"),
    [
        (3, "strata: 3 is no mapping; for example {of: depth, edges: "),
        ({"of": "depth", "edge": [3]}, r"key 'edge' is unknown \(did you mean 'edges'\?\); legal"),
        ({"of": "depths", "edges": [3]}, r"of: 'depths' is unknown \(did you mean 'depth'\?\)"),
        ({"edges": [3]}, "strata: of: None is unknown; legal: depth, width, flops"),
        ({"of": "depth"}, "edges: None is not a list of 1 to 99 increasing numbers"),
        ({"of": "depth", "edges": []}, r"edges: \[\] is not a list"),
        ({"of": "depth", "edges": [3, 3]}, r"edges: \[3, 3\] is not a list .* increasing"),
        ({"of": "depth", "edges": [True]}, "increasing numbers"),
        ({"of": "depth", "edges": [3, float("inf")]}, "increasing numbers"),
        ({"of": "depth", "edges": list(range(100))}, "1 to 99 increasing numbers"),
    ],
)
def test_mistakes_are_named_with_what_is_legal(strata: Any, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as refused:
        checked_strata(strata)
    assert "\n" not in str(refused.value)


def test_each_stratum_needs_a_network() -> None:
    with pytest.raises(UserError, match="count: 2 is fewer than the 3 strata"):
        TOY.sample(2, strata={"of": "depth", "edges": [5, 9]})
