"""How long the finished runs of a study and their further evaluations took, by its journals."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from anynet_study.store import read_journals
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
    rows = read_journals([path]).select((*TEXTS, "seconds", "started")).to_pylist()
    return [
        MeasuredRun(
            row["run_id"],
            row["seconds"],
            row["started"] + row["seconds"],
            row["device"],
            row["engine"],
            place == 0,
        )
        for place, row in enumerate(rows)
        if row["status"] == "completed" and row["seconds"] > 0
    ]


def _tests_of(path: Path) -> list[MeasuredTest]:
    names = ("run_id", "evaluation_id", "seconds", "started")
    rows = zip(*(read_journals([path])[name].to_pylist() for name in names), strict=True)
    return [
        MeasuredTest(run_id, evaluation_id, seconds, started + seconds)
        for run_id, evaluation_id, seconds, started in rows
        if seconds > 0
    ]


def _changed(path: Path) -> tuple[float, str]:
    return path.stat().st_mtime, path.name
