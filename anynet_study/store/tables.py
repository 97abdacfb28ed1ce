"""The tables of one results file as Arrow, read column by column, and for pandas.

A missing number is null. Texts of runs and evaluations are dictionaries.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.core import arrow
from anynet_study.core.errors import UserError
from anynet_study.core.metrics import (
    CURVES,
    auroc_interval,
    error_interval,
    from_words,
)
from anynet_study.core.sql import unknown_column
from anynet_study.store.hdf5 import get_text, get_texts, is_text, read_distinct
from anynet_study.store.layout import COLUMNS
from anynet_study.store.opening import stored_json, stored_values
from anynet_study.store.predictions import (
    kind_of,
    prediction_groups,
    read_scores,
)
from anynet_study.store.records import (
    NO_PREDICTION,
    RECORDS,
    RUN_COLUMNS,
    EvaluationRecord,
    RunRecord,
    default_of,
)

if TYPE_CHECKING:
    import pandas as pd

Rows = NDArray[np.int64]
#: Columns of a run that its curves and its evaluations are shown with.
RUN_KEYS = ("run_id", "architecture", "dataset", "recipe", "replicate")
#: 95% interval of the error of a completed run by its test images, in percent: exact for metrics
#: that count images, else of resamples of the images (`metrics.error_interval`).
INTERVAL = ("error_low", "error_high")
#: Columns of the runs that are there for those who name them.
ON_REQUEST = ("spec", *INTERVAL)
#: Tables about what a run names, and the column of /runs that names it.
ABOUT = {"architecture": "architectures", "dataset": "datasets"}


#: What is shown of evaluations where nothing else is said.
EVALUATIONS_SHOWN = (
    *RUN_KEYS,
    *("evaluation", "evaluation_id", "kind", "images", "loss", "top1", "top5", "error"),
    *("seconds", "planned"),
)
#: Columns that are told by the identity of an evaluation, and their types; missing where it does
#: not say: the epochs after which, and the share of the way from the weights that a run started
#: from to its final ones, at which it was made.
OF_IDENTITY = {"epoch": pa.int32(), "interpolate": pa.float64()}
#: And all columns that there are.
EVALUATION_TABLE = (
    *EVALUATIONS_SHOWN,
    *(name for name in COLUMNS["evaluations"] if name not in (*EVALUATIONS_SHOWN, "run")),
    *OF_IDENTITY,
)
#: Tables of which every store has the same columns.
FIXED_COLUMNS: Mapping[str, Sequence[str]] = {
    "curves": (*RUN_KEYS, "epoch", *CURVES),
    "evaluations": EVALUATION_TABLE,
    "provenance": ("name", "value"),
}


def check_columns(names: Sequence[str], legal: Sequence[str]) -> None:
    """Raises UserError for a name that is not legal."""
    for name in names:
        if name not in legal:
            raise UserError(unknown_column(name, legal))


def table_columns(file: h5py.File, table: str) -> list[str]:
    """The columns that a table has, in order."""
    if table in FIXED_COLUMNS:
        return list(FIXED_COLUMNS[table])
    if table == "runs":
        return _runs_columns(file)
    return _trials_columns(file) if table == "trials" else _listed(file, table)


def read_table(file: h5py.File, table: str, columns: Sequence[str]) -> pa.Table:
    """Read columns of a table but curves. Raises UserError for one that it does not have."""
    check_columns(columns, table_columns(file, table))
    own = {"runs": runs_table, "evaluations": evaluations_table, "trials": _trials_table}
    if table in own:
        return own[table](file, columns)
    values = _provenance(file) if table == "provenance" else _stored(file, table, columns)
    return values.select(columns)


def provenance_in(file: h5py.File) -> dict[str, str]:
    """Return what made the store, as given to `collect`; and when, as `created`."""
    made: dict[str, str] = json.loads(file["provenance"].asstr()[()])
    return made | {"created": get_text(file, "created")}


def _provenance(file: h5py.File) -> pa.Table:
    names, values = zip(*provenance_in(file).items(), strict=True)
    return pa.table({"name": arrow.texts(names), "value": arrow.texts(map(str, values))})


def _runs_columns(file: h5py.File) -> list[str]:
    """Columns of the runs: their own, ON_REQUEST, and those of their architecture and dataset.

    Their own include those that only a newer version of this package knows.
    """
    further = [name for name in file["runs"] if name not in RUN_COLUMNS]
    about = [name for table in ABOUT.values() for name in _listed(file, table)]
    return list(dict.fromkeys([*RUN_COLUMNS, *further, *ON_REQUEST, *about]))


def runs_table(file: h5py.File, columns: Sequence[str]) -> pa.Table:
    """Read columns of the runs, one row per run."""
    own = [name for name in columns if name in (*RUN_COLUMNS, *file["runs"], "spec")]
    found = {name: run_column(file, name) for name in own}
    for key, table in ABOUT.items():
        there = _listed(file, table)
        wanted = [n for n in columns if n in there and n not in found and n not in ON_REQUEST]
        found |= _joined(file, key, wanted) if wanted else {}
    found |= _interval(file) if set(INTERVAL) & set(columns) else {}
    # A table of no columns would have no rows.
    return pa.table({name: found[name] for name in columns})


def _joined(file: h5py.File, key: str, columns: list[str]) -> dict[str, pa.Array]:
    """Columns of the architecture or dataset of each run; null if it is not in that table."""
    about = _stored(file, ABOUT[key], [key, *columns])
    named = run_column(file, key)
    places = pc.index_in(named.dictionary, value_set=about[key].chunk(0)).take(named.indices)
    joined, nothing = {}, arrow.texts([""])[0]
    for name in columns:
        values = about[name].chunk(0).take(places)
        text = is_text(values.type)
        joined[name] = values.fill_null(nothing).dictionary_encode() if text else values
    return joined


def _interval(file: h5py.File) -> dict[str, pa.Array]:
    """The columns INTERVAL; null where the images, or the predictions on them, are not known.

    Of AUROCs where scores were kept (`launch.scores`), beside the store.
    """
    from anynet_study.core.metrics import binomial_interval

    run = runs_table(file, ["error", "images", "status", "metric"]).to_pandas()
    images = run["images"].where(run["images"] > 0)
    if "test_images" in _listed(file, "datasets"):
        told = _joined(file, "dataset", ["test_images"])["test_images"].to_pandas()
        # Of several classes an image there may be more predictions than images.
        images = np.fmin(images, told.where(told > 0))
    counts = (run["status"] == "completed") & run["metric"].isin(["top1", "top5"])
    ends = np.stack(binomial_interval(run["error"], images.where(counts)))
    done = (run["status"] == "completed").to_numpy()
    for row, interval in _resampled(file, run["metric"].where(done).to_numpy()):
        ends[:, row] = interval
    return dict(zip(INTERVAL, map(arrow.numbers, ends), strict=True))


def _resampled(
    file: h5py.File, metrics: NDArray[np.object_]
) -> Iterator[tuple[int, tuple[float, float]]]:
    """Rows and intervals of runs whose metric is computed from all predictions, if stored."""
    kept = runs_table(file, ["run_id", "scores"])
    for row, truth, guesses, classes in predicted_runs(file):
        if metrics[row] in OF_PREDICTIONS:
            yield row, error_interval(metrics[row], truth, guesses, classes)
        elif metrics[row] == "auroc":
            run_id, digest = (kept[name][row].as_py() for name in kept.column_names)
            scores = read_scores(Path(file.filename), run_id, digest)
            if scores is not None and len(scores) == len(truth):
                yield row, auroc_interval(scores, truth)


#: Metrics that one needs all predictions for; top1 needs the number of those that are right.
OF_PREDICTIONS = ("balanced_accuracy", "macro_f1", "quadratic_kappa")


def predicted_runs(
    file: h5py.File, most: int | None = None
) -> Iterator[tuple[int, NDArray[Any], NDArray[Any], int]]:
    """Rows of runs with what their test images are, what was predicted, and how many classes.

    (images,) classes, or (images, classes) of zeros and ones; only where all of it is known. At
    most the first `most` runs of a dataset.
    """
    if "classes" not in _listed(file, "datasets"):
        return
    about = _stored(file, "datasets", ["dataset", "classes"])
    sizes = dict(zip(*about.to_pydict().values(), strict=True))
    for group in prediction_groups(file):
        kind, classes = kind_of(group), sizes.get(get_text(group, "dataset"))
        if kind == "correct" or "labels" not in group or not classes:
            continue
        several, truth = kind == "labels", group["labels"][()]
        truth = from_words(truth, classes) if several else truth
        for row, said in zip(group["run"][:most].tolist(), group["classes"][:most], strict=True):
            if (said < NO_PREDICTION).all() and (several or (truth < NO_PREDICTION).all()):
                yield row, truth, from_words(said, classes) if several else said, classes


def curves_table(
    file: h5py.File, columns: Sequence[str], wanted: Mapping[str, str | None]
) -> pa.Table:
    """One row per epoch of the runs that have these texts in these columns (None: any text).

    Raises UserError for a column that curves do not have.
    """
    check_columns(columns, FIXED_COLUMNS["curves"])
    rows = _rows_with(file, wanted)
    offsets = file["curves/offsets"][()]
    epochs = np.diff(offsets)[rows]
    epoch = np.arange(epochs.sum()) - np.repeat(np.cumsum(epochs) - epochs, epochs)
    place, run = np.repeat(offsets[rows], epochs) + epoch, arrow.numbers(np.repeat(rows, epochs))
    begin, end = (offsets[rows[0]], offsets[rows[-1] + 1]) if len(rows) else (0, 0)
    found = {}
    for name in columns:
        if name in CURVES:
            found[name] = arrow.numbers(read_curve(file, name, begin, end)[place - begin])
        elif name == "epoch":
            found[name] = arrow.numbers((epoch + 1).astype(np.int32))
        else:
            values = run_column(file, name)
            coded = values.dictionary_encode() if pa.types.is_string(values.type) else values
            found[name] = coded.take(run)
    return pa.table(found)


def _rows_with(file: h5py.File, wanted: Mapping[str, str | None]) -> Rows:
    """Row numbers, ascending, of the runs that have these texts in these columns (None: any).

    Raises UserError for a text that no run has, but for a run_id.
    """
    chosen = np.ones(len(file["runs/run_id"]), np.bool_)
    for name, text in wanted.items():
        if text is None:
            continue
        chosen &= np.asarray(pc.equal(run_column(file, name).cast(pa.string()), text))
        if name != "run_id" and not (chosen.any() or text in study_names(file, name)):
            raise UserError(f"{file.filename}: no {name} {text}")
    return np.flatnonzero(chosen)


def read_curve(file: h5py.File, name: str, begin: int = 0, end: int | None = None) -> Any:
    """Elements of an array of /curves, float32; NaN in a store without it."""
    if name not in file["curves"]:
        known = next(iter(file["curves"][other] for other in CURVES if other in file["curves"]))
        return np.full(len(range(len(known))[begin:end]), np.nan, np.float32)
    return file["curves"][name][begin:end]


def run_column(file: h5py.File, name: str) -> pa.Array:
    """One value per run, of /runs or its "spec"; the default of its record where it is absent."""
    if name == "spec":
        return _specs(file)
    return _column(file["runs"], name, RunRecord, len(file["runs/run_id"]))


def _column(group: h5py.Group, name: str, record: type, count: int) -> pa.Array:
    """A column of /runs or /evaluations; of a store without it, the default of its record."""
    if name not in group:
        default = default_of(record, name)
        if default is MISSING:
            raise KeyError(f"no column {name}")
        missing = default != default  # NaN
        return pa.repeat(pa.scalar(None if missing else default, RECORDS.field(name).type), count)
    if name == "run_id":
        return read_distinct(group[name])
    values = stored_values(group[name])
    if isinstance(values, pa.DictionaryArray):
        return values
    truth = _type(group.name, name) == pa.bool_()
    return arrow.numbers(values.astype(bool) if truth else values)


def _type(table: str, name: str) -> pa.DataType | None:
    """The type of a known column."""
    column = COLUMNS[table.strip("/")].get(name)
    return None if column is None else column.type


def _listed(file: h5py.File, table: str) -> list[str]:
    """The columns of a table that says which it has, in order."""
    return get_texts(file[table], "columns")


def study_names(file: h5py.File, name: str) -> list[str]:
    """Names in the order of the sweep: "architecture", "dataset", "recipe" or "evaluation"."""
    array = file[ABOUT[name]][name] if name in ABOUT else file["labels"][name]
    return list(read_distinct(array).to_pylist())


def _stored(file: h5py.File, table: str, columns: Sequence[str]) -> pa.Table:
    """Columns of such a table. Whole numbers of which some are missing are int64."""
    return pa.table({name: _stored_column(file[table], name) for name in columns})


def _stored_column(group: h5py.Group, name: str) -> pa.Array:
    if group[name].dtype.kind in "SO":
        return read_distinct(group[name])
    values = group[name][()]
    found, kind = arrow.numbers(values), _type(group.name, name)
    if kind == pa.bool_():
        return found.cast(kind)
    whole = found.null_count and kind != pa.float64()
    whole = whole and (values[~np.isnan(values)] % 1 == 0).all()
    return found.cast(pa.int64()) if whole else found


def _specs(file: h5py.File) -> pa.Array:
    """The specifications; their bytes and offsets are stored as Arrow lays out texts."""
    offsets, text = file["specs/offsets"][()], file["specs/text"][()]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    texts = pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
    texts.validate(full=True)
    return texts


def evaluations_table(file: h5py.File, columns: Sequence[str]) -> pa.Table:
    """Read columns of EVALUATION_TABLE, one row per evaluation."""
    return pa.table({name: _evaluation_column(file, name) for name in columns})


def _evaluation_column(file: h5py.File, name: str) -> pa.Array:
    if name in OF_IDENTITY:
        identities = _evaluation_column(file, "identity")
        texts = identities.dictionary.to_pylist()
        told = [stored_json(text, dict, "identity of an evaluation").get(name) for text in texts]
        values = [v if isinstance(v, int | float) and abs(v) < 2**31 else np.nan for v in told]
        numbers = arrow.numbers(np.array(values, np.float64)).cast(OF_IDENTITY[name])
        return numbers.take(identities.indices)
    group = file.get("evaluations")
    if name in RUN_KEYS:
        values = run_column(file, name)
        return values[:0] if group is None else values.take(arrow.numbers(group["run"][()]))
    if group is None:  # a store that was made when there were none
        kind = COLUMNS["evaluations"][name].type
        return pa.nulls(0, RECORDS.field(name).type if name in RECORDS.names else kind)
    found = _column(group, name, EvaluationRecord, len(group["run"]))
    if name == "evaluation":  # as the sweep orders them
        names = arrow.texts(study_names(file, name))
        found = pa.DictionaryArray.from_arrays(pc.index_in(found.cast(pa.string()), names), names)
    return found


#: Columns of trials, before and after those of the settings that were tried.
TRIAL_KEYS = ("run_id", "architecture", "dataset", "tuned", "replicate", "trial", "rung")
TRIAL_RESULTS = ("epochs", "status", "validation_error", "error", "seconds", "trains", "chosen")
#: /trials of a study in which nothing is tuned.
NO_TRIALS = pa.table({name: pa.nulls(0, one.type) for name, one in COLUMNS["trials"].items()})


def _trials_columns(file: h5py.File) -> list[str]:
    """Columns of the trials; those in between are the keys of recipes that were tuned."""
    there = _listed(file, "trials") if "trials" in file else []
    tuned = [name for name in there if name not in (*TRIAL_KEYS, *TRIAL_RESULTS)]
    return list(dict.fromkeys([*TRIAL_KEYS, *tuned, *TRIAL_RESULTS]))


def _trials_table(file: h5py.File, columns: Sequence[str]) -> pa.Table:
    """Read columns of the trials, one row per recorded run of a tuned recipe."""
    there = "trials" in file
    said = _stored(file, "trials", _listed(file, "trials")) if there else NO_TRIALS
    rows = pc.index_in(said["run_id"].chunk(0), value_set=run_column(file, "run_id"))
    said, rows = said.filter(rows.is_valid()), rows.drop_null()
    return pa.table(
        {
            name: said[name] if name in said.column_names else run_column(file, name).take(rows)
            for name in columns
        }
    )


def plain(table: pa.Table, kind: pa.DataType) -> pa.Table:
    """The table with texts of this type in place of dictionaries, and without metadata."""
    columns = [
        column.cast(kind) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, table.column_names)


def to_pandas(table: pa.Table) -> "pd.DataFrame":
    """The table for pandas: texts as objects, a missing number as NaN."""
    # Starting threads takes a millisecond.
    return plain(table, pa.large_string()).to_pandas(use_threads=len(table) > 100_000)
