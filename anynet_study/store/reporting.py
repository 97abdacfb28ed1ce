"""What a collect found, for people and for the store."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.store.gathering import Gathered


@dataclass(frozen=True)
class CollectReport:
    """What one collect found; every count is of runs, except `duplicates` (records set aside)."""

    runs: int
    #: Not in the store that this one replaced.
    new: int
    duplicates: int
    #: Not asked for by the sweep: kept, not analysed.
    unplanned: int
    failed: int
    #: One line a journal or file that is not as it should be, beginning with its name.
    problems: list[str]


class Aside(NamedTuple):
    """A store that was kept when another took its place."""

    path: Path
    #: Its runs that are in no journal any more; 0 where it could not be read.
    gone: int


def report_of(
    found: Gathered,
    folder: Path,
    runs: pa.Table,
    asked: NDArray[np.bool_],
    before: pa.Array,
    aside: Aside | None,
) -> CollectReport:
    """The report on `runs`, of which `asked` are planned.

    `before`: runs of the earlier store; `aside`: that store, if it was kept.
    """
    return CollectReport(
        runs=len(runs),
        new=int((~among(runs["run_id"], before)).sum()),
        duplicates=sum(reading.records for reading in found.readings) - len(runs),
        unplanned=int((~asked).sum()),
        failed=pc.sum(pc.equal(runs["status"], "failed")).as_py() or 0,
        problems=[*_problems(found, folder), *_kept(aside)],
    )


def among(ids: pa.ChunkedArray, planned: Collection[str] | pa.Array) -> NDArray[np.bool_]:
    """Whether each id is one of some."""
    wanted = planned if isinstance(planned, pa.Array) else pa.array(planned, pa.string())
    return np.asarray(pc.is_in(ids, value_set=wanted), np.bool_)


def journal_table(found: Gathered, runs: pa.Table) -> pa.Table:
    """The table /journals of a store with these runs."""
    records = np.array([reading.records for reading in found.readings], np.int64)
    winning = np.bincount(runs["journal"].to_numpy(), minlength=len(found.paths))
    return pa.table(
        {
            "journal": pa.array([path.name for path in found.paths], pa.string()),
            "records": records,
            "duplicates": records - winning,
            "bytes": pa.array([path.stat().st_size for path in found.paths], pa.int64()),
            "problem": pa.array([reading.problem for reading in found.readings], pa.string()),
        }
    )


def _problems(found: Gathered, journals: Path) -> list[str]:
    named = zip(found.paths, found.readings, strict=True)
    said = [f"{path.name}: {reading.problem}" for path, reading in named if reading.problem]
    others = set(journals.iterdir() if journals.is_dir() else ()) - set(found.paths)
    strangers = sorted(path.name for path in others if not path.name.startswith("."))
    return said + [f"{name}: not a journal; ignored" for name in strangers]


def _kept(aside: Aside | None) -> list[str]:
    if aside is None:
        return []
    name = aside.path.name
    if not aside.gone:
        return [f"the store before could not be read; kept: {name}"]
    return [f"journals: {aside.gone} runs of the store before are in none any more; kept: {name}"]
