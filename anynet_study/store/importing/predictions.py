"""Predictions on one dataset, example by example: classes, or whether they are correct.

What two files both name is joined by that name: predictions and labels by the names of images.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.core.errors import UserError
from anynet_study.core.sheets import (
    Sheet,
    column_called,
    first_repeat,
    load_json,
    normal_form,
    number,
    read_sheet,
)
from anynet_study.store.importing.described import Known
from anynet_study.store.importing.files import ImportedFile, entry, journal_row, named_records
from anynet_study.store.importing.roles import OF_ROWS
from anynet_study.store.predictions import Truth
from anynet_study.store.records import NO_PREDICTION
from anynet_study.store.run_arrays import RunArrays

#: Names of columns, keys and arrays that hold true classes, in normal form.
LABELS = (
    *("label", "labels", "target", "targets", "true", "truth", "y_true", "y", "gt", "gold"),
    *("ground_truth", "groundtruth", "true_label", "true_class", "true_labels", "y_test"),
)
#: Names of a column that names the examples, the surest first.
EXAMPLES = (
    *("example", "image", "index", "id", "example_id", "image_id", "filename", "file_name"),
    *("image_name", "image_path", "path", "file", "img", "sample", "sample_id"),
)
#: Names of columns that are of no model.
NO_MODELS = {"fold", "split", "subset", "part", "confidence", "probability", "group", "weight"}
ENDINGS = (".npy", ".npz", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".parquet")

Classes = NDArray[np.uint16]


@dataclass(frozen=True)
class ModelPredictions:
    """Predictions of models on the same examples, in one order."""

    models: list[str]
    #: (models, examples); 1 and 0 where only correctness is known; NO_PREDICTION: none.
    classes: Classes
    #: (examples,); None where the file has none.
    labels: Classes | None
    #: The names of the examples, in their order; None where the file has none.
    names: list[str] | None
    #: Whether `classes` are 1 for correct and 0 for wrong.
    correctness: bool


def predictions_file(
    path: Path,
    dataset: str,
    label: str,
    labels: Path | None,
    recipe: str,
    known: Known,
    arrays: RunArrays,
    order: dict[str, list[str]],
) -> ImportedFile:
    """Read predictions on `dataset`; `label` is the file's name in the store.

    `labels` is a file of true classes, where `path` has none. `order` has by dataset the names of
    the examples in their order, as an earlier file has them; this one is added. Raises UserError
    where labels are missing or do not fit.
    """
    predicted = read_predictions(path)
    given = read_labels(labels) if labels else None
    if given is not None and given.names is not None:
        order.setdefault(dataset, given.names)
    predicted = _in_order(path, predicted, order.get(dataset))
    if predicted.names is not None:
        order[dataset] = predicted.names
    if given is not None and labels is not None:
        given = _in_order(labels, given, order.get(dataset))
    truth = _truth(path, predicted, None if given is None else given.labels)
    classes = predicted.classes
    _check(path, dataset, predicted, truth, known.get(dataset, {}))
    count, examples = classes.shape
    columns = {
        "architecture": pa.array(predicted.models, pa.string()),
        "dataset": dataset,
        "recipe": recipe,
        "metric": "top1",
        "journal": label,
        "error": 100.0 * (classes != truth).sum(axis=1) / examples,
    }
    about = {"dataset": dataset, "test_images": examples}
    if not predicted.correctness:
        about["chance"] = 100.0 * (1.0 - np.bincount(truth).max() / examples)
    told = {"predictions": dataset, **({"labels": labels.name} if labels else {})}
    return ImportedFile(
        name=str(path),
        records=named_records(columns, arrays, classes),
        planned=np.ones(count, np.bool_),
        architectures=pa.table({"architecture": pa.array(predicted.models, pa.string())}),
        datasets=pa.Table.from_pylist([about]),
        journals=journal_row(label, count, path),
        provenance=entry(path, told) | ({"labels": entry(labels, {})} if labels else {}),
        recipes=[recipe],
        truths={dataset: Truth("correct" if predicted.correctness else "class", truth)},
    )


def _in_order(
    path: Path, predicted: ModelPredictions, names: Sequence[str] | None
) -> ModelPredictions:
    """Return predictions in the order of `names`; as they are where one side names none.

    UserError where names repeat, or are not those of the other file.
    """
    own = predicted.names
    if own is None or names is None:
        return predicted
    place = {name: number for number, name in enumerate(own)}
    if len(place) < len(own):
        again = next(name for number, name in enumerate(own) if place[name] != number)
        raise UserError(f"{path}: image {again} is there twice, so images cannot be joined by name")
    if odd := sorted({*own} ^ {*names}):
        side = "here, but not in the file it is joined with" if odd[0] in place else "not here"
        raise UserError(
            f"{path}: {len(odd)} images are not in both files, such as {odd[0]}, which is {side}: "
            "predictions and labels are joined by the names of images"
        )
    places = [place[name] for name in names]
    labels = None if predicted.labels is None else predicted.labels[places]
    classes = predicted.classes[:, places]
    return replace(predicted, classes=classes, labels=labels, names=list(names))


def _truth(path: Path, predicted: ModelPredictions, given: Classes | None) -> Classes:
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
    path: Path, dataset: str, predicted: ModelPredictions, truth: Classes, known: dict[str, Any]
) -> None:
    if not predicted.correctness:
        _refuse_shifted(path, predicted, truth)
    rows = {"the labels": truth, **dict(zip(predicted.models, predicted.classes, strict=True))}
    for name, classes in rows.items():
        gaps = np.flatnonzero(classes == NO_PREDICTION)
        if gaps.size:
            raise UserError(f"{path}: {name}: nothing for example {gaps[0]} (counted from 0)")
        # Of predictions that are correct or wrong, there are no more than these.
        count = 2 if predicted.correctness else known.get("classes", int(truth.max()) + 1)
        if classes.max() >= count:
            said = f"{dataset} has {count:g} classes"
            if "classes" not in known:
                said = f"the labels end at {truth.max()}; say how many there are with --datasets"
            raise UserError(f"{path}: {name}: class {classes.max()} (counted from 0), but {said}")
    said = known.get("test_images", len(truth))
    if said != len(truth):
        raise UserError(f"{path}: {len(truth)} examples, but {dataset} has {said} test images")


def _refuse_shifted(path: Path, predicted: ModelPredictions, truth: Classes) -> None:
    """UserError where predictions are right one class further: one side counts from 1."""
    classes = predicted.classes.astype(np.int32)
    hits, chance = (classes == truth).mean(), np.bincount(truth).max() / len(truth)
    for step, side in ((1, "labels"), (-1, "predictions")):
        if (classes + step == truth).mean() > max(hits + 0.1, 2 * hits, 1.2 * chance):
            raise UserError(
                f"{path}: labels are {truth.min()} to {truth.max()}, predictions {classes.min()} "
                f"to {classes.max()}: do {side} count from 1? Then far more are right: count both "
                "from 0"
            )


def read_predictions(path: Path) -> ModelPredictions:
    """Read a file of predictions.

    NPZ: one array (examples,) per model, by name, and maybe `labels`. NPY, and a JSON list: one
    such array, of the model that the file is named after. JSON: the same as a mapping to lists, or
    to mappings of images to classes, with the models at the top or in `predictions`. Tables: one
    column per model, one row per example, and maybe a column `label`; or the columns model,
    example, `prediction` or `correct`, and maybe label. Booleans, and a column `correct`, say
    whether a prediction is correct. Raises UserError for others.
    """
    names, arrays = _arrays(path)
    labels = None
    models: dict[str, Classes] = {}
    kinds: dict[str, bool] = {}
    for name, values in arrays.items():
        classes, correctness = as_classes(f"{path}: {name}", values)
        if normal_form(name) in LABELS:
            if labels is not None and not np.array_equal(labels, classes):
                raise UserError(f"{path}: {name} is called like labels, but differs from others")
            labels = classes
        else:
            models[name], kinds[name] = classes, correctness
    if not models:
        raise UserError(f"{path}: holds no predictions of any model")
    if odd := [name for name in models if normal_form(name) in NO_MODELS]:
        raise UserError(
            f"{path}: {', '.join(odd)}: called like no model; remove it from the file, or rename it"
        )
    sizes = {name: len(classes) for name, classes in models.items()}
    if labels is not None:
        sizes["the labels"] = len(labels)
    first = next(iter(sizes))
    for name, size in sizes.items():
        if size != sizes[first]:
            raise UserError(f"{path}: {first} has {sizes[first]} examples, {name} {size}")
    if len(set(kinds.values())) > 1:
        raise UserError(f"{path}: classes of some models, only correctness of others")
    stacked = np.stack(list(models.values()))
    return ModelPredictions(list(models), stacked, labels, names, any(kinds.values()))


def read_labels(path: Path) -> ModelPredictions:
    """True classes, of no model.

    From an NPY, a JSON list or a mapping of images to classes, a text of one a line, or a table's
    column label.
    """
    names, arrays = _arrays(path)
    name = column_called(arrays, LABELS)
    name = next(iter(arrays)) if name is None and len(arrays) == 1 else name
    if name is None:
        raise UserError(f"{path}: no column or array named label; there: {', '.join(arrays)}")
    labels, _ = as_classes(f"{path}: {name}", arrays[name])
    return ModelPredictions([], np.empty((0, len(labels)), np.uint16), labels, names, False)


#: The names of the examples, if the file has any, and what it holds for each, by name.
PerExample = tuple[list[str] | None, dict[str, Any]]


def _arrays(path: Path) -> PerExample:
    """Return what a file holds for each example; nothing in it is ever run."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise UserError(f"{path}: ending {ending or '(none)'}; legal: {', '.join(ENDINGS)}")
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    if ending in (".npy", ".npz"):
        return _named(_of_numpy(path))
    if ending == ".txt":
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        return None, {path.stem: text.split()}
    content = load_json(path) if ending == ".json" else None
    if isinstance(content, list) and not any(isinstance(each, Mapping) for each in content):
        return None, {path.stem: content}
    if isinstance(content, Mapping):
        return _flat(path, content)
    sheet = read_sheet(path)
    if not len(sheet):
        raise UserError(f"{path}: the table has no rows")
    if "model" in sheet.columns and {"prediction", "correct"} & set(sheet.columns):
        return _of_long(sheet)
    return _named(
        {n: column for n, column in sheet.columns.items() if normal_form(n) not in OF_ROWS}
    )


