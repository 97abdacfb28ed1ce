"""Settled records to the file of a results store."""

import os
import shutil
from itertools import count
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from anynet_study.files import replacing
from anynet_study.metrics import to_words
from anynet_study.store.attributes import set_text
from anynet_study.store.catalogue import RUNS
from anynet_study.store.columns import write_numbers, write_table
from anynet_study.store.creating import creating
from anynet_study.store.evaluations import sources as of_evaluations
from anynet_study.store.evaluations.catalogue import EVALUATIONS
from anynet_study.store.evaluations.writing import (
    Ordered,
    remember_evaluations,
    write_evaluations,
    write_predictions,
)
from anynet_study.store.frames import Reading
from anynet_study.store.heavy import lengths_of, write_heavy
from anynet_study.store.layout import prediction_group
from anynet_study.store.remembered import write_remembered
from anynet_study.store.reporting import Aside, Known, journal_table
from anynet_study.store.settling import Found, Settled, Sweep
from anynet_study.store.sources import JournalSource, Source, Sources, StoreSource
from anynet_study.store.writing import write_root, write_runs


def build(
    out: Path, sweep: Sweep, found: Found, settled: Settled, known: Known, unreadable: bool
) -> Aside | None:
    """Write the store and swap it in; the one that was there, if it is kept.

    `known`: what is in the store that is replaced, or it is `unreadable`. Raises ForgottenError
    where the store of the last collect is damaged.
    """
    with replacing(out) as temporary, creating(temporary, out) as file:
        _write_sweep(file, sweep)
        table = journal_table(found.paths, found.readings, _winning(found, settled))
        write_table(file.create_group("journals"), table)
        write_runs(file, settled.runs, settled.codes, settled.labels, settled.asked)
        write_remembered(file, settled.as_recorded, _remembered(found, settled))
        write_evaluations(file, settled.evaluations, settled.labels)
        remember_evaluations(file, settled.evaluations)
        _write_arrays(file, found, settled)
        for dataset, classes in sweep.truths.items():
            _write_truth(file, dataset, classes, settled.asked)
        # Last, when nothing but the swap is left: a build that fails keeps nothing aside.
        gone = known.gone(settled.runs, settled.evaluations.table)
        return Aside(_kept_aside(out), *gone) if unreadable or any(gone) else None


def _write_sweep(file: h5py.File, sweep: Sweep) -> None:
    write_root(file, sweep.provenance, -1 if sweep.planned is None else len(sweep.planned))
    write_table(file.create_group("architectures"), sweep.population)
    sampling = (sweep.population.schema.metadata or {}).get(b"anynet_study.sampling", b"")
    set_text(file["architectures"], "sampling", sampling.decode())
    write_table(file.create_group("datasets"), sweep.datasets)


def _write_arrays(file: h5py.File, found: Found, settled: Settled) -> None:
    runs, rows, dataset = settled.runs, settled.rows, settled.codes["dataset"]
    source: Source = JournalSource(RUNS.kind, runs, found.runs.paths)
    if found.earlier is not None and (rows >= 0).any():
        source = Sources(source, StoreSource(found.earlier, rows), rows, lengths_of(runs))
    write_heavy(file, runs, dataset, settled.labels["dataset"], source)
    predictions = _evaluation_source(found, settled.evaluations)
    write_predictions(file, settled.evaluations, dataset, settled.labels, predictions)


def _winning(found: Found, settled: Settled) -> NDArray[np.int64]:
    """How many records of every journal are in the store."""
    parts = ((found.runs, settled.runs), (found.evaluations, settled.evaluations.table))
    counts = [
        np.bincount(table["journal"].to_numpy(), minlength=len(each.paths)) for each, table in parts
    ]
    return np.concatenate(counts)


def _remembered(found: Found, settled: Settled) -> list[Reading]:
    """How far the next collect need not read: a journal with waiting evaluations it has to."""
    evaluations = [
        Reading() if number in settled.waiting_in else reading
        for number, reading in enumerate(found.evaluations.readings)
    ]
    return [*found.runs.readings, *evaluations]


def _evaluation_source(found: Found, evaluations: Ordered) -> Source:
    table, names = evaluations.table, of_evaluations.ARRAYS
    journals = JournalSource(EVALUATIONS.kind, table, found.evaluations.paths, names)
    rows = found.evaluations.rows[evaluations.row]
    if found.earlier is None or not (rows >= 0).any():
        return journals
    lengths = dict.fromkeys(names, table["predicted"].to_numpy().astype(np.int64))
    stored = of_evaluations.StoredEvaluations(found.earlier, rows)
    return Sources(journals, stored, rows, lengths)


def _write_truth(
    file: h5py.File, dataset: str, truth: NDArray[np.integer], asked: NDArray[np.bool_]
) -> None:
    """Write a dataset's labels, unless some of the runs on it are not asked for by the sweep.

    Those may have been made on other images under the same name. `truth` is (images,), or (images,
    classes) of zeros and ones.
    """
    group = file.get(prediction_group(dataset))
    if group is None:
        return
    if truth.ndim == 2:
        truth = to_words(truth)
        set_text(group, "kind", "labels")
    if not asked[group["run"][()]].all():
        return
    if group["classes"].shape[1] == len(truth):
        write_numbers(group, "labels", truth.astype(np.uint16))


def _kept_aside(out: Path) -> Path:
    """Give the store a second name, under which it stays when it is replaced."""
    names = (out.with_name(f"{out.stem}-kept-{number}{out.suffix}") for number in count(1))
    kept = next(path for path in names if not path.exists())
    try:
        os.link(out, kept)
    except OSError:  # a file system without links
        shutil.copy2(out, kept)
    return kept
