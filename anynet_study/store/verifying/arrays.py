"""What belongs to a run beside its scalars: specification, curves and predictions."""

import hashlib
from collections.abc import Iterator

import h5py
import numpy as np
from numpy.typing import NDArray

from anynet_study.store.attributes import get_text
from anynet_study.store.columns import absent_curve, read_column
from anynet_study.store.layout import prediction_group
from anynet_study.store.record import NO_PREDICTION
from anynet_study.store.verifying.finding import BYTES_AT_ONCE, Finding, Findings
from anynet_study.store.verifying.runs import Runs

#: Runs that are looked at together.
RUNS_AT_ONCE = 1 << 13
#: Percent by which an error may differ from the last value of a curve, which is float32.
TOLERANCE = 1e-4
ERROR_CURVES = ("train_top1", "train_top5", "test_top1", "test_top5", "test_error")


def offsets(file: h5py.File, runs: Runs) -> Findings:
    """Offsets that do not divide their array; if there are any, the arrays make no sense."""
    for group, arrays in (
        ("curves", [*ERROR_CURVES, "train_loss", "test_loss"]),
        ("specs", ["text"]),
    ):
        place = file[group]["offsets"][()]
        if place[0] != 0 or (np.diff(place) < 0).any():
            yield Finding(f"/{group}/offsets", "does not ascend from 0")
        elif any(
            file[group][name].shape[0] != place[-1]
            for name in arrays
            if not absent_curve(file, name)
        ):
            yield Finding(f"/{group}", "its arrays do not end where the offsets do")
        elif group == "curves" and (np.diff(place) != runs.columns["epochs"]).any():
            wrong = np.diff(place) != runs.columns["epochs"]
            yield Finding("/curves/offsets", f"contradicts the epochs of {runs.named(wrong)}")


def specs(file: h5py.File, runs: Runs) -> Findings:
    """Run ids that are not the hash of their specification; architectures likewise."""
    place, text = file["specs/offsets"][()], file["specs/text"]
    names = runs.labels["architecture"][runs.columns["architecture"]]
    foreign, other = [], []
    for rows in _stretches(len(runs)):
        data = text[place[rows.start] : place[rows.stop]].tobytes()
        for row in rows:
            spec = data[place[row] - place[rows.start] : place[row + 1] - place[rows.start]]
            if runs.ids[row].decode("ascii", "replace") not in run_ids_of(spec):
                foreign.append(row)
            if (network := _architecture(spec)) is not None and network != names[row]:
                other.append(row)
    if foreign:
        yield Finding(
            "/runs/run_id", f"is not the hash of the spec of {runs.named(np.array(foreign))}"
        )
    if other:
        said = "is not the one of the spec of"
        yield Finding("/runs/architecture", f"{said} {runs.named(np.array(other))}")


def run_ids_of(spec: bytes) -> tuple[str, str]:
    """The id of a run that was trained, and of one that was imported by its names."""
    trained = hashlib.sha256(spec).hexdigest()[:16]
    return trained, hashlib.blake2b(spec, digest_size=8).hexdigest()


def _architecture(spec: bytes) -> str | None:
    """The id of the architecture in a canonical specification, in which it comes first."""
    head, tail = b'{"architecture":{', b'},"data":'
    stop = spec.find(tail)
    if not spec.startswith(head) or stop < 0:
        return None
    return hashlib.sha256(spec[len(head) - 1 : stop + 1]).hexdigest()[:16]


def curves(file: h5py.File, runs: Runs) -> Findings:
    """Errors outside 0..100, and final errors that are not the last of their curve."""
    place, completed = file["curves/offsets"][()], runs.having("status", "completed")
    for name in (each for each in ERROR_CURVES if not absent_curve(file, each)):
        array, wrong = file["curves"][name], []
        metric = name.removeprefix("test_")
        on_it = True if metric == "error" else runs.having("metric", metric)
        final = completed & on_it & (np.diff(place) > 0)
        for rows in _stretches(len(runs)):
            values = array[place[rows.start] : place[rows.stop]]
            if ((values < 0) | (values > 100)).any():
                yield Finding(f"/curves/{name}", "is not in 0..100")
                return
            mine = rows.start + np.flatnonzero(final[rows.start : rows.stop])
            last = values[place[mine + 1] - 1 - place[rows.start]]
            apart = np.abs(last - runs.columns["error"][mine]) > TOLERANCE
            wrong += mine[apart].tolist()
        if wrong:
            said = f"does not end with the error of {runs.named(np.array(wrong))}"
            yield Finding(f"/curves/{name}", said)


