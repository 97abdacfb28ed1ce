"""The evaluations of a store: in range, in order, and true to what they refer to."""

from hashlib import sha256

import h5py
import numpy as np
from numpy.typing import NDArray

from anynet_study.store.attributes import get_text
from anynet_study.store.columns import read_column
from anynet_study.store.evaluations.reading import evaluation_prediction_groups
from anynet_study.store.layout import EVALUATION_CODED, EVALUATION_COLUMNS, evaluation_group
from anynet_study.store.record import NO_PREDICTION
from anynet_study.store.verifying.finding import BYTES_AT_ONCE, Finding, Findings, some
from anynet_study.store.verifying.runs import Runs

#: How they are ordered.
ORDER = ("run", "evaluation", "evaluation_id")


class Evaluations:
    """The columns of /evaluations in memory; none in a file of before there were any."""

    def __init__(self, file: h5py.File) -> None:
        """Raises what h5py raises for what cannot be read."""
        group = file.get("evaluations", {})
        self.there = "evaluations" in file
        self.columns = {
            name: group[name][()] for name in EVALUATION_COLUMNS if self.there and name in group
        }
        if self.there and "error" not in group:  # of before version 5
            self.columns["error"] = np.full(len(self), np.nan)
        self.labels = {name: read_column(file["labels"], name) for name in self._coded()}

    def _coded(self) -> tuple[str, ...]:
        return (*EVALUATION_CODED, "host", "journal") if self.there else ()

    def __len__(self) -> int:
        return len(self.columns["run"]) if self.there else 0

    def named(self, runs: Runs, rows: NDArray[np.integer] | NDArray[np.bool_]) -> str:
        """How messages call these rows."""
        ids = runs.ids[self.columns["run"][rows]].tolist()
        names = self.labels["evaluation"][self.columns["evaluation"][rows]]
        pairs = zip(names, ids, strict=True)
        return some([f"{name} of {run.decode('ascii', 'replace')}" for name, run in pairs])


def references(evaluations: Evaluations, runs: Runs) -> Findings:
    """Integers that stand for nothing; if there are any, all else makes no sense."""
    run = evaluations.columns.get("run", np.empty(0))
    if ((run < 0) | (run >= len(runs))).any():
        yield Finding("/evaluations/run", f"has integers beyond the {len(runs)} runs")
    for name, labels in evaluations.labels.items():
        codes = evaluations.columns[name]
        if ((codes < 0) | (codes >= len(labels))).any():
            yield Finding(f"/evaluations/{name}", f"has integers beyond the {len(labels)} labels")
        if len(set(labels)) < len(labels):
            yield Finding(f"/labels/{name}", "has a text twice")


def values(file: h5py.File, evaluations: Evaluations, runs: Runs) -> Findings:
    """Values that no evaluation can have, another order, and false predictions."""
    if not evaluations.there:
        return
    columns = evaluations.columns
    unplanned = (columns["planned"] == 1) & (runs.columns["planned"][columns["run"]] == 0)
    predicted, images = columns["predicted"], columns["images"]
    wrong = {
        "top1": ~((columns["top1"] >= 0) & (columns["top1"] <= 100)),
        "top5": ~((columns["top5"] >= 0) & (columns["top5"] <= 100)),
        "error": (columns["error"] < 0) | (columns["error"] > 100),
        "images": images < 1,
        "predicted": predicted % np.maximum(images, 1) != 0,
        "planned": (columns["planned"] > 1) | unplanned,
    }
    for name, rows in wrong.items():
        if rows.any():
            said = f"cannot be so of {evaluations.named(runs, rows)}"
            yield Finding(f"/evaluations/{name}", said)
    yield from _identities(evaluations, runs)
    yield from _order(columns)
    yield from _predictions(file, evaluations, runs)


def _identities(evaluations: Evaluations, runs: Runs) -> Findings:
    """Ids that are not the hash of their identity."""
    columns, labels = evaluations.columns, evaluations.labels
    pairs = np.stack([columns["evaluation_id"], columns["identity"]])
    unlike, first = np.unique(pairs, axis=1, return_index=True)
    true = [
        labels["evaluation_id"][name] == sha256(labels["identity"][said].encode()).hexdigest()[:16]
        for name, said in unlike.T.tolist()
    ]
    false = first[~np.array(true, np.bool_)]
    if false.size:
        said = f"is not the hash of the identity, such as of {evaluations.named(runs, false)}"
        yield Finding("/evaluations/evaluation_id", said)


def _order(columns: dict[str, NDArray[np.generic]]) -> Findings:
    keys = [columns[name].astype(np.int64) for name in ORDER]
    tied = np.ones(max(0, len(keys[0]) - 1), np.bool_)
    for key in keys:
        if (tied & (key[1:] < key[:-1])).any():
            yield Finding("/evaluations", f"is not ordered by {', '.join(ORDER)}")
            return
        tied &= key[1:] == key[:-1]
    pairs = np.stack([columns["run"], columns["evaluation_id"]])
    if np.unique(pairs, axis=1).shape[1] < pairs.shape[1]:
        yield Finding("/evaluations", "has an evaluation of a run twice")


def _predictions(file: h5py.File, evaluations: Evaluations, runs: Runs) -> Findings:
    covered = np.zeros(len(evaluations), np.bool_)
    columns = evaluations.columns
    datasets = runs.labels["dataset"][runs.columns["dataset"][columns["run"]]]
    names = evaluations.labels["evaluation"][columns["evaluation"]]
    for group in evaluation_prediction_groups(file):
        dataset, evaluation = get_text(group, "dataset"), get_text(group, "evaluation")
        rows = group["row"][()].astype(np.int64)
        if group.name != evaluation_group(dataset, evaluation):
            yield Finding(group.name, f"is not the group of {evaluation} on {dataset}")
        elif len(rows) != group["classes"].shape[0]:
            yield Finding(f"{group.name}/row", "is not of the length of classes")
        elif (np.diff(rows) <= 0).any() or not _within(rows, len(evaluations)):
            yield Finding(f"{group.name}/row", "does not ascend within the rows of /evaluations")
        elif (datasets[rows] != dataset).any() or (names[rows] != evaluation).any():
            yield Finding(f"{group.name}/row", "has rows of another dataset or evaluation")
        else:
            covered[rows] = True
            yield from _counts(group, rows, evaluations, runs)
    lost = (columns["predicted"] > 0) & ~covered
    if lost.any():
        yield Finding("/evaluations/predictions", f"lacks {evaluations.named(runs, lost)}")


def _counts(
    group: h5py.Group, rows: NDArray[np.int64], evaluations: Evaluations, runs: Runs
) -> Findings:
    """Rows with other numbers of predictions than /evaluations says."""
    apart: list[int] = []
    length = max(1, BYTES_AT_ONCE // max(2, 2 * group["classes"].shape[1]))
    for first in range(0, len(rows), length):
        mine = rows[first : first + length]
        there = (group["classes"][first : first + length] != NO_PREDICTION).sum(axis=1)
        apart += mine[there != evaluations.columns["predicted"][mine]].tolist()
    if apart:
        said = "has other numbers of predictions than /evaluations/predicted says of"
        named = evaluations.named(runs, np.array(apart))
        yield Finding(f"{group.name}/classes", f"{said} {named}")


def _within(rows: NDArray[np.int64], count: int) -> bool:
    return not len(rows) or (rows[0] >= 0 and rows[-1] < count)
