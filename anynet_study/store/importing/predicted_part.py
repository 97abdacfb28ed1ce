"""Predictions with labels as a part of a store: errors are counted, not stated."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from anynet_study.errors import UserError
from anynet_study.store.importing.datasets import Known
from anynet_study.store.importing.part import Part, Truth, named_runs
from anynet_study.store.importing.predicted import Classes, Predicted, read_labels, read_predictions
from anynet_study.store.importing.table_part import entry, journal_row
from anynet_study.store.record import NO_PREDICTION


def predicted_part(
    path: Path, dataset: str, label: str, labels: Path | None, recipe: str, known: Known
) -> Part:
    """Read predictions on `dataset`; `label` is the file's name in the store.

    `labels` is a file of true classes, where `path` has none. Raises UserError where they are
    missing or do not fit.
    """
    predicted = read_predictions(path)
    truth = _truth(path, predicted, read_labels(labels) if labels else None)
    classes = predicted.classes
    _check(path, dataset, predicted, truth, known.get(dataset, {}))
    count, examples = classes.shape
    columns = {
        "architecture": pa.array(predicted.models, pa.string()),
        "dataset": pa.array([dataset] * count, pa.string()),
        "recipe": pa.array([recipe] * count, pa.string()),
        "metric": pa.array(["top1"] * count, pa.string()),
        "journal": pa.array([label] * count, pa.string()),
        "error": 100.0 * (classes != truth).sum(axis=1) / examples,
    }
    runs, named = named_runs(columns, classes)
    about = {"dataset": dataset, "test_images": examples}
    if not predicted.correctness:
        about["chance"] = 100.0 * (1.0 - np.bincount(truth).max() / examples)
    told = {"predictions": dataset, **({"labels": labels.name} if labels else {})}
    return Part(
        name=str(path),
        runs=runs,
        arrays=named,
        architectures=pa.table({"architecture": pa.array(predicted.models, pa.string())}),
        datasets=pa.Table.from_pylist([about]),
        journals=journal_row(label, count, path),
        provenance=entry(path, told) | ({"labels": entry(labels, {})} if labels else {}),
        truth={dataset: Truth("correct" if predicted.correctness else "class", truth)},
    )


def _truth(path: Path, predicted: Predicted, given: Classes | None) -> Classes:
    """The labels, from the file itself or a file of labels; all 1 where predictions are correct."""
    own = predicted.labels
    if predicted.correctness:
        if given is not None:
            raise UserError(f"{path}: says which predictions are correct, so --labels are idle")
        return np.ones(predicted.classes.shape[1], np.uint16)
    if own is None and given is None:
        raise UserError(f"{path}: has no labels; give the true classes with --labels DATASET=FILE")
    if own is not None and given is not None and not np.array_equal(own, given):
        raise UserError(f"{path}: its labels differ from those of --labels")
    truth = given if own is None else own
    assert truth is not None
    if len(truth) != predicted.classes.shape[1]:
        raise UserError(
            f"{path}: predictions on {predicted.classes.shape[1]} examples, but {len(truth)} labels"
        )
    return truth


def _check(
    path: Path, dataset: str, predicted: Predicted, truth: Classes, known: dict[str, object]
) -> None:
    names = [*predicted.models, "the labels"]
    for name, classes in zip(names, [*predicted.classes, truth], strict=True):
        gaps = np.flatnonzero(classes == NO_PREDICTION)
        if gaps.size:
            raise UserError(f"{path}: {name}: nothing for example {gaps[0]} (counted from 0)")
        count = known.get("classes")
        if isinstance(count, float) and not predicted.correctness and classes.max() >= count:
            raise UserError(
                f"{path}: {name}: class {classes.max()}, but {dataset} has {count:g} classes "
                f"(counted from 0)"
            )
    said = known.get("test_images", len(truth))
    if said != len(truth):
        raise UserError(f"{path}: {len(truth)} examples, but {dataset} has {said} test images")
