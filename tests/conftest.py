"""Fixtures shared by all rooms."""

import functools
import gc
import os
import re
import shutil
from collections.abc import Generator, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer.main
from hypothesis import settings

if TYPE_CHECKING:
    from tiny_study import Type

# How long an example takes says nothing on a machine that is shared.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

#: The commands of Slurm that this package calls.
SLURM = ("sacct", "sacctmgr", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun")
SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected, a million objects, lives to the end: none of it is garbage.

    To look through it again and again took a fifth of the time of the collection.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """Libraries say what is not let go at the end of the process."""
    gc.unfreeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that wait for Slurm come first, in turn with others that take long.

    A process that waits leaves its core to the others, and the last minutes have short tests only:
    of those that take long, files of few tests come first, as each of these trains a study.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    waiting, long, short = [], [], []
    for tests in sorted(files.values(), key=len, reverse=True):
        marks = {mark.name for test in tests for mark in test.iter_markers()}
        if marks & {"slow", "slurm"} and not re.search("slow|slurm", tests[0].path.read_text()):
            raise pytest.UsageError(f"{tests[0].path}: .ci/run finds these tests by the words")
        (waiting if "slurm" in marks else long if "slow" in marks else short).append(tests)
    in_turn = [one for pair in zip_longest(waiting, long[::-1], fillvalue=()) for one in pair]
    items[:] = [test for tests in (*in_turn, *short) for test in tests]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many inputs of the corpora were misread without a word, or refused though plain.

    And into the file $ANYNET_SKIPPED, for CI, which tests were skipped and why.
    """
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    ends = [value for it in reports for key, value in it.user_properties if key == "corpus"]
    for end in ("misread without a word", "refused though plain") if ends else ():
        terminalreporter.write_line(f"inputs from outside {end}: {ends.count(end)} of {len(ends)}")
    if file := os.environ.get("ANYNET_SKIPPED"):
        skipped = terminalreporter.stats.get("skipped", ())
        lines = (f"{test.nodeid}\t{test.longrepr[2]}\n" for test in skipped)
        Path(file).write_text("".join(lines), encoding="utf-8")


@pytest.fixture(scope="session")
def path_with_slurm() -> str:
    """PATH as it was, for tests of a Slurm that is installed."""
    return os.environ["PATH"]


@pytest.fixture(scope="session", autouse=True)
def path_without_slurm(
    path_with_slurm: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """PATH without Slurm's commands: tests with a Slurm of scripts see that one alone."""
    folders = [Path(folder) for folder in path_with_slurm.split(os.pathsep) if folder]
    for place, folder in enumerate(folders):
        if any((folder / name).exists() for name in SLURM):
            folders[place] = tmp_path_factory.mktemp("without-slurm")
            for program in folder.iterdir():
                if program.name not in SLURM:
                    (folders[place] / program.name).symlink_to(program)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", os.pathsep.join(map(str, folders)))
        yield os.environ["PATH"]


@pytest.fixture(scope="session", autouse=True)
def _commands_are_built_once() -> Iterator[None]:
    """Of a command that is typed in this process, building all commands takes most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.main.get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture(scope="session", autouse=True)
def _built_in_datasets_are_packed_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hundreds of tests have a data directory of their own; theirs are copies."""
    from anynet_study.data import builtin

    packed, pack = tmp_path_factory.mktemp("built-in"), builtin._pack

    def copied(name: str, folder: Path) -> None:
        if not (packed / name).exists():
            pack(name, packed / name)
        shutil.copytree(packed / name, folder)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtin, "_pack", copied)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_progress_of_short_work() -> Iterator[None]:
    """What takes a moment, and so shows no progress, may take long on a busy machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("anynet_study.core.progress.SECONDS_OF_PATIENCE", 1e9)
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real image archives beside the checkout; CI fails where it is absent."""
    if not SHARED_DATA.is_dir():
        reason = "real image archives are not beside this checkout (../shared/data)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return SHARED_DATA


@pytest.fixture
def type_(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> "Type":
    """A function that types a command in an empty folder (`typing_in`)."""
    from tiny_study import typing_in  # imports the command line

    return typing_in(tmp_path, monkeypatch, capsys)


@pytest.fixture
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data directory, set as $ANYNET_DATA."""
    home = tmp_path / "data"
    monkeypatch.setenv("ANYNET_DATA", str(home))
    return home
