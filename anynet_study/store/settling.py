"""The records of a study's journals, settled: one of each run and evaluation, in order."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.store.catalogue import RUNS, winners
from anynet_study.store.evaluations.catalogue import EVALUATIONS, kept_evaluations
from anynet_study.store.evaluations.writing import Ordered, evaluation_labels, ordered
from anynet_study.store.frames import Reading
from anynet_study.store.gathering import Gathered, gathered
from anynet_study.store.order import (
    RunNames,
    among,
    canonical_order,
    codes_of,
    renamed,
    run_labels,
)


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
class Settled:
    """What becomes a store."""

    #: Of a catalogue, in the order of the store, called what the sweep calls them; and what their
    #: journals do.
    runs: pa.Table
    as_recorded: pa.Table
    #: The row of each in the earlier store, -1: none; and whether the sweep asks for it.
    rows: NDArray[np.int64]
    asked: NDArray[np.bool_]
    evaluations: Ordered
    #: Evaluations of runs that have no record yet, and the journals (numbers) that hold them.
    waiting: int
    waiting_in: NDArray[np.int64]
    #: Texts of coded columns, and the integers that stand for them in those of the runs.
    labels: dict[str, list[str]]
    codes: dict[str, NDArray[np.int32]]


def find(journals: Path, earlier: h5py.File | None) -> Found:
    """Read a folder of journals, as far as the earlier store does not know them.

    Raises UserError or OSError as `journal_frames`.
    """
    runs, evaluations = (gathered(each, journals, earlier) for each in (RUNS, EVALUATIONS))
    return Found(runs, evaluations, earlier)


def settle(sweep: Sweep, found: Found) -> Settled:
    """Settle duplicates, and put runs and evaluations in their order."""
    planned = sweep.planned
    chosen = winners(found.runs.records)
    truth, rows = found.runs.records.take(chosen), found.runs.rows[chosen]
    called = renamed(truth, planned) if isinstance(planned, Mapping) else truth
    names = [path.name for path in found.paths]
    labels = run_labels(called, names, sweep.population, sweep.datasets, sweep.recipes)
    order, codes = canonical_order(called, labels)
    runs = called.take(order)
    asked = np.ones(len(runs), bool) if planned is None else among(runs["run_id"], planned)
    kept = kept_evaluations(found.evaluations, runs["run_id"])
    hosts = {*labels["host"], *kept.table["host"].unique().to_pylist()}
    if len(hosts) > len(labels["host"]):
        labels["host"] = sorted(hosts)
        codes["host"] = codes_of(runs["host"], labels["host"])
    labels |= evaluation_labels(kept, sweep.evaluations)
    evaluations = ordered(kept, sweep.evaluations, labels, asked, len(found.runs.paths))
    waiting = (kept.waiting, kept.waiting_in)
    recorded, rows = truth.take(order), rows[order]
    return Settled(runs, recorded, rows, asked, evaluations, *waiting, labels, codes)