def predictions(file: h5py.File, runs: Runs) -> Findings:
    """Predictions of other runs or classes than there are, or of another error than theirs."""
    covered = np.zeros(len(runs), np.bool_)
    table = file["datasets"]
    classes = read_column(table, "classes") if "classes" in table else np.empty(0)
    for name, group in file["predictions"].items():
        dataset, where = get_text(group, "dataset"), f"/predictions/{name}"
        rows = group["run"][()].astype(np.int64)
        mine = np.flatnonzero(runs.labels["dataset"] == dataset)
        if prediction_group(dataset) != where or not mine.size:
            yield Finding(where, f"is not the group of a dataset ({dataset})")
        elif len(rows) != group["classes"].shape[0]:
            yield Finding(f"{where}/run", "is not of the length of classes")
        elif (np.diff(rows) <= 0).any() or not _within(rows, len(runs)):
            yield Finding(f"{where}/run", "does not ascend within the rows of /runs")
        elif (runs.columns["dataset"][rows] != mine[0]).any():
            yield Finding(f"{where}/run", f"has runs on other datasets than {dataset}")
        else:
            covered[rows] = True
            kind = get_text(group, "kind", "class")
            known = classes[mine[0]] if mine[0] < len(classes) else 0
            most = int(known) if known > 0 else NO_PREDICTION
            most = {"correct": 2, "labels": NO_PREDICTION}.get(kind, most)
            yield from _group(group, where, rows, most, runs)
    lost = (runs.columns["images"] > 0) & ~covered
    if lost.any():
        yield Finding("/predictions", f"lacks {runs.named(lost)}")


def _within(rows: NDArray[np.int64], count: int) -> bool:
    return not len(rows) or (rows[0] >= 0 and rows[-1] < count)


def _group(
    group: h5py.Group, where: str, rows: NDArray[np.int64], classes: int, runs: Runs
) -> Findings:
    labels = group["labels"][()] if "labels" in group else None
    if labels is not None and labels.shape != group["classes"].shape[1:]:
        yield Finding(f"{where}/labels", "is not of the length of the predictions")
        labels = None
    images, error = runs.columns["images"][rows], runs.columns["error"][rows]
    top1 = runs.having("metric", "top1")[rows] & runs.having("status", "completed")[rows]
    top1 &= get_text(group, "kind", "class") != "labels"  # of which top-1 errors do not follow
    beyond, counted, apart = [], [], []
    for lines in _stretches(
        len(rows), max(1, BYTES_AT_ONCE // max(2, 2 * group["classes"].shape[1]))
    ):
        part = slice(lines.start, lines.stop)
        values = group["classes"][part]
        there = values != NO_PREDICTION
        beyond += rows[part][((values >= classes) & there).any(axis=1)].tolist()
        counted += rows[part][there.sum(axis=1) != images[part]].tolist()
        if labels is not None:
            wrong = _error_of(values, labels) - error[part]
            apart += rows[part][top1[part] & (np.abs(wrong) > TOLERANCE)].tolist()
    for found, said in (
        (beyond, f"has classes beyond the {classes} of the dataset:"),
        (counted, "has other images than /runs/images says of"),
        (apart, "and the labels give another error than that of"),
    ):
        if found:
            yield Finding(f"{where}/classes", f"{said} {runs.named(np.array(found))}")


def _error_of(values: NDArray[np.uint16], labels: NDArray[np.uint16]) -> NDArray[np.float64]:
    """Percent of the images with a prediction and a label on which they differ; NaN of none."""
    known = (values != NO_PREDICTION) & (labels != NO_PREDICTION)
    count = known.sum(axis=1)
    wrong = ((values != labels) & known).sum(axis=1)
    share = np.divide(100.0 * wrong, count, where=count > 0, out=np.full(len(values), np.nan))
    return np.asarray(share, np.float64)


def _stretches(count: int, length: int = RUNS_AT_ONCE) -> Iterator[range]:
    return (range(first, min(first + length, count)) for first in range(0, count, length))
