"""The tables of one results file as Arrow, read column by column, and for pandas.

A missing number is null, coded text a dictionary.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.filters import unknown_column
from anynet_study.metrics import CURVES
from anynet_study.store.hdf5 import get_texts, read_column, read_curve, read_span
from anynet_study.store.layout import EVALUATION_CODED, EVALUATION_COLUMNS
from anynet_study.store.records import CODED, RUN_COLUMNS

#: So few labels are read one by one.
FEW = 16

Rows = NDArray[np.int64]


#: Columns of a run that its curves are shown with.
CURVE_KEYS = ("run_id", "architecture", "dataset", "recipe", "replicate")
#: Exact 95% interval of the error of a completed run on so many test images, in percent: of those
#: metrics that count images.
INTERVAL = ("error_low", "error_high")
#: Columns of the runs that are there for those who name them.
ON_REQUEST = ("spec", *INTERVAL)
#: Tables about what a run names, and the column of /runs that names it.
ABOUT = {"architecture": "architectures", "dataset": "datasets"}


#: Columns that an evaluation has of its run.
OF_RUN = ("run_id", "architecture", "dataset", "recipe", "replicate")
#: What is shown of evaluations where nothing else is said.
EVALUATIONS_SHOWN = (
    *OF_RUN,
    "evaluation",
    "evaluation_id",
    "images",
    "loss",
    "top1",
    "top5",
    "error",
    "seconds",
    "planned",
)
#: And all columns that there are.
EVALUATION_TABLE = (
    *EVALUATIONS_SHOWN,
    *(name for name in EVALUATION_COLUMNS if name not in (*EVALUATIONS_SHOWN, "run")),
)
_TEXTS = (*EVALUATION_CODED, "host", "journal")


def check_columns(names: Sequence[str], legal: Sequence[str]) -> None:
    """Raises UserError for a name that is not legal."""
    for name in names:
        if name not in legal:
            raise UserError(unknown_column(name, legal))


def runs_columns(file: h5py.File) -> list[str]:
    """Columns of the runs: their own, ON_REQUEST, and those of their architecture and dataset."""
    names = [*RUN_COLUMNS, *ON_REQUEST]
    for group in ABOUT.values():
        names += [name for name in table_columns(file[group]) if name not in names]
    return names


def runs_table(file: h5py.File, columns: Sequence[str], rows: Rows | None = None) -> pa.Table:
    """These columns of `runs_columns`, one row per run (`rows`: of these only, ascending)."""
    check_columns(columns, runs_columns(file))
    own = [name for name in columns if name in (*RUN_COLUMNS, "spec")]
    found = {name: run_column(file, name, rows) for name in own}
    for key, group in ABOUT.items():
        there = table_columns(file[group])
        wanted = [n for n in columns if n in there and n not in found and n not in ON_REQUEST]
        found |= _joined(file, key, group, wanted, rows) if wanted else {}
    found |= _interval(file, rows) if set(INTERVAL) & set(columns) else {}
    # A table of no columns would have no rows.
    return pa.table({name: found[name] for name in columns})


def _joined(
    file: h5py.File, key: str, group: str, columns: list[str], rows: Rows | None
) -> dict[str, pa.Array]:
    """Columns of what each run names; missing where it is none of the study's.

    The labels of /runs begin with the rows of the table, so its integers are row numbers there.
    """
    codes = file["runs"][key][()] if rows is None else file["runs"][key][()][rows]
    about = read_table(file[group], columns)
    places = pa.array(codes, mask=codes >= len(about))
    joined = {}
    for name in columns:
        values = about[name].combine_chunks().take(places)
        text = pa.types.is_string(values.type)
        joined[name] = values.fill_null("").dictionary_encode() if text else values
    return joined


def _interval(file: h5py.File, rows: Rows | None) -> dict[str, pa.Array]:
    """The columns INTERVAL; null where the number of test images is unknown or not what counts."""
    from anynet_study.apr import binomial_interval

    run = runs_table(file, ["error", "images", "status", "metric"], rows)
    images = run["images"].to_numpy().astype(float)
    images[images == 0] = np.nan
    if "test_images" in table_columns(file["datasets"]):
        told = _joined(file, "dataset", "datasets", ["test_images"], rows)["test_images"]
        # Of several classes an image there may be more predictions than images.
        images = np.fmin(images, told.cast(pa.float64()).to_numpy(False))
    images[images == 0] = np.nan
    images[np.asarray(pc.not_equal(run["status"].cast(pa.string()), "completed"))] = np.nan
    counts = pc.is_in(run["metric"].cast(pa.string()), pa.array(["top1", "top5"]))
    images[~np.asarray(counts)] = np.nan
    ends = binomial_interval(run["error"].to_numpy(), images)
    arrays = (pa.array(end, from_pandas=True) for end in ends)
    return dict(zip(INTERVAL, arrays, strict=True))


def curves_table(
    file: h5py.File,
    columns: Sequence[str],
    wanted: Mapping[str, str | None],
    among: NDArray[np.bool_] | None = None,
) -> pa.Table:
    """One row per epoch of the runs that have these texts in these columns of /runs (None: any).

    `columns`: of CURVE_KEYS, "epoch" and CURVES. `among`: which runs of all come into question.
    """
    check_columns(columns, [*CURVE_KEYS, "epoch", *CURVES])
    rows = _rows_with(file, wanted)
    rows = rows if among is None else rows[among[rows]]
    first, stop = (int(rows[0]), int(rows[-1]) + 1) if rows.size else (0, 0)
    offsets = read_span(file, "curves/offsets", first, stop + 1)
    epochs = np.diff(offsets)[rows - first]
    run = np.repeat(np.arange(len(rows), dtype=np.int32), epochs)
    epoch = np.arange(len(run), dtype=np.int32) - np.repeat(np.cumsum(epochs) - epochs, epochs)
    place = (offsets[rows - first] - offsets[0])[run] + epoch
    found = {}
    for name in columns:
        if name in CURVES:
            ends = int(offsets[0]), int(offsets[-1])
            curve = read_curve(file, name, *ends)
            found[name] = pa.array(curve if len(curve) == len(place) else curve[place])
        elif name == "epoch":
            found[name] = pa.array(epoch + 1)
        else:
            found[name] = _repeated(run_column(file, name, rows), run)
    return pa.table(found)


def _repeated(values: pa.Array, run: NDArray[np.int32]) -> pa.Array:
    """A run's value for every epoch; a text as an integer into the texts."""
    if pa.types.is_dictionary(values.type):
        codes = values.indices.take(pa.array(run))
        return pa.DictionaryArray.from_arrays(codes, values.dictionary)
    if pa.types.is_string(values.type):
        return pa.DictionaryArray.from_arrays(pa.array(run), values)
    return values.take(pa.array(run))


