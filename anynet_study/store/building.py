"""Records of journals to the file of a results store."""

import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.files import replacing
from anynet_study.store.attributes import set_text
from anynet_study.store.catalogue import RUNS, winners
from anynet_study.store.columns import write_numbers, write_table
from anynet_study.store.creating import creating
from anynet_study.store.evaluations import sources as of_evaluations
from anynet_study.store.evaluations.catalogue import EVALUATIONS, Kept, kept_evaluations
from anynet_study.store.evaluations.writing import (
    Ordered,
    evaluation_labels,
    ordered,
    remember_evaluations,
    write_evaluations,
    write_predictions,
)
from anynet_study.store.frames import Reading
from anynet_study.store.gathering import Gathered, gathered
from anynet_study.store.heavy import lengths_of, write_heavy
from anynet_study.store.layout import prediction_group
from anynet_study.store.order import (
    RunNames,
    among,
    canonical_order,
    codes_of,
    renamed,
    run_labels,
)
from anynet_study.store.remembered import write_remembered
from anynet_study.store.reporting import Aside, Known, journal_table
from anynet_study.store.sources import JournalSource, Source, Sources, StoreSource
from anynet_study.store.writing import write_root, write_runs


@dataclass(frozen=True)
class Sweep:
    """What a sweep says of its runs: see `collect`."""

    population: pa.Table
    datasets: pa.Table
    planned: Mapping[str, RunNames] | Collection[str] | None
    provenance: Mapping[str, str]
    recipes: Sequence[str]
    evaluations: Mapping[str, str] | None
    #: True classes of the test images of datasets, (images,).
    truths: Mapping[str, NDArray[np.integer]]


@dataclass(frozen=True)
class Found:
    """The records of a folder of journals."""

    runs: Gathered
    evaluations: Gathered
    #: The store of the last collect, that has some of them.
    earlier: h5py.File | None

    @property
    def paths(self) -> list[Path]:
        return [*self.runs.paths, *self.evaluations.paths]

    @property
    def readings(self) -> list[Reading]:
        return [*self.runs.readings, *self.evaluations.readings]


@dataclass(frozen=True)
class Built:
    """What a store was made of."""

    #: Of a catalogue, in the order of the store; and which of them the sweep asks for.
    runs: pa.Table
    asked: NDArray[np.bool_]
    evaluations: Ordered
    #: Evaluations of runs that have no record yet.
    waiting: int
    aside: Aside | None


def find(journals: Path, earlier: h5py.File | None) -> Found:
    """Read a folder of journals, as far as the earlier store does not know them.

    Raises UserError or OSError as `journal_frames`.
    """
    runs, evaluations = (gathered(each, journals, earlier) for each in (RUNS, EVALUATIONS))
    return Found(runs, evaluations, earlier)


def build(out: Path, sweep: Sweep, found: Found, known: Known, unreadable: bool) -> Built:
    """Write the store and swap it in.

    `known`: what is in the store that is replaced, or it is `unreadable`. Raises ForgottenError
    where the store of the last collect is damaged.
    """
    planned = sweep.planned
    chosen = winners(found.runs.records)
    truth, rows = found.runs.records.take(chosen), found.runs.rows[chosen]
    called = renamed(truth, planned) if isinstance(planned, Mapping) else truth
    names = [path.name for path in found.paths]
    labels = run_labels(called, names, sweep.population, sweep.datasets, sweep.recipes)
    order, codes = canonical_order(called, labels)
    runs, truth, rows = called.take(order), truth.take(order), rows[order]
    asked = np.ones(len(runs), bool) if planned is None else among(runs["run_id"], planned)
    kept = kept_evaluations(found.evaluations, runs["run_id"])
    hosts = {*labels["host"], *kept.table["host"].unique().to_pylist()}
    if len(hosts) > len(labels["host"]):
        labels["host"] = sorted(hosts)
        codes["host"] = codes_of(runs["host"], labels["host"])
    labels |= evaluation_labels(kept, sweep.evaluations)
    evaluations = ordered(kept, sweep.evaluations, labels, asked, len(found.runs.paths))
    with replacing(out) as temporary, creating(temporary, out) as file:
        write_root(file, sweep.provenance, -1 if planned is None else len(planned))
        write_table(file.create_group("architectures"), sweep.population)
        sampling = (sweep.population.schema.metadata or {}).get(b"anynet_study.sampling", b"")
        set_text(file["architectures"], "sampling", sampling.decode())
        write_table(file.create_group("datasets"), sweep.datasets)
        table = journal_table(found.paths, found.readings, _winning(found, runs, evaluations))
        write_table(file.create_group("journals"), table)
        write_runs(file, runs, codes, labels, asked)
        write_remembered(file, truth, _remembered(found, kept))
        write_evaluations(file, evaluations, labels)
        remember_evaluations(file, evaluations)
        lengths = lengths_of(runs)
        journals: Source = JournalSource(RUNS.kind, runs, found.runs.paths)
        if found.earlier is not None and (rows >= 0).any():
            journals = Sources(journals, StoreSource(found.earlier, rows), rows, lengths)
        write_heavy(file, runs, codes["dataset"], labels["dataset"], journals)
        source = _evaluation_source(found, evaluations)
        write_predictions(file, evaluations, codes["dataset"], labels, source)
        for dataset, classes in sweep.truths.items():
            _write_truth(file, dataset, classes, asked)
        # Last, when nothing but the swap is left: a build that fails keeps nothing aside.
        gone = known.gone(runs, evaluations.table)
        aside = Aside(_kept_aside(out), *gone) if unreadable or any(gone) else None
    return Built(runs, asked, evaluations, kept.waiting, aside)


def _winning(found: Found, runs: pa.Table, evaluations: Ordered) -> NDArray[np.int64]:
    """How many records of every journal are in the store."""
    parts = ((found.runs, runs), (found.evaluations, evaluations.table))
    counts = [
        np.bincount(table["journal"].to_numpy(), minlength=len(each.paths)) for each, table in parts
    ]
    return np.concatenate(counts)


def _remembered(found: Found, kept: Kept) -> list[Reading]:
    """How far the next collect need not read: a journal with waiting evaluations it has to."""
    evaluations = [
        Reading() if number in kept.waiting_in else reading
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

    Those may have been made on other images under the same name.
    """
    group = file.get(prediction_group(dataset))
    if group is None or not asked[group["run"][()]].all():
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
