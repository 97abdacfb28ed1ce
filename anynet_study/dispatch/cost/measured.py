"""How long the finished runs of a study and their further evaluations took, by its journals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from anynet_study.store.decoding import Columns
from anynet_study.store.frames import Reading
from anynet_study.store.journal import journal_blocks
from anynet_study.store.records import EVALUATION, RUN, RecordKind

#: Prices are fitted to this many runs at most, the latest: more change little.
MOST_RUNS = 500
TEXTS = ("run_id", "status", "device", "engine")


@dataclass(frozen=True)
class MeasuredRun:
    """A run that was trained to its end, and how long that took."""

    run_id: str
    seconds: float
    #: When it ended, in seconds since 1970.
    ended: float
    #: `cpu`, or the GPU's name.
    device: str
    #: The training engine; "": not recorded.
    engine: str
    #: Whether it was its worker's first, in which libraries warm up.
    first: bool


@dataclass(frozen=True)
class MeasuredTest:
    """A further evaluation of a run, and how long that took."""

    run_id: str
    evaluation_id: str
    seconds: float
    #: When it ended, in seconds since 1970.
    ended: float


def measured_runs(folder: Path, most: int = MOST_RUNS) -> list[MeasuredRun]:
    """The latest completed runs of the journals in a folder, by when they ended.

    Journals are opened from the one last written on, until there are `most` runs.
    Raises as `store.finished_runs`.
    """
    return _latest(RUN, folder, most, _runs_of)


def measured_tests(folder: Path, most: int = MOST_RUNS) -> list[MeasuredTest]:
    """The latest further evaluations in a folder, as `measured_runs`."""
    return _latest(EVALUATION, folder, most, _tests_of)


Measured = TypeVar("Measured", MeasuredRun, MeasuredTest)


def _latest(
    kind: RecordKind[Any], folder: Path, most: int, read: Callable[[Path], list[Measured]]
) -> list[Measured]:
    found: list[Measured] = []
    for path in sorted(kind.paths(folder), key=_changed, reverse=True):
        if len(found) >= most:
            break
        found += read(path)
    return sorted(found, key=lambda one: one.ended)[-most:]


def _runs_of(path: Path) -> list[MeasuredRun]:
    found, before = [], 0
    for _, columns in journal_blocks(RUN, path, Reading()):
        rows = enumerate(zip(*_columns(columns, TEXTS), strict=True), start=before)
        for place, (run_id, status, device, engine, seconds, started) in rows:
            if status == "completed" and seconds > 0:
                ended = started + seconds
                found.append(MeasuredRun(run_id, seconds, ended, device, engine, place == 0))
        before += len(columns)
    return found


def _tests_of(path: Path) -> list[MeasuredTest]:
    found: list[MeasuredTest] = []
    for _, columns in journal_blocks(EVALUATION, path, Reading()):
        rows = zip(*_columns(columns, ("run_id", "evaluation_id")), strict=True)
        found += [
            MeasuredTest(run_id, evaluation_id, seconds, started + seconds)
            for run_id, evaluation_id, seconds, started in rows
            if seconds > 0
        ]
    return found


def _columns(columns: Columns, texts: Sequence[str]) -> list[list[Any]]:
    """Some texts of each record, its seconds, and when it began."""
    numbers = (columns.numbers(name).tolist() for name in ("seconds", "started"))
    return [*(columns.texts(name).to_pylist() for name in texts), *numbers]


def _changed(path: Path) -> tuple[float, str]:
    return path.stat().st_mtime, path.name
