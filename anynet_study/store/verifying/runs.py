"""The columns of /runs: in range, in order, and true to what they refer to."""

from typing import get_args

import h5py
import numpy as np
from numpy.typing import NDArray

from anynet_study.metrics import Metric
from anynet_study.store.columns import read_coded, read_column
from anynet_study.store.layout import CODED
from anynet_study.store.record import Engine, FailureKind, Status
from anynet_study.store.verifying.finding import Finding, Findings, some

_LEGAL = {"status": Status, "failure_kind": FailureKind, "metric": Metric, "engine": Engine}
#: How the runs are ordered.
ORDER = ("architecture", "dataset", "recipe", "replicate", "run_id")


class Runs:
    """The columns of /runs in memory."""

    def __init__(self, file: h5py.File) -> None:
        """Raises what h5py raises for what cannot be read."""
        plain = [name for name in file["runs"] if name not in CODED]
        self.columns = {name: file["runs"][name][()] for name in plain}
        self.labels = {}
        for name in CODED:
            self.columns[name], self.labels[name] = read_coded(file, name)
        self.ids = self.columns["run_id"]

    def __len__(self) -> int:
        return len(self.ids)

    def having(self, name: str, text: str) -> NDArray[np.bool_]:
        """Which runs have this text in a coded column."""
        codes = np.flatnonzero(self.labels[name] == text)
        return np.isin(self.columns[name], codes)

    def named(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> str:
        """How messages call these runs."""
        return f"runs {some([run_id.decode('ascii', 'replace') for run_id in self.ids[rows]])}"


def references(file: h5py.File, runs: Runs) -> Findings:
    """Integers that stand for nothing; if there are any, all else makes no sense."""
    for name in CODED:
        codes, labels = runs.columns[name], runs.labels[name]
        if ((codes < 0) | (codes >= len(labels))).any():
            yield Finding(f"/runs/{name}", f"has integers beyond the {len(labels)} labels")
        if len(set(labels)) < len(labels):
            yield Finding(f"/labels/{name}", "has a text twice")
    for name, table in (("architecture", "architectures"), ("dataset", "datasets")):
        rows = read_column(file[table], name)
        if list(runs.labels[name][: len(rows)]) != list(rows):
            yield Finding(f"/labels/{name}", f"does not begin with the rows of /{table}")
    if list(runs.labels["journal"]) != list(read_column(file["journals"], "journal")):
        yield Finding("/labels/journal", "is not the column of /journals")


def values(file: h5py.File, runs: Runs) -> Findings:
    """Values that no run can have, or that contradict others of it."""
    for name, legal in _LEGAL.items():
        used = set(runs.labels[name][np.unique(runs.columns[name])])
        if unknown := sorted(used - set(get_args(legal))):
            yield Finding(f"/runs/{name}", f"has {some(unknown)}; legal: {get_args(legal)}")
    yield from _errors(runs)
    for name in ("replicate", "epochs", "images"):
        if (runs.columns[name] < 0).any():
            yield Finding(f"/runs/{name}", f"is negative of {runs.named(runs.columns[name] < 0)}")
    planned = runs.columns["planned"]
    if (planned > 1).any():
        yield Finding("/runs/planned", "is neither 0 nor 1")
    asked = int(file.attrs["planned_runs"])
    if 0 <= asked < int((planned == 1).sum()):
        yield Finding("/runs/planned", f"is 1 of more runs than the {asked} that were planned")
    yield from _order(runs)
    yield from _journal_counts(file, runs)


def _errors(runs: Runs) -> Findings:
    error, failed = runs.columns["error"], runs.having("status", "failed")
    wrong = ~np.where(failed, np.isnan(error), (error >= 0) & (error <= 100))
    if wrong.any():
        said = "is not in 0..100 (NaN of failed runs alone)"
        yield Finding("/runs/error", f"{said}: {runs.named(wrong)}")
    contradicted = failed == runs.having("failure_kind", "")
    if contradicted.any():
        said = "does not fit the status"
        yield Finding("/runs/failure_kind", f"{said} of {runs.named(contradicted)}")


def _order(runs: Runs) -> Findings:
    keys = [runs.columns[name] for name in ORDER]
    if len(np.unique(runs.ids)) < len(runs):
        yield Finding("/runs/run_id", "has a run twice")
    tied = np.ones(max(0, len(runs) - 1), np.bool_)
    for key in keys:
        if (tied & (key[1:] < key[:-1])).any():
            yield Finding("/runs", f"is not ordered by {', '.join(ORDER)}")
            return
        tied &= key[1:] == key[:-1]


def _journal_counts(file: h5py.File, runs: Runs) -> Findings:
    table = file["journals"]
    if not {"records", "duplicates"} <= set(table):
        return
    journals = [runs.columns["journal"]]
    if "evaluations" in file:
        journals.append(file["evaluations/journal"][()])
    there = np.bincount(np.concatenate(journals), minlength=len(runs.labels["journal"]))
    said = table["records"][()] - table["duplicates"][()]
    for name, mine, claimed in zip(runs.labels["journal"], there, said, strict=True):
        if mine != claimed:
            yield Finding("/journals", f"says that {name} gave {claimed} records; there are {mine}")
