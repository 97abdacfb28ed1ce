"""Running the command line as a user does: in a folder, in a process of its own or in this one."""

import io
import os
import subprocess
import sys
import time
from contextlib import AbstractContextManager, chdir, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest

from anynet_study.cli import main
from anynet_study.dispatch import ledger
from anynet_study.study_folder import StudyFolder

ROOT = Path(__file__).parents[1]
SWEEPS = ROOT / "sweeps"
Done = subprocess.CompletedProcess[str]
#: A command that takes longer hangs, in seconds.
LONGEST_WAIT = 900.0


#: What `undrawn` does, in a process of its own.
UNDRAWN = "from anynet_study.report import page; page.draw_figures = lambda *_: []"
START = "from anynet_study.cli import main; main()"


def command(*arguments: object, figures: bool = True) -> list[str]:
    """The command line of `anynet-study` with `arguments`."""
    start = ["-m", "anynet_study"] if figures else ["-c", f"{UNDRAWN}; {START}"]
    return [sys.executable, *start, *map(str, arguments)]


def environment(folder: Path) -> dict[str, str]:
    """The environment in which the data of a test lies in its own folder."""
    return {**os.environ, "ANYNET_DATA": str(folder / "data"), "COLUMNS": "100"}


def anynet_study(folder: Path, *arguments: object, expect: int = 0, figures: bool = True) -> Done:
    """Run to the end in `folder`; fails the test where the exit code is not `expect`."""
    done = subprocess.run(
        command(*arguments, figures=figures),
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=LONGEST_WAIT,
    )
    return _checked(done, expect)


def in_this_process(
    folder: Path, *arguments: object, expect: int = 0, figures: bool = True
) -> Done:
    """As `anynet_study`, without the second that a Python takes to start and import.

    For commands after which no other process is the point of the test.
    """
    with nullcontext() if figures else undrawn():
        return _checked(told(folder, arguments, environment(folder)), expect)


def undrawn() -> AbstractContextManager[object]:
    """Reports have no figures, which take far longer than the rest of a tiny study."""
    return patch("anynet_study.report.page.draw_figures", lambda *_: [])


def train(folder: Path, sweep: object, name: str, *options: object) -> Done:
    """Train a study on this machine and collect it, without the report, which takes far longer.

    Returns what `collect` says.
    """
    anynet_study(folder, "launch", sweep, "--cluster", "local", "launch.workers=1", *options)
    until = time.monotonic() + LONGEST_WAIT
    while ledger.live_jobs(StudyFolder(folder / "studies" / name).jobs):
        assert time.monotonic() < until, f"workers of {name} do not end"
        time.sleep(0.1)
    return in_this_process(folder, "collect", name)


def told(folder: Path, arguments: tuple[object, ...], environ: dict[str, str]) -> Done:
    """What a command says in this process, and its exit code."""
    typed = ["anynet-study", *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
    with (
        chdir(folder),
        patch.dict(os.environ, environ),
        patch.object(sys, "argv", typed),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    return Done(typed, int(ended.value.code or 0), *(_written(stream) for stream in (out, err)))


def _checked(done: Done, expect: int) -> Done:
    assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done


def _written(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
