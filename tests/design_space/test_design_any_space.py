"""Whatever space is declared: it is refused in one line, or all that is promised of it holds."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from space_strategies import any_specs, legal_specs

from anynet_study.design_space import DesignSpace, sampling
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
