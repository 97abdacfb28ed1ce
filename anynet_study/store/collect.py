"""Journals to results store: settle duplicates, order the runs, build the file, swap it in."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
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
from anynet_study.store.order import RunNames, in_canonical_order, renamed, run_labels
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
    if isinstance(planned, Mapping):
        catalogue = replace(catalogue, records=renamed(catalogue.records, planned))
    kept = winners(catalogue.records)
    labels = run_labels(catalogue, population, datasets, recipes)
    runs, codes = in_canonical_order(catalogue.records.take(kept), labels)
    ids = runs["run_id"].to_pylist()
    asked = np.ones(len(ids), bool) if planned is None else _among(ids, planned)
    _remove_stale(out)
    with replacing(out) as temporary, creating(temporary, out) as file:
        write_root(file, provenance, -1 if planned is None else len(planned))
        write_table(file.create_group("architectures"), population)
        sampling = (population.schema.metadata or {}).get(b"anynet_study.sampling", b"")
        file["architectures"].attrs["sampling"] = sampling.decode()
        write_table(file.create_group("datasets"), datasets)
        write_table(file.create_group("journals"), _journal_table(catalogue, kept))
        write_runs(file, runs, codes, labels, asked)
        write_heavy(file, runs, codes["dataset"], labels["dataset"], catalogue.paths)
    return CollectReport(
        runs=len(ids),
        new=len(set(ids) - before),
        duplicates=len(catalogue.records) - len(ids),
        unplanned=int((~asked).sum()),
        failed=pc.sum(pc.equal(runs["status"], "failed")).as_py() or 0,
        problems=_problems(catalogue, journals),
    )


def _run_ids(store: Path) -> set[str]:
    """Runs in the store that is about to be replaced."""
    if not store.exists():
        return set()
    with open_store(store) as file:
        return set(file["runs/run_id"][()].astype(str))


def _among(ids: list[str], planned: Collection[str]) -> NDArray[np.bool_]:
    wanted = set(planned)
    return np.array([run_id in wanted for run_id in ids], bool)


def _journal_table(catalogue: Catalogue, kept: NDArray[np.int64]) -> pa.Table:
    journal = catalogue.records["journal"].to_numpy()
    records = np.bincount(journal, minlength=len(catalogue.paths))
    winning = np.bincount(journal[kept], minlength=len(catalogue.paths))
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
