"""Stores with flipped bits, other bytes, pieces cut out, doubled or overwritten."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
#: A hang is a failure; the work takes some seconds.
SECONDS = 300


@pytest.mark.slow
def test_damaged_stores_are_refused_or_give_the_same_numbers(tmp_path: Path) -> None:
    """In a process of its own, of which no memory without bound, and no crash, is heard of."""
    paths = os.pathsep.join([str(TESTS), str(TESTS.parents[1])])
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(TESTS / "fuzz.py"), str(tmp_path), "150"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, int] = json.loads(done.stdout)
    assert outcomes.get("other numbers", 0) == 0
    assert outcomes["not found, other numbers"] == 0
    assert outcomes["refused"] > 60