def _rows_with(file: h5py.File, wanted: Mapping[str, str | None]) -> Rows:
    """Runs, ascending, that have these texts in coded columns or run_id (None: any).

    Raises UserError for a text that no run has, but for a run_id.
    """
    texts = {name: value for name, value in wanted.items() if value is not None}
    run_id = texts.pop("run_id", None)
    count = len(file["runs/run_id"])
    rows = np.arange(count) if run_id is None else _row_of(file, count, run_id)
    for name, value in texts.items():
        labels = pa.array(file["labels"][name].asstr()[()], pa.string())
        code = pc.index(labels, value).as_py()
        if code < 0:
            raise UserError(f"{file.filename}: no {name} {value}")
        rows = rows[file["runs"][name][()][rows] == code]
    return rows


def _row_of(file: h5py.File, count: int, run_id: str) -> Rows:
    """The row of a run, or none. NumPy would compare a million texts in 40 ms, Arrow does in 3."""
    ids = read_span(file, "runs/run_id", 0, count)
    width = ids.itemsize
    wanted = run_id.encode().ljust(width, b"\0")
    if len(wanted) > width or not len(ids):
        return np.empty(0, np.int64)
    values = pa.Array.from_buffers(pa.binary(width), len(ids), [None, pa.py_buffer(ids)])
    row = pc.index(values, pa.scalar(wanted, pa.binary(width))).as_py()
    return np.array([row] if row >= 0 else [], np.int64)


def run_column(file: h5py.File, name: str, rows: Rows | None = None) -> pa.Array:
    """One value per run, of /runs or its "spec"; `rows`: of these runs, ascending."""
    if name == "spec":
        return _specs(file, rows)
    values = _some(file, f"runs/{name}", rows)
    if name in CODED:
        return _coded(file, f"labels/{name}", values)
    if name == "run_id":
        return pa.array(values.astype(str).astype(object), pa.string())
    return pa.array(values.astype(bool) if name == "planned" else values, from_pandas=True)


