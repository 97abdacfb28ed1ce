"""The simulation of a large study, at a small size: every run comes to its end exactly once."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "dispatch_million.py"


@pytest.mark.slow
def test_every_simulated_run_ends_once(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCHMARK), "900", "5", "0.3"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    launches = re.findall(r"launch \d+: (\d+) of 900 runs in (\d+) jobs", done.stdout)
    left = [int(runs) for runs, _ in launches]
    assert left[0] == 900
    assert left[-1] == 0
    assert len(left) > 2, "some runs were lost on the way"
    assert "every run came to its end once" in done.stdout
