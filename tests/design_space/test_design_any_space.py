"""Whatever space is declared: it is refused in one line, or all that is promised of it holds."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import plain_sampler
import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from space_strategies import any_specs, legal_specs

from anynet_study.design_space import Architecture, DesignSpace, Population, sampling
from anynet_study.design_space.anynet import AnyNet
from anynet_study.design_space.complexity import MEASURES
from anynet_study.errors import UserError

PROBED = 1000
RESOLUTION, CLASSES = 40, 11
UNLIMITED: dict[str, Any] = dict.fromkeys(MEASURES)
Bands = dict[str, tuple[float, float]]


def probed(space: DesignSpace, seed: int) -> dict[str, Any]:
    """What some candidates of the space cost."""
    request = sampling.request(space, 1, UNLIMITED, RESOLUTION, CLASSES, seed)
    seen = request.look(0, PROBED)
    assume(len(seen.rows) > 20)
    networks = request.candidates(0, PROBED)[0].select(seen.positions)
    return {name: request.bands.measure(name, networks) for name in MEASURES}


@st.composite
def requests(draw: st.DrawFn) -> tuple[DesignSpace, Bands, int]:
    """A space that has networks, bands that leave some of them, and a seed."""
    space = DesignSpace.from_spec(draw(legal_specs()))
    seed = draw(st.integers(0, 2**64 - 1))
    costs = probed(space, seed)
    bands: Bands = {}
    left = np.ones(len(costs["flops"]), dtype=bool)
    for name in draw(st.lists(st.sampled_from(MEASURES), unique=True)):
        ends = np.quantile(costs[name][left], sorted(draw(st.tuples(*[st.floats(0, 1)] * 2))))
        inside = (costs[name] >= ends[0]) & (costs[name] <= ends[1])
        if (left & inside).sum() > 5:
            left &= inside
            bands[name] = (float(ends[0]), float(ends[1]))
    return space, bands, seed


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spaces") / "population.parquet"


@pytest.mark.slow
@given(requests())
@settings(
    derandomize=True,
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
def test_whatever_is_sampled(file: Path, request: tuple[DesignSpace, Bands, int]) -> None:
    space, bands, seed = request
    assert DesignSpace.from_spec(space.to_spec()) == space
    assert DesignSpace.from_spec(json.loads(json.dumps(space.to_spec()))) == space
    assert DesignSpace.from_spec(yaml.safe_load(yaml.safe_dump(space.to_spec()))) == space
    population = first_networks(space, bands, seed)
    for a in population:
        check(a, space, bands)
    costs = [population.table[name].to_pylist() for name in MEASURES]
    plain = [plain_sampler.complexity(a, RESOLUTION, CLASSES) for a in population]
    assert list(zip(*costs, strict=True)) == plain
    population.write(file)
    again = Population.read(file)
    assert again.table.equals(population.table, check_metadata=True)
    assert list(again) == list(population)


def first_networks(space: DesignSpace, bands: Bands, seed: int) -> Population:
    """As many different networks, up to five, as the space has in the bands."""
    bounds = {**UNLIMITED, **bands}
    seen = sampling.request(space, 1, bounds, RESOLUTION, CLASSES, seed).look(0, PROBED)
    count = min(5, len(np.unique(seen.rows, axis=0)))
    request = sampling.request(space, count, bounds, RESOLUTION, CLASSES, seed)
    population = sampling.sample(request, chunk=256, threads=1)
    rows = [[*a.depths, *a.widths, *a.bottleneck_ratios, *a.group_widths] for a in population]
    in_order = list(dict.fromkeys(map(tuple, seen.rows.tolist())))
    assert list(map(tuple, rows)) == in_order[:count]
    return population


def check(a: Architecture, space: DesignSpace, bands: Bands) -> None:
    """One network: its names, its place in the space, its costs."""
    for values in (
        json.loads(json.dumps(a.to_dict())),
        yaml.safe_load(yaml.safe_dump(a.to_dict())),
    ):
        assert Architecture.from_dict(values) == a
        assert Architecture.from_dict(values).id == a.id
    assert a.skeleton == space.skeleton
    assert plain_sampler.inside(a, bands, RESOLUTION, CLASSES)
    if isinstance(space.stages, AnyNet):
        for name in space.stages.non_decreasing:
            assert list(getattr(a, name)) == sorted(getattr(a, name))
        for name in set(space.stages.shared) & {"depths", "bottleneck_ratios"}:
            assert len(set(getattr(a, name))) == 1
    else:
        assert len(set(a.bottleneck_ratios)) == 1
        low, high = space.stages.depth
        assert low <= sum(a.depths) <= high


@given(requests())
@settings(
    derandomize=True,
    deadline=None,
    max_examples=15,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
def test_float64_is_exact_for_candidates(request: tuple[DesignSpace, Bands, int]) -> None:
    space, _, seed = request
    bands = sampling.request(space, 1, UNLIMITED, RESOLUTION, CLASSES, seed)
    floats, _ = bands.candidates(0, 200)
    whole = floats.select(np.arange(200))
    assert floats.widths.dtype == np.float64
    assert whole.widths.dtype == np.int64
    for name in MEASURES:
        exact = bands.bands.measure(name, whole)
        assert np.array_equal(bands.bands.measure(name, floats), exact)
        assert (exact > 0).all()


@given(any_specs())
@settings(derandomize=True, deadline=None, max_examples=150)
def test_a_space_is_refused_in_one_line_or_can_be_written_out(spec: Any) -> None:
    refusal = ""
    try:
        space = DesignSpace.from_spec(spec)
    except UserError as error:
        refusal = str(error)
    if refusal:
        assert refusal.startswith("space")
        assert "\n" not in refusal
        assert len(refusal) < 500
        return
    assert DesignSpace.from_spec(json.loads(json.dumps(space.to_spec()))) == space
    words = np.zeros((space.words, 3), dtype=np.int64)
    assert len(space.draw(words)[0]) == 3
