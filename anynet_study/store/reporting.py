"""What a collect found, for people and for the store."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.store.evaluations.catalogue import evaluation_keys, stored_keys
from anynet_study.store.frames import Reading
from anynet_study.store.order import among
from anynet_study.store.remembered import ForgottenError, recalling
from anynet_study.store.settling import Found, Settled


@dataclass(frozen=True)
class CollectReport:
    """What one collect found; counts are of runs, but for `duplicates` (records set aside)."""

    runs: int
    #: Not in the store that this one replaced.
    new: int
    duplicates: int
    #: Not asked for by the sweep: kept, not analysed.
    unplanned: int
    failed: int
    #: One line a journal or file that is not as it should be, beginning with its name.
    problems: list[str]
    #: Evaluations of runs on further test sets: in the store, new, and records set aside.
    evaluations: int = 0
    new_evaluations: int = 0
    duplicate_evaluations: int = 0
    #: Evaluations in the journals of runs without a record: in the store as soon as they have one.
    waiting_evaluations: int = 0


@dataclass(frozen=True)
class Aside:
    """A store that was kept when another took its place."""

    path: Path
    #: Its runs and evaluations that are in no journal any more; 0 where it could not be read.
    runs: int
    evaluations: int


@dataclass(frozen=True)
class Known:
    """What is in the store that a collect replaces."""

    runs: pa.Array
    #: Texts of `evaluations.catalogue.key_texts`.
    evaluations: pa.Array

    @classmethod
    def of(cls, store: h5py.File | None) -> Self:
        """Nothing, where there is no store or what it has cannot be read."""
        nothing = pa.array([], pa.string())
        if store is not None:
            with suppress(ForgottenError), recalling():
                runs = pa.array(store["runs/run_id"][()].astype(str).astype(object), pa.string())
                return cls(runs, stored_keys(store, runs) if "evaluations" in store else nothing)
        return cls(nothing, nothing)

    def gone(self, runs: pa.Table, evaluations: pa.Table) -> tuple[int, int]:
        """How many runs and evaluations are not among these any more."""
        there = among(self.evaluations, evaluation_keys(evaluations))
        return int((~among(self.runs, runs["run_id"])).sum()), int((~there).sum())


def report_of(
    settled: Settled, found: Found, folder: Path, known: Known, aside: Aside | None
) -> CollectReport:
    """The report on what was made of a folder of journals; `known`: of the earlier store."""
    runs, evaluations, waiting = settled.runs, settled.evaluations.table, settled.waiting
    records = [
        sum(reading.records for reading in each.readings)
        for each in (found.runs, found.evaluations)
    ]
    return CollectReport(
        runs=len(runs),
        new=int((~among(runs["run_id"], known.runs)).sum()),
        duplicates=records[0] - len(runs),
        unplanned=int((~settled.asked).sum()),
        failed=pc.sum(pc.equal(runs["status"], "failed")).as_py() or 0,
        problems=[*_problems(found, folder), *_waiting(waiting), *_kept(aside)],
        evaluations=len(evaluations),
        new_evaluations=int((~among(evaluation_keys(evaluations), known.evaluations)).sum()),
        duplicate_evaluations=records[1] - len(evaluations) - waiting,
        waiting_evaluations=waiting,
    )


def journal_table(
    paths: Sequence[Path], readings: Sequence[Reading], winning: NDArray[np.int64]
) -> pa.Table:
    """The table /journals; `winning`: how many records of each are in the store."""
    records = np.array([reading.records for reading in readings], np.int64)
    return pa.table(
        {
            "journal": pa.array([path.name for path in paths], pa.string()),
            "records": records,
            "duplicates": records - winning,
            "bytes": pa.array([path.stat().st_size for path in paths], pa.int64()),
            "problem": pa.array([reading.problem for reading in readings], pa.string()),
        }
    )


def _problems(found: Found, journals: Path) -> list[str]:
    named = zip(found.paths, found.readings, strict=True)
    said = [f"{path.name}: {reading.problem}" for path, reading in named if reading.problem]
    others = set(journals.iterdir() if journals.is_dir() else ()) - set(found.paths)
    strangers = sorted(path.name for path in others if not path.name.startswith("."))
    return said + [f"{name}: not a journal; ignored" for name in strangers]


def _waiting(count: int) -> list[str]:
    return [f"journals: {count} evaluations of runs without a record wait for it"] * bool(count)


def _kept(aside: Aside | None) -> list[str]:
    if aside is None:
        return []
    name = aside.path.name
    counts = {"runs": aside.runs, "evaluations": aside.evaluations}
    gone = " and ".join(f"{count} {what}" for what, count in counts.items() if count)
    if not gone:
        return [f"the store before could not be read; kept: {name}"]
    return [f"journals: {gone} of the store before are in none any more; kept: {name}"]
