"""Journals to results store: settle duplicates, order the runs, build the file, swap it in."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.files import replacing
from anynet_study.store.catalogue import Catalogue, read_catalogue, winners
from anynet_study.store.columns import write_table
from anynet_study.store.creating import creating
from anynet_study.store.heavy import write_heavy
from anynet_study.store.opening import open_store
from anynet_study.store.order import RunNames, canonical_order, renamed, run_labels
from anynet_study.store.sources import JournalSource
from anynet_study.store.writing import write_root, write_runs

#: A temporary file this old, in seconds, was left by a collect that was killed.
STALE = 3600.0


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


def collect(
    journals: Path,
    out: Path,
    population: pa.Table,
    datasets: pa.Table,
    planned: Mapping[str, RunNames] | Collection[str] | None,
    provenance: Mapping[str, str],
    recipes: Sequence[str] = (),
) -> CollectReport:
    """Build the results store `out` anew from a folder of journals and swap it in.

    `population` and `datasets` become /architectures and /datasets and give the order of the runs
    (`layout`), `recipes` that of the sweep, the main one first; `planned` are the run_ids that the
    sweep asks for, None meaning every run; as a mapping it also says what they are called now.
    The arrays of a few dozen MB of runs are in memory at a time. Raises UserError if `out` is no
    store of ours or a newer one; UserError or OSError if a journal cannot be read or the store
    not written, and then the old store stays as it was.
    """
    before = _run_ids(out)
    catalogue = read_catalogue(journals)
    kept = catalogue.records.take(winners(catalogue.records))
    names = [path.name for path in catalogue.paths]
    called = renamed(kept, planned) if isinstance(planned, Mapping) else kept
    labels = run_labels(called, names, population, datasets, recipes)
    order, codes = canonical_order(called, labels)
    runs = called.take(order)
    asked = np.ones(len(runs), bool) if planned is None else _among(runs["run_id"], planned)
    source = JournalSource(runs, catalogue.paths)
    _remove_stale(out)
    with replacing(out) as temporary, creating(temporary, out) as file:
        write_root(file, provenance, -1 if planned is None else len(planned))
        write_table(file.create_group("architectures"), population)
        sampling = (population.schema.metadata or {}).get(b"anynet_study.sampling", b"")
        file["architectures"].attrs["sampling"] = sampling.decode()
        write_table(file.create_group("datasets"), datasets)
        write_table(file.create_group("journals"), _journal_table(catalogue, runs))
        write_runs(file, runs, codes, labels, asked)
        write_heavy(file, runs, codes["dataset"], labels["dataset"], source)
    return CollectReport(
        runs=len(runs),
        new=int((~_among(runs["run_id"], before)).sum()),
        duplicates=len(catalogue.records) - len(runs),
        unplanned=int((~asked).sum()),
        failed=pc.sum(pc.equal(runs["status"], "failed")).as_py() or 0,
        problems=_problems(catalogue, journals),
    )


def _run_ids(store: Path) -> pa.Array:
    """Runs in the store that is about to be replaced."""
    if not store.exists():
        return pa.array([], pa.string())
    with open_store(store) as file:
        return pa.array(file["runs/run_id"][()].astype(str).astype(object), pa.string())


def _among(ids: pa.ChunkedArray, planned: Collection[str] | pa.Array) -> NDArray[np.bool_]:
    wanted = planned if isinstance(planned, pa.Array) else pa.array(planned, pa.string())
    return np.asarray(pc.is_in(ids, value_set=wanted), np.bool_)


def _journal_table(catalogue: Catalogue, runs: pa.Table) -> pa.Table:
    count = len(catalogue.paths)
    records = np.bincount(catalogue.records["journal"].to_numpy(), minlength=count)
    winning = np.bincount(runs["journal"].to_numpy(), minlength=count)
    return pa.table(
        {
            "journal": pa.array([path.name for path in catalogue.paths], pa.string()),
            "records": records,
            "duplicates": records - winning,
            "bytes": pa.array([path.stat().st_size for path in catalogue.paths], pa.int64()),
            "problem": pa.array(catalogue.problems, pa.string()),
        }
    )


def _problems(catalogue: Catalogue, journals: Path) -> list[str]:
    named = zip(catalogue.paths, catalogue.problems, strict=True)
    found = [f"{path.name}: {problem}" for path, problem in named if problem]
    others = set(journals.iterdir() if journals.is_dir() else ()) - set(catalogue.paths)
    strangers = sorted(path.name for path in others if not path.name.startswith("."))
    return found + [f"{name}: not a journal; ignored" for name in strangers]


def _remove_stale(out: Path) -> None:
    """Remove what a killed collect left; nobody else's temporary file stays unwritten so long."""
    for path in out.parent.glob(f".{out.name}.*.tmp"):
        if time.time() - path.stat().st_mtime > STALE:
            path.unlink(missing_ok=True)