def _named(arrays: dict[str, Any]) -> PerExample:
    """The arrays without the one that names the examples, and that one."""
    name = column_called(arrays, EXAMPLES)
    if name is None:
        return None, arrays
    rest = {other: values for other, values in arrays.items() if other != name}
    return [str(cell) for cell in arrays[name]], rest


def _of_numpy(path: Path) -> dict[str, Any]:
    try:
        held = np.load(path, mmap_mode="r", allow_pickle=False)
        if isinstance(held, np.ndarray):
            return {path.stem: held}
        with held:
            return {name: held[name] for name in held.files}
    except (ValueError, OSError, EOFError, BadZipFile) as error:
        raise UserError(f"{path}: not a readable array file ({error})") from None


def _flat(path: Path, content: Mapping[str, Any]) -> PerExample:
    """The lists of a JSON mapping, or its mappings of images to classes.

    Those in `predictions` are brought to the top.
    """
    inner = content.get("predictions")
    flat = dict(content)
    if isinstance(inner, Mapping):
        flat.update(flat.pop("predictions"))
    if len(flat) > 1 and not any(isinstance(value, list | Mapping) for value in flat.values()):
        return list(flat), {path.stem: list(flat.values())}
    if flat and all(isinstance(value, Mapping) for value in flat.values()):
        names = list(dict.fromkeys(name for value in flat.values() for name in value))
        return names, {model: [told.get(n) for n in names] for model, told in flat.items()}
    for name, value in flat.items():
        if not isinstance(value, list):
            raise UserError(f"{path}: {name}: not a list of classes, one an example")
    return _named(flat)


