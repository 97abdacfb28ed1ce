"""Commands that are given damaged files, files made to harm, and files in each other's place."""

import os
from pathlib import Path

import pytest
from forked import lines_of

#: More of them, and others, by hand: `TRIALS=100 SEED=1 pytest -m slow FILE`.
TRIALS, SEED = os.environ.get("TRIALS", "2"), os.environ.get("SEED", "0")


@pytest.mark.slow
def test_hostile_inputs_are_bounded_and_no_exchange_is_silent(
    tmp_path: Path,
) -> None:
    cases = lines_of("hostile_inputs.py", tmp_path, TRIALS, SEED)
    assert len(cases) == 26
    for case in cases:
        assert sum(case["codes"].values()) == int(TRIALS)
        assert not case["faults"], case
