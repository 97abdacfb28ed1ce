"""What a journal record is: one finished run, or one evaluation of a run on a further test set.

Everything that describes a record is here: the typed records, their columns, which values are
legal, and `RECORDS`, the one table that journals, imported files and other stores are read into.
A further column of runs is a field of RunRecord and a line of _RUN_SCALARS: the store's layout,
its tables and its comparison follow.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, DTypeLike, NDArray

from anynet_study.metrics import CURVES, Metric

Status = Literal["completed", "diverged", "failed"]
FailureKind = Literal["", "oom", "data", "timeout", "node", "code"]
#: The training engine; "": not known, as for all runs before there were two.
Engine = Literal["", "reference", "fast"]
#: By which kernels networks were computed (`models.Backend`); "": not known.
BackendKind = Literal["", "plain", "rewritten", "compiled"]
#: The roles that a dataset can have in a study.
ROLES = ("source", "family", "target", "extra")
#: The value of a prediction that is not there; class indices are below it.
NO_PREDICTION = 65535
#: What tables call the test set of the run itself.
OWN_TEST_SET = "test"

#: Columns of a run's record, in the order in which tables show them.
_RUN_SCALARS: tuple[tuple[str, pa.DataType], ...] = (
    ("run_id", pa.string()),
    ("spec", pa.string()),
    ("architecture", pa.string()),
    ("dataset", pa.string()),
    ("recipe", pa.string()),
    ("replicate", pa.int32()),
    ("status", pa.string()),
    ("failure_kind", pa.string()),
    ("message", pa.string()),
    ("metric", pa.string()),
    ("error", pa.float64()),
    ("seconds", pa.float64()),
    ("started", pa.float64()),
    ("host", pa.string()),
    ("device", pa.string()),
    ("torch_version", pa.string()),
    ("code_version", pa.string()),
    ("engine", pa.string()),
    ("backend", pa.string()),
    ("instruction_set", pa.string()),
    ("threads", pa.int32()),
    ("processor", pa.string()),
    ("libraries", pa.string()),
)
_EVALUATION_SCALARS: tuple[tuple[str, pa.DataType], ...] = (
    ("run_id", pa.string()),
    ("evaluation", pa.string()),
    ("evaluation_id", pa.string()),
    ("identity", pa.string()),
    ("images", pa.int32()),
    ("loss", pa.float64()),
    ("top1", pa.float64()),
    ("top5", pa.float64()),
    ("error", pa.float64()),
    ("seconds", pa.float64()),
    ("started", pa.float64()),
    ("host", pa.string()),
)
#: Every column of /runs in a store, in order, and those of them that are texts.
_ABOUT = [(name, kind) for name, kind in _RUN_SCALARS if name != "spec"]
_MEASURED = [name for name, _ in _ABOUT].index("error") + 1
RUN_COLUMNS = (
    *(name for name, _ in _ABOUT[:_MEASURED]),
    *("planned", "epochs", "images"),
    *(name for name, _ in _ABOUT[_MEASURED:]),
    "journal",
)
CODED = (*(n for n, kind in _ABOUT if n != "run_id" and pa.types.is_string(kind)), "journal")
#: Arrays of a record; `spec` is its bytes. Those of an evaluation are its predictions alone.
ARRAYS = (*CURVES, "spec", "predictions")
_EVALUATION_ID = "[0-9a-f]{16}"


@dataclass(frozen=True, eq=False, kw_only=True)
class RunRecord:
    """The result of one run. Raises ValueError on a row that contradicts itself."""

    #: Hash of the canonical spec: two records of one id are the same run.
    run_id: str
    #: Canonical JSON of the run's spec.
    spec: str
    #: Id of the architecture, label of the dataset and name of the recipe in the sweep.
    architecture: str
    dataset: str
    recipe: str
    replicate: int
    status: Status
    #: "" unless the run failed.
    failure_kind: FailureKind = ""
    message: str = ""
    metric: Metric
    #: Test error after the final epoch on `metric`, in percent; diverged: chance; failed: NaN.
    error: float
    #: Keys of CURVES; arrays of shape (epochs,), all of one length; a missing key reads as NaN.
    curves: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    #: Predicted class of every test image in test order, shape (n_test,); empty if there is none.
    predictions: NDArray[np.uint16] = field(default_factory=lambda: np.empty(0, np.uint16))
    #: Duration, and when it began in seconds since 1970 (UTC).
    seconds: float
    started: float
    host: str
    device: str
    torch_version: str
    code_version: str
    engine: Engine = ""
    #: What its numbers depend on beside its spec, up to rounding: see `models.Backend`. Threads of
    #: the CPU (0: not known), model of the CPU or GPU, versions of the libraries that compute.
    backend: BackendKind = ""
    instruction_set: str = ""
    threads: int = 0
    processor: str = ""
    libraries: str = ""

    def __post_init__(self) -> None:
        """Refuse what no run can have produced."""
        if not self.run_id or not self.dataset or not self.architecture:
            raise ValueError("a run needs a run_id, an architecture and a dataset")
        _check_run_id(self.run_id)
        if self.status not in get_args(Status) or self.metric not in get_args(Metric):
            raise ValueError(f"illegal status {self.status!r} or metric {self.metric!r}")
        if self.engine not in get_args(Engine) or self.backend not in get_args(BackendKind):
            raise ValueError(f"illegal engine {self.engine!r} or backend {self.backend!r}")
        failed = self.status == "failed"
        if self.failure_kind not in get_args(FailureKind) or bool(self.failure_kind) != failed:
            raise ValueError(f"illegal failure kind {self.failure_kind!r} of a {self.status} run")
        if not (np.isnan(self.error) if failed else 0 <= self.error <= 100):
            raise ValueError(f"illegal error {self.error} of a {self.status} run")
        if unknown := set(self.curves) - set(CURVES):
            raise ValueError(f"unknown curves {sorted(unknown)}; legal: {', '.join(CURVES)}")
        if len({np.shape(curve) for curve in self.curves.values()}) > 1:
            raise ValueError("the curves of one run must have one length")
        _check_classes(self.predictions)

    @property
    def epochs(self) -> int:
        """Number of epochs that the curves cover."""
        return max((len(curve) for curve in self.curves.values()), default=0)


@dataclass(frozen=True, eq=False, kw_only=True)
class EvaluationRecord:
    """The result of one evaluation. Raises ValueError on a row that contradicts itself."""

    #: The run whose final weights were evaluated.
    run_id: str
    #: What the sweep calls the evaluation; not "test", the run's own test set.
    evaluation: str
    #: First 16 hex digits of the SHA-256 of `identity`: with the run, what is evaluated.
    evaluation_id: str
    #: Canonical JSON of everything that determines the evaluation of given weights.
    identity: str
    #: Number of test images, 1 or more.
    images: int
    #: Mean cross-entropy in nats.
    loss: float
    #: Errors in percent.
    top1: float
    top5: float
    #: Error in percent on the metric of the run; NaN: not known.
    error: float = float("nan")
    #: Predicted class of every test image in test order, shape (images,); where an image has
    #: several classes, its words (`metrics.label_words`); empty if not kept.
    predictions: NDArray[np.uint16] = field(default_factory=lambda: np.empty(0, np.uint16))
    #: Duration, and when it began in seconds since 1970 (UTC).
    seconds: float
    started: float
    host: str

    def __post_init__(self) -> None:
        """Refuse what no evaluation can have given."""
        _check_run_id(self.run_id)
        if self.evaluation in ("", OWN_TEST_SET) or not self.identity:
            raise ValueError(
                f"an evaluation needs an identity, and a name other than {OWN_TEST_SET}"
            )
        if not re.fullmatch(_EVALUATION_ID, self.evaluation_id):
            raise ValueError(f"illegal evaluation_id {self.evaluation_id!r}")
        if self.images < 1:
            raise ValueError(f"illegal number of images {self.images}")
        if not (0 <= self.top1 <= 100 and 0 <= self.top5 <= 100):
            raise ValueError(f"illegal errors {self.top1}, {self.top5}")
        if not (math.isnan(self.error) or 0 <= self.error <= 100):
            raise ValueError(f"illegal error {self.error}")
        _check_classes(self.predictions)
        classes = np.asarray(self.predictions)
        if classes.ndim != 1 or len(classes) % self.images:
            raise ValueError(f"predictions {classes.shape} on {self.images} images")


def _check_run_id(run_id: str) -> None:
    if not run_id.isalnum() or not run_id.isascii():
        raise ValueError(f"illegal run_id {run_id!r}")


def _check_classes(predictions: NDArray[np.uint16]) -> None:
    classes = np.asarray(predictions)
    if classes.size and (classes.min() < 0 or classes.max() >= NO_PREDICTION):
        raise ValueError(f"predictions must be class indices in 0..{NO_PREDICTION - 1}")


Record = TypeVar("Record", RunRecord, EvaluationRecord)


@dataclass(frozen=True, eq=False)
class RecordKind(Generic[Record]):
    """Records of one kind, of which a journal holds no other."""

    #: What the column `record_kind` calls it, and what messages do.
    name: Literal["run", "evaluation"]
    called: str
    #: How the names of their journals end.
    suffix: str
    #: Raised whenever the schema changes; records of any other version are refused.
    version: int
    schema: pa.Schema
    record: type[Record]
    #: Which rows the record's class may refuse; it takes all the others.
    doubtful: Callable[[pa.RecordBatch], NDArray[np.bool_]]

    def to_batch(self, record: Record) -> pa.RecordBatch:
        """The record as an Arrow batch of one row."""
        return pa.record_batch([_column_of_one(record, f) for f in self.schema], schema=self.schema)

    def from_batch(self, batch: pa.RecordBatch) -> Record:
        """The record in a batch of one row. Raises ValueError if it contradicts itself."""
        values: dict[str, Any] = {}
        for column in self.schema:
            cell = batch[column.name][0]
            if column.name in CURVES:
                values.setdefault("curves", {})[column.name] = cell.values.to_numpy()
            else:
                is_list = pa.types.is_list(column.type)
                values[column.name] = cell.values.to_numpy() if is_list else cell.as_py()
        return self.record(**values)

    def paths(self, folder: Path) -> list[Path]:
        """Their journals in a folder, sorted by name; none if the folder does not exist."""
        there = (path for path in folder.glob(f"*{SUFFIX}") if path.is_file())
        return sorted(filter(self.owns, there))

    def owns(self, path: Path) -> bool:
        """Whether a file, by its name, is one of their journals, or could become one."""
        of_evaluations = path.name.endswith(EVALUATIONS_SUFFIX)
        mine = of_evaluations == (self.suffix == EVALUATIONS_SUFFIX)
        return path.name.endswith(SUFFIX) and mine


#: How the name of every journal ends, and of those of evaluations.
SUFFIX, EVALUATIONS_SUFFIX = ".arrow", ".evaluations.arrow"

_NUMBERS: dict[pa.DataType, DTypeLike] = {pa.int32(): np.int32, pa.float64(): np.float64}


def _column_of_one(record: RunRecord | EvaluationRecord, column: pa.Field) -> pa.Array:
    """One value of a record as a column of one row, from its buffers.

    pyarrow's own conversion imports pandas to see whether it has been given some of it: in a
    worker that has just trained its first run, as long a wait as several steps of training.
    """
    if isinstance(record, RunRecord) and column.name in CURVES:
        curve = record.curves.get(column.name)
        missing = np.full(record.epochs, np.nan, np.float32)
        return _list_of_one(missing if curve is None else np.asarray(curve, np.float32))
    value = getattr(record, column.name)
    if column.name == "predictions":
        return _list_of_one(np.asarray(value).astype(np.uint16))
    if isinstance(value, str):
        text = storable(value).encode()
        content = [None, _buffer([0, len(text)], np.int32), pa.py_buffer(text)]
        return pa.Array.from_buffers(column.type, 1, content)
    buffer = _buffer([value], _NUMBERS[column.type])
    return pa.Array.from_buffers(column.type, 1, [None, buffer])


def _list_of_one(values: NDArray[Any]) -> pa.ListArray:
    kind = pa.from_numpy_dtype(values.dtype)
    content = pa.Array.from_buffers(kind, len(values), [None, _buffer(values, values.dtype)])
    offsets = pa.Array.from_buffers(pa.int32(), 2, [None, _buffer([0, len(values)], np.int32)])
    return pa.ListArray.from_arrays(offsets, content)


def _buffer(values: ArrayLike, dtype: DTypeLike) -> pa.Buffer:
    return pa.py_buffer(np.ascontiguousarray(values, dtype))


def storable(text: str) -> str:
    """The text as HDF5 can hold it."""
    # A message may quote raw bytes; neither lone surrogates nor NUL fit an HDF5 string.
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def lengths_of(column: pa.Array) -> NDArray[np.int64]:
    """The number of elements of every list, or of bytes of every text, of a column."""
    import pyarrow.compute as pc

    of_texts = not pa.types.is_list(column.type)
    lengths = pc.binary_length(column) if of_texts else pc.list_value_length(column)
    return np.asarray(lengths, np.int64)


def _doubtful_runs(batch: pa.RecordBatch) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    failed = _truth(pc.equal(batch["status"], "failed"))
    error, epochs = batch["error"].to_numpy(), lengths_of(batch[CURVES[0]])
    bad = ~_truth(pc.ascii_is_alnum(batch["run_id"]))
    legal = {"status": Status, "metric": Metric, "failure_kind": FailureKind, "engine": Engine}
    legal |= {"backend": BackendKind}
    for name, values in legal.items():
        bad |= ~_among(batch[name], get_args(values))
    bad |= _among(batch["architecture"], [""]) | _among(batch["dataset"], [""])
    bad |= _among(batch["failure_kind"], [""]) == failed
    bad |= ~np.where(failed, np.isnan(error), (error >= 0) & (error <= 100))
    for name in CURVES:
        bad |= lengths_of(batch[name]) != epochs
    return bad | _has_no_class(batch["predictions"])


def _doubtful_evaluations(batch: pa.RecordBatch) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    bad = ~_truth(pc.ascii_is_alnum(batch["run_id"]))
    bad |= _among(batch["evaluation"], ["", OWN_TEST_SET]) | _among(batch["identity"], [""])
    bad |= ~_truth(pc.match_substring_regex(batch["evaluation_id"], rf"\A{_EVALUATION_ID}\z"))
    images, predicted = batch["images"].to_numpy(), lengths_of(batch["predictions"])
    bad |= (images < 1) | (predicted % np.maximum(images, 1) != 0)
    for name in ("top1", "top5"):
        values = batch[name].to_numpy()
        bad |= ~((values >= 0) & (values <= 100))
    error = batch["error"].to_numpy()
    bad |= (error < 0) | (error > 100)
    return bad | _has_no_class(batch["predictions"])


def _truth(values: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(values.to_numpy(zero_copy_only=False), np.bool_)


def _among(texts: pa.Array, some: Iterable[str]) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    return _truth(pc.is_in(texts, value_set=pa.array(some, pa.string())))


def _has_no_class(predictions: pa.ListArray) -> NDArray[np.bool_]:
    """Whether one of a row's predictions is NO_PREDICTION."""
    ends = np.cumsum(lengths_of(predictions))
    places = np.flatnonzero(predictions.flatten().to_numpy() == NO_PREDICTION)
    found = np.zeros(len(predictions), np.bool_)
    found[np.searchsorted(ends, places, side="right")] = True
    return found


