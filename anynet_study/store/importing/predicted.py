"""Files of predictions on one dataset: classes, or whether they are correct, example by example."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.store.importing.blocks import Block
from anynet_study.store.importing.cells import Coder, coded, numbers_of, repeated
from anynet_study.store.importing.gathering import whole_table
from anynet_study.store.importing.json_table import load
from anynet_study.store.importing.tables import read_table
from anynet_study.store.record import NO_PREDICTION

#: Names of columns, keys and arrays that hold true classes.
LABELS = ("label", "labels", "target", "targets", "true", "truth")
#: Names of a column that numbers the examples.
EXAMPLES = ("example", "image", "index", "id", "example_id", "image_id")
ENDINGS = (".npy", ".npz", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")

Classes = NDArray[np.uint16]


@dataclass(frozen=True)
class Predicted:
    """What models predicted of the same examples, in one order."""

    models: list[str]
    #: (models, examples); 1 and 0 where only correctness is known; NO_PREDICTION: none.
    classes: Classes
    #: (examples,); None where the file has none.
    labels: Classes | None
    #: Whether `classes` are 1 for correct and 0 for wrong.
    correctness: bool


def read_predictions(path: Path) -> Predicted:
    """Read a file of predictions.

    NPZ: an array (examples,) a model, by name, and maybe `labels`. NPY: one such array, of the
    model that the file is named after. JSON: the same as a mapping to lists, with the models
    at the top or in `predictions`. Tables: a column a model, a row an example, and maybe a column
    `label`; or the columns model, example, `prediction` or `correct`, and maybe label. Booleans,
    and a column `correct`, say whether a prediction is correct. Raises UserError for others.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    ending = path.suffix.lower()
    if ending in (".npy", ".npz"):
        return _of_arrays(path, load_arrays(path))
    if ending not in ENDINGS:
        raise UserError(f"{path}: ending {ending or '(none)'}; legal: {', '.join(ENDINGS)}")
    if ending == ".json" and isinstance(content := load(path), Mapping):
        return _of_arrays(path, _flat(path, content))
    block = whole_table(read_table(path))
    if not len(block):
        raise UserError(f"{path}: the table has no rows")
    long = "model" in block.columns and bool({"prediction", "correct"} & set(block.columns))
    return _of_long(path, block) if long else _of_arrays(path, _columns(path, block))