def _of_long(sheet: Sheet) -> PerExample:
    """An array for each model, and the labels; one that a model lacks has no prediction.

    Examples are in the order of their first row.
    """
    path = sheet.path
    example = column_called(sheet.columns, EXAMPLES)
    if example is None:
        raise UserError(f"{path}: needs a column example that says which prediction is of which")
    models, examples = sheet.names("model"), sheet.names(example)
    rows = pd.DataFrame({"model": models, "example": examples})
    if pair := first_repeat(rows):
        row = sheet.rows[pair[1]]
        raise UserError(f"{path}: row {row}: a second prediction of one model on one example")
    name = "prediction" if "prediction" in sheet.columns else "correct"
    values: Any = sheet.columns[name]
    if name == "correct":
        values, stated = as_classes(f"{path}: correct", values)
        if not stated and values.max() > 1:
            raise UserError(f"{path}: correct: legal are true and false, or 1 and 0")
        values = values.astype(bool)
    table = np.full((len(models.categories), len(examples.categories)), None, object)
    table[models.codes, examples.codes] = values
    arrays: dict[str, Any] = dict(zip(models.categories, table, strict=True))
    if label := column_called(sheet.columns, LABELS):
        given = pd.Series(sheet.columns[label], dtype=object)
        first = given.groupby(examples.codes).transform("first")
        if (differs := first != given).any():
            row = sheet.rows[int(differs.argmax())]
            raise UserError(f"{path}: row {row}: another label than elsewhere of the same example")
        arrays[label] = given.groupby(examples.codes).first().to_numpy()
    return examples.categories.tolist(), arrays


def as_classes(where: str, values: Any) -> tuple[Classes, bool]:
    """(examples,) uint16 of values that are classes or booleans, and whether they are booleans."""
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty((0, 0))
    if array.ndim != 1 or not array.size:
        raise UserError(f"{where}: shape {array.shape}; needed: one value per example")
    if array.dtype.kind in "bOU":
        words = [str(value).lower() for value in array.tolist()]
        if set(words) <= {"true", "false"}:
            return np.array([word == "true" for word in words], np.uint16), True
        numbers = np.array([number(value) for value in array.tolist()], np.float64)
    else:
        numbers = array.astype(np.float64)
    missing = np.isnan(numbers)
    legal = (np.floor(numbers) == numbers) & (numbers >= 0) & (numbers < NO_PREDICTION)
    bad = np.flatnonzero(~legal & ~missing)
    if bad.size:
        raise UserError(
            f"{where}: {array[bad[0]]} (example {bad[0]}) is not a class; "
            f"legal: whole numbers from 0 to {NO_PREDICTION - 1}"
        )
    return np.where(missing, NO_PREDICTION, numbers).astype(np.uint16), False
