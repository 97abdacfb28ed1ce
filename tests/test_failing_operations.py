"""Commands that change files, met by kills and full disks at any of their operations."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from forked import lines_of

HERE = Path(__file__).parent
#: More of them, and others, by hand: `TRIALS=200 SEED=1 pytest -m slow FILE`.
TRIALS, SEED = os.environ.get("TRIALS", "2"), os.environ.get("SEED", "0")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_no_fault_of_a_file_loses_changes_or_leaves_anything(tmp_path: Path) -> None:
    """What was there is there, whole, or what the command makes; given again, it makes it."""
    shim, work = tmp_path / "shim.so", tmp_path / "work"
    source = HERE / "failing_operations.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    work.mkdir()
    cases = lines_of("failing_operations.py", shim, work, TRIALS, SEED, LD_PRELOAD=str(shim))
    assert len(cases) == 28
    for case in cases:
        assert case["kills"] + case["failures"] == int(TRIALS)
        assert case["operations"] > 5  # of the shortest, a label that is added
        assert not case["examples"], case
