"""Opening a results store; a file that does not fit `layout` is refused in one line.

Strangers make HDF5 files by hand. What `check_layout` checks (types, shapes, ranges, and what one
table says of another) is what all readers of a store rely on.
"""

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study import arrow
from anynet_study.errors import UserError, first_line
from anynet_study.metrics import CURVES, words_an_image
from anynet_study.store.hdf5 import (
    DAMAGE,
    LayoutError,
    Objects,
    as_binary,
    get_text,
    get_texts,
    is_text,
    read_distinct,
    read_texts,
)
from anynet_study.store.layout import (
    CIRCUMSTANCES,
    COLUMNS,
    FORMAT,
    SCHEMA_VERSION,
    Column,
    prediction_group,
)
from anynet_study.store.predictions import evaluation_prediction_groups, kind_of, prediction_groups
from anynet_study.store.records import EvaluationRecord, RunRecord

T = TypeVar("T", dict[str, Any], list[Any])
Numbers = NDArray[Any]
#: By table: the column that names its rows, and further ones that must be there.
_NEEDED = {
    "architectures": ("architecture",),
    "datasets": ("dataset",),
    "journals": ("journal",),
    "trials": tuple(COLUMNS["trials"]),
}
#: Columns of /runs and /evaluations whose texts name something in the store.
_NAMES = ("architecture", "dataset", "evaluation")
_RUN_ID = np.zeros(256, np.bool_)
_RUN_ID[[0, *b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"]] = True


#: Texts of /runs and /evaluations are plain since this version, and integers into /labels before.
FIRST_PLAIN = 7


class NewerStoreError(UserError):
    """A store that a newer version of this package wrote."""


@contextmanager
def open_store(path: Path) -> Iterator[h5py.File]:
    """Open a store without locks (NFS may have none; a published store never changes).

    Raises UserError if it is missing, foreign, newer than this package (NewerStoreError), or
    damaged, also where damage shows only while reading inside the block.
    """
    if not path.is_file():
        inside = f"; there is {path / 'results.h5'}" if (path / "results.h5").is_file() else ""
        raise UserError(f"{path}: no such results store{inside}")
    with path.open("rb"):
        pass  # a file that may not be read is an OSError that names it, unlike HDF5's
    with naming_damage(path), opened(path) as file:
        _check(path, file)
        yield file


def opened(path: Path) -> h5py.File:
    """The file, unchecked. Raises OSError."""
    # Arrays are read once: HDF5 would keep up to a MB of each as long as it is open.
    uncached = partial(h5py.File, path, "r", rdcc_nbytes=0)
    try:
        return uncached(locking=False)
    except OSError as error:
        if "locking" not in str(error):
            raise
        return uncached()  # as it is open elsewhere in this process


@contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    """Turn every exception that reading a damaged file raises into a UserError that names it."""
    try:
        yield
    except UserError:
        raise
    except DAMAGE as error:
        if not h5py.is_hdf5(path):
            raise UserError(f"{path}: not a results store (not an HDF5 file)") from None
        raise UserError(
            f"{path}: the store is damaged ({first_line(error)}); move it away and collect it again"
        ) from error


def stored_json(text: object, kind: type[T], where: str) -> T:
    """The value of a stored JSON text, empty if there is no text.

    Raises UserError if it is not of the type `kind`.
    """
    try:
        found = json.loads(text) if isinstance(text, str) and text else kind()
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, kind):
        raise UserError(f"{where}: not a JSON {'list' if kind is list else 'object'}")
    return found


def _check(path: Path, file: h5py.File) -> None:
    if get_text(file, "format", "") != FORMAT:
        raise UserError(f"{path}: an HDF5 file, but not a results store of anynet-study")
    version = int(file.attrs["schema_version"])
    if version > SCHEMA_VERSION:
        raise NewerStoreError(
            f"{path}: written by a newer anynet-study (schema {version}, this one reads "
            f"up to {SCHEMA_VERSION}): install the newer one"
        )


def check_layout(there: Objects, circumstances: bool = False) -> None:
    """Raises LayoutError for the first thing in a store that is not as `layout` says.

    The values of CIRCUMSTANCES are checked only if asked for: reading them takes as long as all
    others.
    """
    try:
        _check_root(there)
        for name in _NEEDED:
            if name in there or name != "trials":
                _check_table(there, name)
        count = _check_runs(there, () if circumstances else CIRCUMSTANCES)
        curves = [name for name in CURVES if f"curves/{name}" in there]
        _check_ragged(there, "curves", count, curves, "f")
        _check_ragged(there, "specs", count, ["text"], "u")
        _check_predictions(there, count)
        if "evaluations" in there:
            _check_evaluations(there, count)
    except LayoutError:
        raise
    except DAMAGE as error:
        raise LayoutError("/", f"cannot be read: {first_line(error)}") from error


def _check_root(there: Objects) -> None:
    for name in ("runs", "labels", "curves", "specs", "predictions"):
        if not isinstance(there.get(name), h5py.Group):
            raise LayoutError(f"/{name}", "is missing, or no group")
    root = there["/"]
    planned = root.attrs.get("planned_runs")
    if not np.isscalar(planned) or not isinstance(planned, np.integer | int):
        raise LayoutError("/@planned_runs", "is not a whole number")
    get_text(root, "created", "")
    made = json.loads(_array(there, "provenance", "text", ()).asstr()[()])
    if not isinstance(made, dict) or not all(isinstance(text, str) for text in made.values()):
        raise LayoutError("/provenance", "is not a JSON object of texts")


def _array(there: Objects, path: str, kind: str, shape: tuple[int | None, ...]) -> h5py.Dataset:
    """The array at a path, of a kind ("text", "whole", "number" or "any") and shape (None: any)."""
    where, array = f"/{path}", there.get(path)
    if not isinstance(array, h5py.Dataset):
        raise LayoutError(where, "is missing, or no array")
    sizes, dtype = array.shape, array.dtype
    if len(sizes) != len(shape) or any(
        wanted not in (None, found) for wanted, found in zip(shape, sizes, strict=True)
    ):
        told = tuple("any" if size is None else size for size in shape)
        raise LayoutError(where, f"has the shape {sizes}; legal: {told}")
    if kind not in _kinds(dtype):
        raise LayoutError(where, f"is of type {dtype}; legal: {_CALLED[kind]}")
    return array


_CALLED = {
    "text": "text",
    "whole": "integers",
    "number": "integers, float32, float64",
    "any": "text, integers, float32, float64",
}


def _kinds(dtype: np.dtype[Any]) -> set[str]:
    if h5py.check_string_dtype(dtype) is not None or dtype.kind == "S":
        return {"text", "any"}
    if dtype.kind in "iub":
        return {"whole", "number", "any"}
    return {"number", "any"} if dtype.kind == "f" and dtype.itemsize in (4, 8) else set()


def _check_values(where: str, column: Column, values: Numbers | pa.DictionaryArray) -> None:
    """Known numbers are in the range of their column, and texts are legal; NaN: not known."""
    if isinstance(values, pa.DictionaryArray):
        texts = values.unique().to_pylist() if column.legal else []
        if wrong := set(texts) - set(column.legal):
            raise LayoutError(where, f"has {min(wrong)!r}; legal: {', '.join(column.legal)}")
        return
    low, high = column.range
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    wrong_numbers = known[(known < low) | (known > high)]
    if wrong_numbers.size:
        what = "that are not percentages" if high == 100 else f"outside {low:,} to {high:,}"
        raise LayoutError(where, f"has values {what}: {wrong_numbers[0]}")


def _check_distinct(where: str, texts: Collection[str]) -> None:
    if "" in texts:
        raise LayoutError(where, "has an empty text")
    if len(set(texts)) < len(texts):
        raise LayoutError(where, "has a text twice")


def _check_table(there: Objects, name: str) -> None:
    """A table whose whole numbers may be missing, and which may have columns of its own."""
    group = there.get(name)
    if not isinstance(group, h5py.Group):
        raise LayoutError(f"/{name}", "is missing, or no group")
    columns = get_texts(group, "columns")
    _check_distinct(f"/{name}@columns", columns)
    for column in _NEEDED[name]:
        if column not in columns:
            raise LayoutError(f"/{name}", f"has no column {column}")
    key = _NEEDED[name][0]
    keys = _array(there, f"{name}/{key}", "text", (None,))
    for column in columns:
        known = COLUMNS[name].get(column, Column("", None))
        kind = "any" if known.type is None else "text" if is_text(known.type) else "number"
        array = _array(there, f"{name}/{column}", kind, keys.shape)
        if kind == "number":
            _check_values(f"/{name}/{column}", known, array[()])
    _check_distinct(f"/{name}/{key}", read_distinct(keys).to_pylist())


def _check_runs(there: Objects, skipped: Collection[str]) -> int:
    """The number of runs; the values of the columns that are `skipped` are not read."""
    ids = _array(there, "runs/run_id", "text", (None,))[()]
    count = len(ids)
    letters = ids.view(np.uint8).reshape(count, ids.itemsize) if ids.dtype.kind == "S" else None
    if letters is None or (count and not (_RUN_ID[letters].all() and letters[:, 0].all())):
        raise LayoutError("/runs/run_id", "has texts that are not letters and digits alone")
    if len(as_binary(ids).unique()) < count:
        raise LayoutError("/runs/run_id", "has a run twice")
    found = _check_columns(there, "runs", RunRecord, count, ("run_id", *skipped))
    unknown = np.flatnonzero(np.isnan(found["error"]))
    if set(found["status"].take(arrow.numbers(unknown)).to_pylist()) - {"failed"}:
        raise LayoutError("/runs/error", "has values that are not percentages: nan")
    for name in ("architecture", "dataset"):
        if "" in found[name].unique().to_pylist():
            raise LayoutError(f"/runs/{name}", "has an empty text")
    _array(there, "labels/recipe", "text", (None,))
    ends = _array(there, "curves/offsets", "whole", (count + 1,))[()]
    if not np.array_equal(np.diff(ends), found["epochs"]):
        raise LayoutError("/curves/offsets", "are not those of curves of /runs/epochs")
    return count


def _check_columns(
    there: Objects, table: str, record: type, count: int, skipped: Collection[str]
) -> dict[str, Any]:
    """The values of the columns of /runs or /evaluations, but for those that are skipped.

    A column may be absent if records once did not have it.
    """
    later = {one.name for one in fields(record) if one.default is not MISSING}
    plain = there["/"].attrs["schema_version"] >= FIRST_PLAIN
    found: dict[str, Any] = {}
    for name, column in COLUMNS[table].items():
        path, text = f"{table}/{name}", column.type is not None and is_text(column.type)
        if path not in there and name in later:
            continue
        coded = text and not plain and name != "run_id"
        kind = "text" if text else "number" if column.type == pa.float64() else "whole"
        array = _array(there, path, "whole" if coded else kind, (count,))
        if coded:
            _array(there, f"labels/{name}", "text", (None,))
        if name not in skipped and (column.legal or name in _NAMES or not text):
            found[name] = stored_values(array)
            _check_values(f"/{path}", column, found[name])
    return found


def stored_values(array: h5py.Dataset) -> pa.DictionaryArray | Numbers:
    """The texts, or the numbers, of a column of /runs or /evaluations.

    In stores of before version FIRST_PLAIN integers stand for texts. Raises LayoutError for one
    that stands for none.
    """
    if array.dtype.kind in "SO":
        return read_texts(array)
    values, (table, name) = array[()], array.name.strip("/").split("/")
    column = COLUMNS[table].get(name)
    if column is None or column.type is None or not is_text(column.type):
        return np.asarray(values)
    texts = read_distinct(array.file["labels"][name])
    if len(values) and not 0 <= values.min() <= values.max() < len(texts):
        raise LayoutError(array.name, f"has integers beyond the {len(texts)} labels")
    return pa.DictionaryArray.from_arrays(arrow.numbers(values.astype(np.int32)), texts)


def _check_ragged(
    there: Objects, name: str, count: int, arrays: Collection[str], kind: str
) -> None:
    """Arrays of all runs end to end, and where those of each begin."""
    ends = _array(there, f"{name}/offsets", "whole", (count + 1,))[()].astype(np.int64)
    if ends[0] != 0 or (np.diff(ends) < 0).any():
        raise LayoutError(f"/{name}/offsets", "do not rise from 0")
    if not arrays:
        raise LayoutError(f"/{name}", "is empty")
    for array in arrays:
        found = _array(there, f"{name}/{array}", "number", (int(ends[-1]),))
        if found.dtype.kind != kind:
            raise LayoutError(f"/{name}/{array}", f"is of type {found.dtype}")


def _check_predictions(there: Objects, count: int) -> None:
    classes: dict[str, Any] = {}
    if "datasets/classes" in there:
        names, sizes = read_texts(there["datasets/dataset"]), there["datasets/classes"][()]
        classes = dict(zip(names.to_pylist(), sizes.tolist(), strict=True))
    images = there["runs/images"][()]
    for group in prediction_groups(there["/"]):
        place, dataset, kind = group.name, get_text(group, "dataset"), kind_of(group)
        if place != prediction_group(dataset) or kind not in ("class", "correct", "labels"):
            raise LayoutError(place, f"is of dataset {dataset!r} and kind {kind!r}")
        width = _check_classes(there, place, "run", count, images)
        if kind == "labels" and width % words_an_image(int(np.nan_to_num(classes.get(dataset, 1)))):
            raise LayoutError(f"{place}/classes", "is not as wide as its number of classes asks")
        if (
            "labels" in group
            and _array(there, f"{place[1:]}/labels", "whole", (width,)).dtype != "u2"
        ):
            raise LayoutError(f"{place}/labels", "is not of type uint16")


def _check_classes(there: Objects, place: str, key: str, count: int, lengths: Numbers) -> int:
    """The number of columns of a group of predictions."""
    array = _array(there, f"{place[1:]}/classes", "whole", (None, None))
    rows = _array(there, f"{place[1:]}/{key}", "whole", (array.shape[0],))[()].astype(np.int64)
    if rows.size and not 0 <= rows.min() <= rows.max() < count:
        raise LayoutError(f"{place}/{key}", f"has rows beyond the {count} that there are")
    if (np.diff(rows) <= 0).any():
        raise LayoutError(f"{place}/{key}", "does not ascend")
    if array.dtype != np.uint16:
        raise LayoutError(f"{place}/classes", f"is of type {array.dtype}; legal: uint16")
    if (lengths[rows] > array.shape[1]).any():
        raise LayoutError(f"{place}/classes", "has fewer columns than a row has predictions")
    return int(array.shape[1])


def _check_evaluations(there: Objects, runs: int) -> None:
    count = len(_array(there, "evaluations/run", "whole", (None,)))
    found = _check_columns(there, "evaluations", EvaluationRecord, count, ())
    known = read_texts(_array(there, "labels/evaluation", "text", (None,)))
    if set(found["evaluation"].unique().to_pylist()) - set(known.to_pylist()):
        raise LayoutError("/labels/evaluation", "lacks a name of /evaluations/evaluation")
    if count and not 0 <= found["run"].min() <= found["run"].max() < runs:
        raise LayoutError("/evaluations/run", f"has rows beyond the {runs} runs")
    for group in evaluation_prediction_groups(there["/"]):
        named = get_text(group, "dataset"), get_text(group, "evaluation")
        if group.name != prediction_group(*named):
            raise LayoutError(group.name, f"is of {named[1]!r} of runs on {named[0]!r}")
        _check_classes(there, group.name, "row", count, found["predicted"])
