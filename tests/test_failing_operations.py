"""Commands that change files, met by kills and full disks at any of their operations."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from failing_operations import FULL
from forked import lines_of

HERE = Path(__file__).parent
#: More of them, and others, by hand: `TRIALS=200 SEED=1 pytest -m slow FILE`.
TRIALS, SEED = os.environ.get("TRIALS", "2"), os.environ.get("SEED", "0")


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler"),
]


def tried(folder: Path, *names: str) -> list[dict[str, Any]]:
    """What became of the cases of these names, or all that need nobody's permission."""
    shim, work = folder / "shim.so", folder / "work"
    source = HERE / "failing_operations.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    work.mkdir()
    given = shim, work, TRIALS, SEED, *names
    return lines_of("failing_operations.py", *given, LD_PRELOAD=str(shim))


def test_no_fault_of_a_file_loses_changes_or_leaves_anything(tmp_path: Path) -> None:
    """What was there is there, whole, or what the command makes; given again, it makes it."""
    cases = tried(tmp_path)
    assert len(cases) == 32
    for case in cases:
        assert case["kills"] + case["failures"] == int(TRIALS)
        assert case["operations"] > 5  # of the shortest, a label that is added
        assert not case["examples"], case


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount file systems")
def test_a_full_file_system_loses_changes_or_leaves_nothing(tmp_path: Path) -> None:
    """The same on one in memory that has some pages left."""
    done = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"only root may mount file systems: not here ({done.stderr.strip()})")
    cases = tried(tmp_path, *FULL)
    assert len(cases) == 15
    for case in cases:
        assert case["failures"] == int(TRIALS)
        assert not case["examples"], case
