"""Running the command line as a user does: in a folder, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SWEEPS = ROOT / "sweeps"


def command(*arguments: object) -> list[str]:
    """The command line of `anynet-study` with `arguments`."""
    return [sys.executable, "-m", "anynet_study", *map(str, arguments)]


def environment(folder: Path) -> dict[str, str]:
    """The environment in which the data of a test lies in its own folder."""
    return {**os.environ, "ANYNET_DATA": str(folder / "data"), "COLUMNS": "100"}


def anynet_study(
    folder: Path, *arguments: object, expect: int = 0, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run to the end in `folder`; fails the test where the exit code is not `expect`."""
    done = subprocess.run(
        command(*arguments),
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done
