"""Journals to results store: settle duplicates, order the runs, build the file, swap it in."""

import os
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.files import replacing
from anynet_study.store.attributes import set_text
from anynet_study.store.catalogue import winners
from anynet_study.store.columns import write_numbers, write_table
from anynet_study.store.creating import creating
from anynet_study.store.gathering import Gathered, gathered
from anynet_study.store.heavy import lengths_of, write_heavy
from anynet_study.store.layout import prediction_group
from anynet_study.store.opening import NewerStoreError, open_store, opened
from anynet_study.store.order import RunNames, canonical_order, renamed, run_labels
from anynet_study.store.remembered import ForgottenError, recalling, write_remembered
from anynet_study.store.reporting import Aside, CollectReport, among, journal_table, report_of
from anynet_study.store.turns import one_at_a_time
from anynet_study.store.writing import write_root, write_runs

#: A temporary file this old, in seconds, was left by a collect that was killed.
STALE = 3600.0


#: How long to wait for another collect of the same store, in seconds.
PATIENCE = 900.0


@dataclass(frozen=True)
class Sweep:
    """What a sweep says of its runs: see `collect`."""

    population: pa.Table
    datasets: pa.Table
    planned: Mapping[str, RunNames] | Collection[str] | None
    provenance: Mapping[str, str]
    recipes: Sequence[str]
    #: True classes of the test images of datasets, (images,).
    truths: Mapping[str, NDArray[np.integer]]


def collect(
    journals: Path,
    out: Path,
    population: pa.Table,
    datasets: pa.Table,
    planned: Mapping[str, RunNames] | Collection[str] | None,
    provenance: Mapping[str, str],
    recipes: Sequence[str] = (),
    anew: bool = False,
    truths: Mapping[str, NDArray[np.integer]] | None = None,
) -> CollectReport:
    """Build the results store `out` from a folder of journals and swap it in.

    `population` and `datasets` become /architectures and /datasets and give the order of the runs
    (`layout`), `recipes` that of the sweep, the main one first; `planned` are the run_ids that the
    sweep asks for, None meaning every run; as a mapping it also says what they are called now.
    `truths` are the true classes of datasets' test images, kept with the predictions on them.

    Of the journals, what is new since the store that is there is read, or all with `anew`; the
    result is the same, but that `anew` also replaces what cannot be read as a store. The arrays of
    a few dozen MB of runs are in memory at a time. An old store with runs that no journal has any
    more, or that cannot be read, is kept beside the new one, as `results-kept-1.h5` or so.

    Raises UserError if `out` is a newer store or, without `anew`, none of ours; UserError or
    OSError if a journal cannot be read or the store not written: then the old one stays as it was.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(out)
    with one_at_a_time(out.parent, PATIENCE), _earlier(out, anew) as earlier:
        known = _run_ids(earlier)
        found = gathered(journals, None if anew else earlier)
        sweep = Sweep(population, datasets, planned, provenance, recipes, truths or {})
        unreadable = earlier is None and out.exists()
        try:
            runs, asked, aside = _build(out, sweep, found, known, unreadable)
        except ForgottenError:  # the store that is there is damaged
            found = gathered(journals, None)
            runs, asked, aside = _build(out, sweep, found, known, unreadable)
    return report_of(found, journals, runs, asked, known, aside)


def _build(
    out: Path, sweep: Sweep, found: Gathered, known: pa.Array, unreadable: bool
) -> tuple[pa.Table, NDArray[np.bool_], Aside | None]:
    """Write the store: its runs in order, which of them the sweep asks for, what is kept aside.

    `known`: runs of the store that is replaced, or it is `unreadable`.
    """
    planned = sweep.planned
    chosen = winners(found.records)
    truth, rows = found.records.take(chosen), found.rows[chosen]
    called = renamed(truth, planned) if isinstance(planned, Mapping) else truth
    names = [path.name for path in found.paths]
    labels = run_labels(called, names, sweep.population, sweep.datasets, sweep.recipes)
    order, codes = canonical_order(called, labels)
    runs, truth = called.take(order), truth.take(order)
    asked = np.ones(len(runs), bool) if planned is None else among(runs["run_id"], planned)
    with replacing(out) as temporary, creating(temporary, out) as file:
        write_root(file, sweep.provenance, -1 if planned is None else len(planned))
        write_table(file.create_group("architectures"), sweep.population)
        sampling = (sweep.population.schema.metadata or {}).get(b"anynet_study.sampling", b"")
        set_text(file["architectures"], "sampling", sampling.decode())
        write_table(file.create_group("datasets"), sweep.datasets)
        write_table(file.create_group("journals"), journal_table(found, runs))
        write_runs(file, runs, codes, labels, asked)
        write_remembered(file, truth, found.readings)
        source = found.source(runs, rows[order], lengths_of(runs))
        write_heavy(file, runs, codes["dataset"], labels["dataset"], source)
        for dataset, truth in sweep.truths.items():
            _write_truth(file, dataset, truth, asked)
        # Last, when nothing but the swap is left: a build that fails keeps nothing aside.
        gone = len(known) - int(among(known, runs["run_id"].combine_chunks()).sum())
        aside = Aside(_kept_aside(out), gone) if unreadable or gone else None
    return runs, asked, aside


def _write_truth(
    file: h5py.File, dataset: str, truth: NDArray[np.integer], asked: NDArray[np.bool_]
) -> None:
    """Write a dataset's labels, unless some of the runs on it are not asked for by the sweep.

    Those may have been made on other images under the same name.
    """
    group = file.get(prediction_group(dataset))
    if group is None or not asked[group["run"][()]].all():
        return
    if group["classes"].shape[1] == len(truth):
        write_numbers(group, "labels", truth.astype(np.uint16))


@contextmanager
def _earlier(out: Path, anew: bool) -> Iterator[h5py.File | None]:
    """The store that is there, if any.

    Raises UserError if it is newer or, unless all is made `anew`, cannot be read as one of ours.
    """
    if not out.exists() or (anew and not _is_readable(out)):
        yield None
        return
    with open_store(out):
        pass
    with opened(out) as file:
        yield file


def _is_readable(out: Path) -> bool:
    try:
        with open_store(out):
            return True
    except NewerStoreError:
        raise
    except UserError:
        return False


def _run_ids(store: h5py.File | None) -> pa.Array:
    if store is not None:
        with suppress(ForgottenError), recalling():
            return pa.array(store["runs/run_id"][()].astype(str).astype(object), pa.string())
    return pa.array([], pa.string())


def _kept_aside(out: Path) -> Path:
    """Give the store a second name, under which it stays when it is replaced."""
    names = (out.with_name(f"{out.stem}-kept-{number}{out.suffix}") for number in count(1))
    kept = next(path for path in names if not path.exists())
    try:
        os.link(out, kept)
    except OSError:  # a file system without links
        shutil.copy2(out, kept)
    return kept


def _remove_stale(out: Path) -> None:
    """Remove what a killed collect left; nobody else's temporary file stays unwritten so long."""
    for path in out.parent.glob(f".{out.name}.*.tmp"):
        if time.time() - path.stat().st_mtime > STALE:
            path.unlink(missing_ok=True)
