"""Find errors of a store that are not those which the predictions and labels beside them give."""

from collections.abc import Iterator

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.core import arrow
from anynet_study.core.metrics import prediction_error
from anynet_study.store.hdf5 import get_text
from anynet_study.store.opening import stored_json
from anynet_study.store.predictions import (
    evaluation_prediction_groups,
    kind_of,
    prediction_groups,
)
from anynet_study.store.records import NO_PREDICTION
from anynet_study.store.tables import (
    OF_PREDICTIONS,
    evaluations_table,
    predicted_runs,
    read_table,
    runs_table,
    table_columns,
)

OTHER_LABELS = "the labels of its test images are not those that its runs were tested on"


def contradicted(file: h5py.File) -> list[str]:
    """Datasets whose labels give other errors, with the predictions on them, than the runs had.

    One of the first runs on each dataset is compared: the labels are those of all of them.
    """
    runs = runs_table(file, ["dataset", "metric", "error", "status"])
    found: dict[str, bool] = {}
    for row, truth, guesses, classes in predicted_runs(file, most=COMPARED):
        (run,) = runs.slice(row, 1).to_pylist()
        name = run["dataset"]
        known = run["metric"] in (*OF_PREDICTIONS, "top1") and run["status"] == "completed"
        if known and name not in found:
            legal = max(truth.max(initial=0), guesses.max(initial=0)) < classes
            error = prediction_error(run["metric"], truth, guesses, classes) if legal else np.inf
            found[name] = abs(error - run["error"]) > ROUNDING
    return [name for name, wrong in found.items() if wrong]


def unlike_predictions(file: h5py.File) -> Iterator[tuple[str, list[str]]]:
    """Columns of top-1 errors that are not what the predictions beside them give, and whose.

    Of runs whose metric is top1, and of evaluations of a dataset's own images, whose true classes
    are known. Yields ("/runs/error", run_ids) and ("/evaluations/top1", "run_id evaluation").
    """
    runs = runs_table(file, ["run_id", "metric", "status", "error"]).to_pandas()
    counted = (runs["metric"] == "top1") & (runs["status"] == "completed")
    told = runs["error"].where(counted).to_numpy(np.float64)
    ids = runs["run_id"].tolist()
    truths = {get_text(it, "dataset"): _labels_of(it) for it in prediction_groups(file)}
    wrong = [
        ids[row]
        for group in prediction_groups(file)
        for row in _wrong_rows(group, "run", truths[get_text(group, "dataset")], told)
    ]
    if wrong:
        yield "/runs/error", wrong
    tests = evaluations_table(file, ["run_id", "evaluation", "top1", "identity", "dataset"])
    own, rows = _of_own_images(file, tests), tests.select(["run_id", "evaluation"]).to_pylist()
    told = np.where(own, arrow.to_numpy(tests["top1"].cast(pa.float64())), np.nan)
    wrong = [
        f"{rows[row]['run_id']} {rows[row]['evaluation']}"
        for group in evaluation_prediction_groups(file)
        for row in _wrong_rows(group, "row", truths.get(get_text(group, "dataset")), told)
    ]
    if wrong:
        yield "/evaluations/top1", wrong


def _labels_of(group: h5py.Group) -> NDArray[np.uint16] | None:
    """The true class of each image, where all have one class that is known."""
    if kind_of(group) != "class" or "labels" not in group:
        return None
    labels: NDArray[np.uint16] = group["labels"][()]
    return labels if (labels < NO_PREDICTION).all() else None


def _wrong_rows(
    group: h5py.Group, key: str, truth: NDArray[np.uint16] | None, told: NDArray[np.float64]
) -> Iterator[int]:
    """Rows of a table whose error in percent is not that of their predictions; NaN: not told."""
    rows = group[key][()].tolist()
    if truth is None or len(truth) != group["classes"].shape[1]:
        return
    for row, said in zip(rows, group["classes"], strict=True):
        if (said < NO_PREDICTION).all() and abs(
            told[row] - 100 * np.mean(said != truth)
        ) > ROUNDING:
            yield row


def _of_own_images(file: h5py.File, tests: pa.Table) -> NDArray[np.bool_]:
    """Tell which evaluations are of all images and classes of their run's own test set."""
    columns = table_columns(file, "datasets")
    if not len(tests) or not {"content_hash", "classes"} <= set(columns):
        return np.zeros(len(tests), np.bool_)
    about = read_table(file, "datasets", ["dataset", "content_hash", "classes"]).to_pylist()
    known = {row["dataset"]: (row["content_hash"], row["classes"]) for row in about}
    found = []
    for row in tests.select(["dataset", "identity"]).to_pylist():
        identity = stored_json(row["identity"], dict, "identity of an evaluation")
        content, classes = known.get(row["dataset"], ("", 0))
        whole = len(identity.get("classes") or ()) in (0, classes)
        found.append(whole and identity.get("content_hash") == content)
    return np.array(found, np.bool_)


#: Runs of a dataset that are looked at until one has an error on its predictions.
COMPARED = 10
#: Of an error in percent that was computed in other arithmetic.
ROUNDING = 1e-3