def table_columns(group: h5py.Group) -> list[str]:
    """The columns of a table, in order."""
    return get_texts(group, "columns")


def read_table(group: h5py.Group, columns: Sequence[str] | None = None) -> pa.Table:
    """A table, or these columns of it. Whole numbers of which some are missing are int64."""
    names = table_columns(group) if columns is None else columns
    return pa.table({name: _table_column(read_column(group, name)) for name in names})


def _table_column(values: NDArray[Any]) -> pa.Array:
    if values.dtype.kind == "O":
        return pa.array(values, pa.string())
    missing = np.isnan(values)
    if not missing.any():
        return pa.array(values)
    known = np.where(missing, 0, values)
    kind = pa.int64() if (known % 1 == 0).all() else None  # `columns.write_table` made it float
    return pa.array(known if kind is None else known.astype(np.int64), kind, mask=missing)


def _coded(file: h5py.File, labels: str, codes: NDArray[Any]) -> pa.DictionaryArray:
    """The texts that integers stand for. Of a few runs' only those that occur are read.

    Raises IndexError for integers that stand for nothing.
    """
    count, name = file[labels].shape[0], labels.removeprefix("labels/")
    if len(codes) and not 0 <= codes.min() <= codes.max() < count:
        raise IndexError(f"/runs/{name} has integers beyond the {count} labels")
    if len(codes) > FEW:
        texts = file[labels].asstr()[()]
    else:
        used = sorted(set(codes.tolist()))
        codes = np.searchsorted(used, codes)
        texts = [read_span(file, labels, code, code + 1)[0].decode() for code in used]
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(texts, pa.string()))


def _some(file: h5py.File, path: str, rows: Rows | None) -> NDArray[Any]:
    """The values of these rows: what lies between the first and the last of them is read."""
    if rows is None:
        return np.asarray(file[path][()])
    first, stop = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
    values = read_span(file, path, first, stop)
    return values if len(rows) == stop - first else values[rows - first]


def _specs(file: h5py.File, rows: Rows | None) -> pa.Array:
    """Texts end to end and their offsets are Arrow's own layout."""
    offsets = file["specs/offsets"][()]
    span = slice(0, len(offsets) - 1)
    if rows is not None:
        span = slice(int(rows[0]), int(rows[-1]) + 1) if len(rows) else slice(0, 0)
    offsets = offsets[span.start : span.stop + 1]
    text = file["specs/text"][offsets[0] : offsets[-1]]
    buffers = [None, pa.py_buffer(offsets - offsets[0]), pa.py_buffer(text)]
    texts = pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
    texts.validate(full=True)
    return texts if rows is None else texts.take(pa.array(rows - span.start))


def evaluations_table(
    file: h5py.File, columns: Sequence[str], rows: Rows | None = None
) -> pa.Table:
    """These of EVALUATION_TABLE, one row per evaluation (`rows`: of these only, ascending)."""
    check_columns(columns, EVALUATION_TABLE)
    return pa.table({name: _evaluation_column(file, name, rows) for name in columns})


def _evaluation_column(file: h5py.File, name: str, rows: Rows | None) -> pa.Array:
    values = file["evaluations"]["run" if name in OF_RUN else name][()]
    values = values if rows is None else values[rows]
    if name in OF_RUN:
        return run_column(file, name).take(pa.array(values))
    if name in _TEXTS:
        texts = pa.array(read_column(file["labels"], name), pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(values), texts)
    return pa.array(values.astype(bool) if name == "planned" else values, from_pandas=True)


def to_pandas(table: pa.Table, whole: bool = False) -> pd.DataFrame:
    """Coded text as text, a missing number as NaN; `whole`: whole numbers as Int64 where needed."""
    for number, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            texts = table.column(number).cast(pa.large_string())
            table = table.set_column(number, field.name, texts)
    # Starting threads takes a millisecond.
    frame = table.to_pandas(use_threads=len(table) > 100_000)
    if whole:
        integers = [field.name for field in table.schema if pa.types.is_integer(field.type)]
        made_floats = frame.select_dtypes("float").columns.intersection(integers)
        frame = frame.astype(dict.fromkeys(made_floats, "Int64"))
    return frame
