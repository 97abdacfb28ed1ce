"""Commands that are given damaged files, files made to harm, and files in each other's place."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
#: More of them, and others, by hand: `TRIALS=100 SEED=1 pytest -m slow FILE`.
TRIALS, SEED = os.environ.get("TRIALS", "2"), os.environ.get("SEED", "0")


@pytest.mark.slow
def test_hostile_inputs_are_bounded_and_no_exchange_is_silent(
    tmp_path: Path,
) -> None:
    paths = os.pathsep.join(map(str, (HERE.parent, HERE, HERE / "store")))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", HERE / "hostile_inputs.py", tmp_path, TRIALS, SEED],
        env=os.environ
        | {"PYTHONPATH": paths, "ANYNET_DATA": "data", "COLUMNS": "200"}
        | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    cases = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(cases) == 25
    for case in cases:
        assert sum(case["codes"].values()) == int(TRIALS)
        assert not case["faults"], case