def read_labels(path: Path) -> Classes:
    """True classes from an NPY, a JSON list, a text of one a line, or a table's column label."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    ending = path.suffix.lower()
    if ending in (".npy", ".npz"):
        arrays = load_arrays(path)
    elif ending == ".json" and isinstance(content := load(path), list):
        arrays = {"labels": content}
    elif ending == ".txt":
        arrays = {"labels": path.read_text(encoding="utf-8-sig", errors="replace").split()}
    else:
        arrays = _columns(path, whole_table(read_table(path)))
    name = next((name for name in arrays if name in LABELS), None)
    name = next(iter(arrays)) if name is None and len(arrays) == 1 else name
    if name is None:
        raise UserError(f"{path}: no column or array named label; there: {', '.join(arrays)}")
    return as_classes(f"{path}: {name}", arrays[name])[0]


def as_classes(where: str, values: Any) -> tuple[Classes, bool]:
    """(examples,) uint16 of values that are classes or booleans, and whether they are booleans."""
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty((0, 0))
    if array.ndim != 1 or not array.size:
        raise UserError(f"{where}: shape {array.shape}; needed: one value an example")
    if array.dtype == bool:
        return array.astype(np.uint16), True
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        raise UserError(f"{where}: {_odd(array)!r} is not a class number") from None
    missing = np.isnan(numbers)
    bad = ~missing & ((numbers % 1 != 0) | (numbers < 0) | (numbers >= NO_PREDICTION))
    if bad.any():
        raise UserError(
            f"{where}: {numbers[bad][0]:g} (example {int(np.flatnonzero(bad)[0])}) is not a class; "
            f"legal: whole numbers from 0 to {NO_PREDICTION - 1}"
        )
    return np.where(missing, NO_PREDICTION, numbers).astype(np.uint16), False


def load_arrays(path: Path) -> dict[str, Any]:
    """The arrays of an NPY (named after the file) or NPZ; nothing in them is ever run."""
    try:
        held = np.load(path, mmap_mode="r", allow_pickle=False)
        if isinstance(held, np.ndarray):
            return {path.stem: held}
        with held:
            return {name: held[name] for name in held.files}
    except (ValueError, OSError, EOFError, BadZipFile) as error:
        raise UserError(f"{path}: not a readable array file ({error})") from None


def _odd(array: NDArray[Any]) -> Any:
    def is_number(value: Any) -> bool:
        try:
            float(value)
        except (TypeError, ValueError):
            return False
        return True

    return next((value for value in array.tolist() if not is_number(value)), None)


def _flat(path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """The lists of a JSON mapping, those in `predictions` brought to the top."""
    inner = content.get("predictions")
    flat = {name: value for name, value in content.items() if name != "predictions"}
    if isinstance(inner, Mapping):
        flat.update(inner)
    elif inner is not None:
        flat["predictions"] = inner
    for name, value in flat.items():
        if not isinstance(value, list):
            raise UserError(f"{path}: {name}: not a list of classes, one an example")
    return flat


def _columns(path: Path, block: Block) -> dict[str, Any]:
    """The columns of a wide table as arrays; a column that numbers the examples is left out."""
    arrays: dict[str, Any] = {}
    for name, column in block.columns.items():
        if name in EXAMPLES or not name:
            continue
        words = {str(cell).lower() for cell in column.unique().to_pylist()}
        if words <= {"true", "false"}:
            arrays[name] = np.array([str(cell).lower() == "true" for cell in column.to_pylist()])
        else:
            arrays[name] = numbers_of(path, block, name)
    return arrays


def _of_arrays(path: Path, arrays: Mapping[str, Any]) -> Predicted:
    labels = None
    models: dict[str, Classes] = {}
    kinds: dict[str, bool] = {}
    for name, values in arrays.items():
        classes, correctness = as_classes(f"{path}: {name}", values)
        if name in LABELS:
            labels = classes
        else:
            models[name], kinds[name] = classes, correctness
    if not models:
        raise UserError(f"{path}: holds no predictions of any model")
    sizes = {name: len(classes) for name, classes in models.items()}
    if labels is not None:
        sizes["the labels"] = len(labels)
    first = next(iter(sizes))
    for name, size in sizes.items():
        if size != sizes[first]:
            raise UserError(f"{path}: {first} has {sizes[first]} examples, {name} {size}")
    if len(set(kinds.values())) > 1:
        raise UserError(f"{path}: classes of some models, only correctness of others")
    return Predicted(list(models), np.stack(list(models.values())), labels, any(kinds.values()))


def _of_long(path: Path, block: Block) -> Predicted:
    """Examples are in the order of their first row; one that a model lacks has no prediction."""
    example = next((name for name in EXAMPLES if name in block.columns), None)
    if example is None:
        raise UserError(f"{path}: needs a column example that says which prediction is of which")
    models, examples = Coder(), Coder()
    model = coded(path, block, "model", models)
    place = coded(path, block, example, examples)
    twins = repeated(place, model)
    if twins is not None:
        row = block.first_row + max(twins)
        raise UserError(f"{path}: row {row}: a second prediction of one model on one example")
    name = "prediction" if "prediction" in block.columns else "correct"
    label = next((one for one in LABELS if one in block.columns), None)
    read = [column for column in (name, label) if column is not None]
    columns = _columns(path, Block(block.first_row, {one: block.columns[one] for one in read}))
    values, correctness = as_classes(f"{path}: {name}", columns[name])
    if name == "correct" and values.max() > 1:
        raise UserError(f"{path}: correct: legal are true and false, or 1 and 0")
    classes = np.full((len(models.labels), len(examples.labels)), NO_PREDICTION, np.uint16)
    classes[model, place] = values
    labels = None
    if label is not None:
        given, _ = as_classes(f"{path}: {label}", columns[label])
        labels = np.full(len(examples.labels), NO_PREDICTION, np.uint16)
        labels[place] = given
        if (labels[place] != given).any():
            row = block.first_row + int(np.flatnonzero(labels[place] != given)[0])
            raise UserError(f"{path}: row {row}: another label than elsewhere of the same example")
    return Predicted(models.labels, classes, labels, correctness or name == "correct")
