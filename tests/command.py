"""Running the command line as a user does: in a folder, in a process of its own or in this one."""

import io
import os
import runpy
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest
from matplotlib.figure import Figure

from anynet_study.analysis.plots import saving
from anynet_study.cli import main
from anynet_study.engine.dispatch import open_sweep
from anynet_study.engine.dispatch.worker_state import WorkerState
from anynet_study.engine.planning.plan import Plan
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Sweep

ROOT = Path(__file__).parents[1]
SWEEPS = ROOT / "sweeps"
Done = subprocess.CompletedProcess[str]
#: A command that takes longer hangs, in seconds.
LONGEST_WAIT = 900.0


#: Commands one after another, and at the end of the process all modules that it has imported.
TELL_IMPORTS = """
import atexit, sys
from anynet_study.cli import main
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
for arguments in eval(sys.argv[1]):
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
"""


def command(*arguments: object) -> list[str]:
    """The command line of `anynet-study` with `arguments`."""
    return [sys.executable, "-m", "anynet_study", *map(str, arguments)]


def environment(folder: Path) -> dict[str, str]:
    """The environment in which the data of a test lies in its own folder."""
    return {**os.environ, "ANYNET_DATA": str(folder / "data"), "COLUMNS": "100"}


def anynet_study(folder: Path, *arguments: object, expect: int = 0) -> Done:
    """Run to the end in `folder`; fails the test where the exit code is not `expect`."""
    done = subprocess.run(
        command(*arguments),
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=LONGEST_WAIT,
    )
    return _checked(done, expect)


def imported(folder: Path, *commands: tuple[object, ...]) -> set[str]:
    """The modules that commands import, each on its way to the end."""
    told = repr([[*map(str, arguments)] for arguments in commands])
    done = subprocess.run(
        [sys.executable, "-c", TELL_IMPORTS, told],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=LONGEST_WAIT,
    )
    return set(_checked(done, 0).stderr.split())


def in_this_process(folder: Path, *arguments: object, expect: int = 0) -> Done:
    """As `anynet_study`, without the second that a Python takes to start and import.

    For commands after which no other process is the point of the test.
    """
    return _checked(told(folder, arguments, environment(folder)), expect)


def train(folder: Path, sweep: object, *options: object) -> Done:
    """Train a study in this process and collect it, without the report, which takes far longer.

    For studies whose workers are not the point of the test: each takes ten seconds to start.
    Returns what `collect` says.
    """
    with chdir(folder), patch.dict(os.environ, environment(folder)):
        study = open_sweep(Path(str(sweep)), [str(option) for option in options])
        study.begin()
        train_here(study.folder, study.sweep, study.plan)
    return in_this_process(folder, "collect", study.sweep.name)


def train_here(folder: StudyFolder, sweep: Sweep, plan: Plan, retry_failed: bool = False) -> None:
    """Train in this process what is missing of a plan, as `train_all` does with workers."""
    from anynet_study.engine.dispatch.worker import train_runs  # imports torch

    train_runs(folder, sweep, plan.ids(), {}, WorkerState())


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


def laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are drawn without pixels or files: that these show the same is tested with them."""

    def lay_out(figure: Figure, path: Path) -> None:
        figure.draw_without_rendering()
        path.touch()

    writers = {"png": lay_out} | dict.fromkeys(("pdf", "svg"), lambda _, path: path.touch())
    monkeypatch.setattr(saving, "WRITERS", writers)


def run_script(name: str, *arguments: str) -> int:
    """Run analysis/NAME.py here; its exit code."""
    with patch.object(sys, "argv", [name, *arguments]), pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "analysis" / f"{name}.py"), run_name="__main__")
    return int(ended.value.code or 0)


def script_module(path: Path) -> ModuleType:
    """A script as a module; it may import modules beside it."""
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(path.parent)
        spec.loader.exec_module(module)
    return module
