"""Opening a results store; a file that does not fit `layout` is refused in one line.

Strangers make HDF5 files by hand. What `check_layout` checks (types, shapes, ranges, and what one
table says of another) is what all readers of a store rely on.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.core import arrow
from anynet_study.core.errors import UnreadableError, UserError, first_line
from anynet_study.core.metrics import CURVES, words_an_image
from anynet_study.store.hdf5 import (
    DAMAGE,
    LayoutError,
    Objects,
    check_disk,
    checksums,
    get_text,
    get_texts,
    is_text,
    read_distinct,
    read_texts,
)
from anynet_study.store.layout import (
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
#: Texts of /runs and /evaluations are plain since this version, and integers into /labels before.
FIRST_PLAIN = 7

#: Tables that have all columns of `layout` but those that their records once did not have.
_OF_RECORDS: Mapping[str, type] = {"runs": RunRecord, "evaluations": EvaluationRecord}


def _always_recorded(table: str) -> tuple[str, ...]:
    later = {one.name for one in fields(_OF_RECORDS[table]) if one.default is not MISSING}
    return tuple(name for name in COLUMNS[table] if name not in later)


#: By table, the columns that must be there; the first one, if it is a text, names the rows.
_NEEDED = {
    "architectures": ("architecture",),
    "datasets": ("dataset",),
    "journals": ("journal",),
    "trials": tuple(COLUMNS["trials"]),
    "runs": _always_recorded("runs"),
    "evaluations": _always_recorded("evaluations"),
}
#: Tables that earlier stores lack.
_LATER = ("trials", "evaluations")
_WHOLE = "?bBhHiIlLqQ"
#: What arrays hold, as messages say it, and NumPy's letters of these types; S: any text.
_LEGAL = {
    "text": "S",
    "integers": _WHOLE,
    "uint8": "B",
    "uint16": "H",
    "float32, float64": "fd",
    "integers, float32, float64": f"{_WHOLE}fd",
    "text, integers, float32, float64": f"S{_WHOLE}fd",
}


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
    """Turn what reading a damaged file raises into an UnreadableError that names file and array.

    A disk that fails (EIO) is told from a damaged file, which has to be made again.
    """
    try:
        yield
    except UserError:
        raise
    except DAMAGE as error:
        check_disk(path, error)
        raise UnreadableError(f"{path}: {_damage(path, error)}") from error


def _damage(path: Path, error: Exception) -> str:
    """Return what cannot be read of a file, as far as a second look shows it."""
    if not h5py.is_hdf5(path):
        return "not a results store (not an HDF5 file)"
    what = f"the store is damaged ({first_line(error)})"
    try:
        with opened(path) as file:
            checksums(Objects(file))
    except LayoutError as found:
        what = f"the store is damaged: {found}"
    except DAMAGE:
        pass  # no array can be named
    return f"{what}; move it away and collect it again"


def stored_json(text: object, kind: type[T], where: str) -> T:
    """The value of a stored JSON text, empty if there is no text.

    Raises UnreadableError if it is not of the type `kind`.
    """
    try:
        found = json.loads(text) if isinstance(text, str) and text else kind()
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, kind):
        raise UnreadableError(f"{where}: not a JSON {'list' if kind is list else 'object'}")
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


def check_layout(there: Objects) -> None:
    """Raises LayoutError for the first thing in a store that is not as `layout` says.

    OSError for what HDF5 cannot read.
    """
    try:
        _check_root(there)
        tables = {name: _check_table(there, name) for name in _NEEDED if name in there}
        runs, evaluations = tables["runs"], tables.get("evaluations")
        _check_runs(there, runs)
        for group in prediction_groups(there["/"]):
            _check_predictions(there, group, "run", runs["images"], tables["datasets"])
        if evaluations is not None:
            _check_evaluations(there, evaluations, len(runs["run_id"]))
            for group in evaluation_prediction_groups(there["/"]):
                _check_predictions(
                    there, group, "row", evaluations["predicted"], tables["datasets"]
                )
    except (LayoutError, OSError):  # the latter is of what is stored, not of how it is laid out
        raise
    except DAMAGE as error:
        raise LayoutError("/", f"cannot be read: {first_line(error)}") from error


def _check_root(there: Objects) -> None:
    for name in (*_NEEDED, "labels", "curves", "specs", "predictions"):
        if not isinstance(there.get(name), h5py.Group) and (name in there or name not in _LATER):
            raise LayoutError(f"/{name}", "is missing, or no group")
    root = there["/"]
    planned = root.attrs.get("planned_runs")
    if not np.isscalar(planned) or not isinstance(planned, np.integer | int):
        raise LayoutError("/@planned_runs", "is not a whole number")
    get_text(root, "created", "")
    _array(there, "labels/recipe", "text", (None,))
    made = json.loads(_array(there, "provenance", "text", ()).asstr()[()])
    if not isinstance(made, dict) or not all(isinstance(text, str) for text in made.values()):
        raise LayoutError("/provenance", "is not a JSON object of texts")


def _array(there: Objects, path: str, holds: str, shape: tuple[int | None, ...]) -> h5py.Dataset:
    """The array at a path, which holds that of _LEGAL and has this shape (None: any size)."""
    where, array = f"/{path}", there.get(path)
    if not isinstance(array, h5py.Dataset):
        raise LayoutError(where, "is missing, or no array")
    sizes, dtype = array.shape, array.dtype
    if len(sizes) != len(shape) or any(
        wanted not in (None, found) for wanted, found in zip(shape, sizes, strict=True)
    ):
        told = tuple("any" if size is None else size for size in shape)
        raise LayoutError(where, f"has the shape {sizes}; legal: {told}")
    letter = "S" if h5py.check_string_dtype(dtype) is not None else dtype.char
    if letter not in _LEGAL[holds]:
        raise LayoutError(where, f"is of type {dtype}; legal: {holds}")
    return array


def _check_table(there: Objects, table: str) -> dict[str, Any]:
    """The values of those columns of a table that are `limited`."""
    key, of_records = _NEEDED[table][0], table in _OF_RECORDS
    coded = of_records and there["/"].attrs["schema_version"] < FIRST_PLAIN
    count, found = None, {}
    for name in _columns_of(there, table):
        path, column = f"{table}/{name}", COLUMNS[table].get(name, Column("", None))
        holds = _held(column, of_records)
        if coded and holds == "text" and name != key:
            _array(there, f"labels/{name}", "text", (None,))
            holds = "integers"
        array = _array(there, path, holds, (count,))
        count = len(array)
        if column.limited:
            # Of texts that seldom repeat, a dictionary would be large.
            read = read_distinct if name == key and holds == "text" else stored_values
            found[name] = read(array)
            _check_values(f"/{path}", column, found[name], unique=read is read_distinct)
    return found


def _columns_of(there: Objects, table: str) -> list[str]:
    """The columns that a table has or must have, the one that names its rows first."""
    needed, group = _NEEDED[table], there[table]
    if table in _OF_RECORDS:  # before FIRST_PLAIN, they did not list them
        return list(dict.fromkeys([*needed, *(name for name in group if name != "predictions")]))
    columns = get_texts(group, "columns")
    if "" in columns or len(set(columns)) < len(columns):
        raise LayoutError(f"/{table}@columns", "has an empty text, or a text twice")
    for name in needed:
        if name not in columns:
            raise LayoutError(f"/{table}", f"has no column {name}")
    return list(dict.fromkeys([*needed, *columns]))


def _held(column: Column, of_records: bool) -> str:
    """Return what the array of a column holds (_LEGAL)."""
    if column.type is None:
        return "text, integers, float32, float64"
    if is_text(column.type):
        return "text"
    # A missing whole number is NaN; records have them all.
    whole = of_records and not pa.types.is_floating(column.type)
    return "integers" if whole else "integers, float32, float64"


def _check_values(
    where: str, column: Column, values: Numbers | pa.Array, unique: bool = False
) -> None:
    """Known numbers are in the range of their column, and texts are legal; NaN: not known."""
    if isinstance(values, pa.Array):
        texts = values.unique().cast(pa.string())
        if unique and len(texts) < len(values):
            raise LayoutError(where, "has a text twice")
        if column.named and arrow.among(texts, [""]).any():
            raise LayoutError(where, "has an empty text")
        if column.legal and (wrong := set(texts.to_pylist()) - set(column.legal)):
            raise LayoutError(where, f"has {min(wrong)!r}; legal: {', '.join(column.legal)}")
        return
    low, high = column.range
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    wrong_numbers = known[(known < low) | (known > high)]
    if wrong_numbers.size:
        what = "that are not percentages" if high == 100 else f"outside {low:,} to {high:,}"
        raise LayoutError(where, f"has values {what}: {wrong_numbers[0]}")


def _check_runs(there: Objects, runs: Mapping[str, Any]) -> None:
    """Check what columns of runs, and their arrays, say of each other."""
    if not pc.all(pc.ascii_is_alnum(runs["run_id"]), min_count=0).as_py():
        raise LayoutError("/runs/run_id", "has texts that are not letters and digits alone")
    failed = arrow.among(runs["status"], ["failed"])
    if (np.isnan(runs["error"]) & ~failed).any():
        raise LayoutError("/runs/error", "has values that are not percentages: nan")
    epochs, letters = (_lengths(there, group, len(failed)) for group in ("curves", "specs"))
    if not np.array_equal(epochs, runs["epochs"]):
        raise LayoutError("/curves/offsets", "are not those of curves of /runs/epochs")
    curves = [name for name in CURVES if f"curves/{name}" in there]
    if not curves:
        raise LayoutError("/curves", "is empty")
    for name in curves:
        _array(there, f"curves/{name}", "float32, float64", (epochs.sum(),))
    _array(there, "specs/text", "uint8", (letters.sum(),))


def _lengths(there: Objects, group: str, count: int) -> Numbers:
    """Return how many elements each run has of arrays in which those of all runs lie end to end."""
    ends = _array(there, f"{group}/offsets", "integers", (count + 1,))[()].astype(np.int64)
    if ends[0] != 0 or (np.diff(ends) < 0).any():
        raise LayoutError(f"/{group}/offsets", "do not rise from 0")
    return np.diff(ends)


def _check_evaluations(there: Objects, evaluations: Mapping[str, Any], runs: int) -> None:
    _check_rows("/evaluations/run", evaluations["run"], runs)
    known = read_distinct(_array(there, "labels/evaluation", "text", (None,)))
    if not arrow.among(evaluations["evaluation"].unique(), known).all():
        raise LayoutError("/labels/evaluation", "lacks a name of /evaluations/evaluation")


def _check_predictions(
    there: Objects, group: h5py.Group, key: str, lengths: Numbers, datasets: Mapping[str, Any]
) -> None:
    """A group of predictions; `lengths`: how many each row has of the table that `key` refers to.

    `datasets` are the columns of /datasets.
    """
    place, kind = group.name, kind_of(group)
    dataset, evaluation = get_text(group, "dataset"), get_text(group, "evaluation", "")
    if place != prediction_group(dataset, evaluation) or kind not in ("class", "correct", "labels"):
        raise LayoutError(place, f"is of dataset {dataset!r} {evaluation} and kind {kind!r}")
    array = _array(there, f"{place[1:]}/classes", "uint16", (None, None))
    height, width = array.shape
    rows = _array(there, f"{place[1:]}/{key}", "integers", (height,))[()].astype(np.int64)
    _check_rows(f"{place}/{key}", rows, len(lengths))
    if (np.diff(rows) <= 0).any():
        raise LayoutError(f"{place}/{key}", "does not ascend")
    if (lengths[rows] > width).any():
        raise LayoutError(f"{place}/classes", "has fewer columns than a row has predictions")
    if kind == "labels" and "classes" in datasets:
        counts = datasets["classes"][arrow.among(datasets["dataset"], [dataset])]
        if any(width % words_an_image(int(known)) for known in counts[counts > 0]):
            raise LayoutError(f"{place}/classes", "is not as wide as its number of classes asks")
    if "labels" in group:
        _array(there, f"{place[1:]}/labels", "uint16", (width,))


def _check_rows(where: str, rows: Numbers, count: int) -> None:
    if len(rows) and not 0 <= rows.min() <= rows.max() < count:
        raise LayoutError(where, f"has rows beyond the {count} that there are")


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
