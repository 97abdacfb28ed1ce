"""Whatever space is declared: it is refused in one line, or all that is promised of it holds."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from space_strategies import any_specs

from anynet_study.core.errors import UserError
from anynet_study.design_space import DesignSpace


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
