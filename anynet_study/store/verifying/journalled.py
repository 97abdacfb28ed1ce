"""The evaluations of a store against those of the journals."""

from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anynet_study.store.evaluations.catalogue import EVALUATIONS, Kept, evaluation_keys, stored_keys
from anynet_study.store.evaluations.sources import ARRAYS, StoredEvaluations
from anynet_study.store.gathering import Gathered
from anynet_study.store.sources import JournalSource
from anynet_study.store.verifying.evaluations import Evaluations
from anynet_study.store.verifying.finding import Finding, Findings, some
from anynet_study.store.verifying.runs import Runs

#: Evaluations whose predictions are compared together.
ROWS_AT_ONCE = 1 << 11
#: What the store keeps of a record as it is; its name is the sweep's and may change.
NUMBERS = ("images", "loss", "top1", "top5", "error", "seconds", "started", "predicted")
TEXTS = ("identity", "host")


def evaluations_against(file: h5py.File, found: Gathered, kept: Kept) -> Findings:
    """Where the store has others than the journals, or says other things of them.

    `kept`: what a store of these journals keeps.
    """
    where, there, runs = Path(file.filename).name, Evaluations(file), Runs(file)
    ids = pa.array(runs.ids.astype(str).astype(object), pa.string())
    stored = stored_keys(file, ids) if there.there else pa.array([], pa.string())
    keys = evaluation_keys(kept.table).combine_chunks()
    if missing := keys.filter(pc.invert(pc.is_in(keys, value_set=stored))).to_pylist():
        yield Finding(where, f"lacks evaluations of the journals: {some(sorted(missing))}")
    if extra := stored.filter(pc.invert(pc.is_in(stored, value_set=keys))).to_pylist():
        yield Finding(where, f"has evaluations that are in no journal: {some(extra)}", "keep")
    place = pc.index_in(stored, value_set=keys)
    rows = np.flatnonzero(np.asarray(place.is_valid()))
    recorded = kept.table.take(place.take(pa.array(rows)))
    for name in NUMBERS:
        mine, theirs = there.columns[name][rows] if len(rows) else rows, recorded[name].to_numpy()
        other = (mine != theirs) & ~(np.isnan(mine) & np.isnan(theirs))
        yield from _said(name, there, runs, rows[other])
    for name in TEXTS if len(rows) else ():
        texts = recorded[name].cast(pa.string()).to_numpy(zero_copy_only=False)
        other = there.labels[name][there.columns[name][rows]] != texts
        yield from _said(name, there, runs, rows[other])
    same = np.flatnonzero(recorded["predicted"].to_numpy())
    if len(same):
        yield from _predictions(file, found, recorded.take(same), rows[same], there, runs)


def _said(name: str, there: Evaluations, runs: Runs, rows: np.ndarray) -> Findings:
    if len(rows):
        said = f"is not what the journals say of {there.named(runs, rows)}"
        yield Finding(f"/evaluations/{name}", said)


def _predictions(
    file: h5py.File,
    found: Gathered,
    recorded: pa.Table,
    rows: np.ndarray,
    there: Evaluations,
    runs: Runs,
) -> Findings:
    journalled = JournalSource(EVALUATIONS.kind, recorded, found.paths, ARRAYS)
    stored, wrong = StoredEvaluations(file, rows), []
    lengths = recorded["predicted"].to_numpy()
    for first in range(0, len(rows), ROWS_AT_ONCE):
        part = np.arange(first, min(first + ROWS_AT_ONCE, len(rows)))
        ours, theirs = (source.arrays(part)["predictions"] for source in (stored, journalled))
        if len(ours) != len(theirs):
            wrong += rows[part].tolist()
        elif (apart := np.flatnonzero(ours != theirs)).size:
            ends = np.cumsum(lengths[part])
            wrong += rows[part][np.unique(np.searchsorted(ends, apart, side="right"))].tolist()
    yield from _said("predictions", there, runs, np.array(wrong, np.int64))