def _lists(names: Iterable[str], kind: pa.DataType) -> list[tuple[str, pa.DataType]]:
    return [(name, pa.list_(kind)) for name in names]


def _schema(columns: Iterable[tuple[str, pa.DataType]], version: dict[str, str]) -> pa.Schema:
    fields = [pa.field(name, kind, nullable=False) for name, kind in columns]
    return pa.schema(fields, metadata=version)


_PREDICTIONS = _lists(["predictions"], pa.uint16())
RUN = RecordKind(
    "run",
    "a run",
    SUFFIX,
    4,
    _schema(
        [*_RUN_SCALARS, *_lists(CURVES, pa.float32()), *_PREDICTIONS],
        {"anynet_study.record_version": "4"},
    ),
    RunRecord,
    _doubtful_runs,
)
EVALUATION = RecordKind(
    "evaluation",
    "an evaluation",
    EVALUATIONS_SUFFIX,
    2,
    _schema([*_EVALUATION_SCALARS, *_PREDICTIONS], {"anynet_study.evaluation_version": "2"}),
    EvaluationRecord,
    _doubtful_evaluations,
)
KINDS: tuple[RecordKind[Any], ...] = (RUN, EVALUATION)

_TEXT = pa.dictionary(pa.int32(), pa.string())
_BOTH = {name: kind for name, kind in (*_RUN_SCALARS, *_EVALUATION_SCALARS) if name != "spec"}
#: The one table of records, runs and evaluations alike; what is not of a record's kind is null.
RECORDS = pa.schema(
    {
        **{name: _TEXT if pa.types.is_string(kind) else kind for name, kind in _BOTH.items()},
        "run_id": pa.string(),
        "record_kind": _TEXT,
        # The lengths of its arrays.
        "spec_bytes": pa.int64(),
        "epochs": pa.int32(),
        "predicted": pa.int32(),
        # The journal or imported file, and the record's bytes in it.
        "journal": _TEXT,
        "offset": pa.int64(),
        "end": pa.int64(),
    }
)


def records_table(columns: Mapping[str, Any], count: int) -> pa.Table:
    """A table of RECORDS: these columns, each as its type, and null what is not among them."""
    found = []
    for column in RECORDS:
        values = columns.get(column.name)
        if values is None:
            found.append(pa.nulls(count, column.type))
        elif isinstance(values, str):
            codes = pa.array(np.zeros(count, np.int32))
            found.append(pa.DictionaryArray.from_arrays(codes, pa.array([values], pa.string())))
        else:
            array = pa.array(values) if isinstance(values, np.ndarray) else values
            encode = column.type == _TEXT and not pa.types.is_dictionary(array.type)
            found.append(array.dictionary_encode() if encode else array.cast(column.type))
    return pa.table(found, schema=RECORDS)


def joined(tables: Iterable[pa.Table]) -> pa.Table:
    """Tables of RECORDS below each other."""
    every = pa.concat_tables([RECORDS.empty_table(), *tables])
    return every.unify_dictionaries().combine_chunks()
