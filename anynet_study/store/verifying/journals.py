"""A study's journals, and its store against them."""

from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anynet_study.progress import progress_if_long
from anynet_study.store.catalogue import RUNS, winners
from anynet_study.store.evaluations.catalogue import kept_evaluations
from anynet_study.store.gathering import Gathered
from anynet_study.store.heavy import lengths_of
from anynet_study.store.opening import DAMAGE, opened
from anynet_study.store.remembered import ForgottenError
from anynet_study.store.settling import Found, find
from anynet_study.store.sources import ARRAYS, JournalSource, StoreSource
from anynet_study.store.verifying.arrays import run_ids_of
from anynet_study.store.verifying.finding import Finding, Findings, some
from anynet_study.store.verifying.journalled import evaluations_against
from anynet_study.store.verifying.runs import Runs

#: Runs whose arrays are compared together.
RUNS_AT_ONCE = 1 << 11
#: What the store keeps of a record as it is; names are the sweep's and may change.
NUMBERS = ("error", "seconds", "started", "epochs", "images")
TEXTS = ("architecture", "status", "failure_kind", "metric", "host", "device")


def verify_journals(folder: Path, store: Path | None) -> list[Finding]:
    """What is wrong with the journals of a study, and where the store is not what they say.

    `store` None: there is none yet, or it is damaged. Raises UserError or OSError as `collect`.
    """
    both = find(folder, None)
    found = both.runs
    findings = [*_files(both, folder), *_duplicates(found.records)]
    runs = found.records.take(winners(found.records))
    findings += _specs(found, runs)
    if store is not None:
        try:
            with opened(store) as file:
                findings += _against(file, found, runs)
                kept = kept_evaluations(both.evaluations, runs["run_id"])
                findings += evaluations_against(file, both.evaluations, kept)
        except (ForgottenError, *DAMAGE) as error:
            findings.append(Finding(store.name, f"cannot be compared with the journals: {error}"))
    return findings


def _files(found: Found, folder: Path) -> Findings:
    for path, reading in zip(found.paths, found.readings, strict=True):
        where = f"{folder.name}/{path.name}"
        yield from (Finding(where, problem, "train") for problem in reading.problems)
        if reading.tail:
            torn = "ends inside a record" in reading.tail
            yield Finding(where, reading.tail, repair="none" if torn else "train")
    others = set(folder.iterdir() if folder.is_dir() else ()) - set(found.paths)
    for path in sorted(others):
        if not path.name.startswith("."):
            yield Finding(f"{folder.name}/{path.name}", "is no journal; ignored", repair="none")


def _duplicates(records: pa.Table) -> Findings:
    """Runs that were recorded twice and did not end the same."""
    done = records.filter(pc.not_equal(records["status"], "failed"))
    ends = done.group_by("run_id").aggregate([("error", "min"), ("error", "max")])
    other = ends.filter(pc.not_equal(ends["error_min"], ends["error_max"]))["run_id"].to_pylist()
    if other:
        said = "were recorded twice with different errors; the first of each counts"
        yield Finding("journals", f"runs {some(sorted(other))} {said}", repair="none")


def _specs(found: Gathered, runs: pa.Table) -> Findings:
    """Records whose run_id is not the hash of their specification."""
    source, wrong = JournalSource(RUNS.kind, runs, found.paths), []
    ids, lengths = runs["run_id"].to_pylist(), lengths_of(runs)["spec"]
    with progress_if_long("runs of the journals", len(ids)) as report:
        for first in range(0, len(ids), RUNS_AT_ONCE):
            rows = np.arange(first, min(first + RUNS_AT_ONCE, len(ids)))
            text = source.arrays(rows)["spec"].tobytes()
            ends = np.cumsum(lengths[rows]).tolist()
            for row, end in zip(rows.tolist(), ends, strict=True):
                spec = text[end - lengths[row] : end]
                if ids[row] not in run_ids_of(spec):
                    wrong.append(ids[row])
            report(first + len(rows))
    if wrong:
        yield Finding(
            "journals", f"the run_id is not the hash of the spec of runs {some(wrong)}", "train"
        )


def _against(file: h5py.File, found: Gathered, runs: pa.Table) -> Findings:
    there = Runs(file)
    ids = pa.array(there.ids.astype(str).astype(object), pa.string())
    place = pc.index_in(runs["run_id"], value_set=ids).to_numpy(zero_copy_only=False)
    missing = runs.filter(pc.invert(pc.is_in(runs["run_id"], value_set=ids)))
    if len(missing):
        names = sorted(missing["run_id"].to_pylist())
        yield Finding(Path(file.filename).name, f"lacks runs of the journals: {some(names)}")
    extra = ids.filter(pc.invert(pc.is_in(ids, value_set=runs["run_id"].combine_chunks())))
    if len(extra):
        said = f"has runs that are in no journal: {some(extra.to_pylist())}"
        yield Finding(Path(file.filename).name, said, "keep")
    both = np.flatnonzero(~np.isnan(place.astype(np.float64)))
    rows = place[both].astype(np.int64)
    order = np.argsort(rows)
    yield from _compared(file, there, runs.take(both[order]), rows[order], found)


def _compared(
    file: h5py.File, there: Runs, runs: pa.Table, rows: np.ndarray, found: Gathered
) -> Findings:
    """Runs of the store, ascending rows, against their records."""
    for name in NUMBERS:
        mine, recorded = there.columns[name][rows], runs[name].to_numpy()
        other = (mine != recorded) & ~(np.isnan(mine) & np.isnan(recorded))
        if other.any():
            said = f"is not what the journals say of {there.named(rows[other])}"
            yield Finding(f"/runs/{name}", said)
    for name in TEXTS:
        texts = runs[name].cast(pa.string()).to_numpy(zero_copy_only=False)
        other = there.labels[name][there.columns[name][rows]] != texts
        if other.any():
            said = f"is not what the journals say of {there.named(rows[other])}"
            yield Finding(f"/runs/{name}", said)
    lengths = lengths_of(runs)
    stored, journalled = StoreSource(file, rows), JournalSource(RUNS.kind, runs, found.paths)
    wrong: dict[str, list[int]] = {}
    with progress_if_long("runs of store and journals", len(rows)) as report:
        for first in range(0, len(rows), RUNS_AT_ONCE):
            part = np.arange(first, min(first + RUNS_AT_ONCE, len(rows)))
            ours, theirs = stored.arrays(part), journalled.arrays(part)
            for name in ARRAYS:
                if ours[name].tobytes() != theirs[name].tobytes():
                    ends = np.cumsum(lengths[name][part])
                    wrong.setdefault(name, []).extend(
                        _rows_apart(ours[name], theirs[name], ends, rows[part])
                    )
            report(first + len(part))
    for name, apart in wrong.items():
        said = f"{name} is not what the journals say of {there.named(np.array(apart))}"
        yield Finding(Path(file.filename).name, said)


def _rows_apart(
    ours: np.ndarray, theirs: np.ndarray, ends: np.ndarray, rows: np.ndarray
) -> list[int]:
    """The runs, of values end to end, that differ; all of them where the lengths do."""
    if len(ours) != len(theirs):
        return list(rows.tolist())
    raw = np.dtype(f"u{ours.itemsize}")
    apart = np.flatnonzero(ours.view(raw) != theirs.view(raw))
    return list(rows[np.unique(np.searchsorted(ends, apart, side="right"))].tolist())
