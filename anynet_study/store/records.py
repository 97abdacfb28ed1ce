"""The records of a journal: one finished run, or one evaluation of a run on a further test set.

The typed records, which values make one, and `RECORDS`, the one table that journals, imported
files and other stores are read into. A further column is a line of `layout.COLUMNS`, which says
its type and what it means, and a field with a default of RunRecord or EvaluationRecord: journals,
the store, its tables and its comparison follow, and records without the column have the default.
No version is raised for it.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from anynet_study.core import arrow
from anynet_study.core.errors import counted
from anynet_study.core.metrics import CURVES, EvaluationKind, Metric
from anynet_study.store.layout import (
    COLUMNS,
    Column,
    FailureKind,
    RecordedBackend,
    RecordedEngine,
    Status,
)

#: The value of a prediction that is not there; class indices are below it.
NO_PREDICTION = 65535
#: What tables call the test set of the run itself.
OWN_TEST_SET = "test"

#: Arrays of a record; `spec` is its bytes. Those of an evaluation are its predictions alone.
ARRAYS = (*CURVES, "spec", "predictions")


@dataclass(frozen=True, eq=False, kw_only=True)
class RunRecord:
    """The result of one run; what each field means is in `layout.COLUMNS`.

    Raises ValueError on a row that contradicts itself.
    """

    #: Two records of one id are the same run.
    run_id: str
    #: Canonical JSON of the run's spec.
    spec: str
    architecture: str
    dataset: str
    recipe: str
    replicate: int
    status: Status
    failure_kind: FailureKind = ""
    message: str = ""
    metric: Metric
    error: float
    error_std: float = float("nan")
    trainings: int = 1
    #: Keys of CURVES; arrays of shape (epochs,), all of one length; a missing key reads as NaN.
    curves: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    #: Predicted class of every test image in test order, shape (n_test,); empty if there is none.
    predictions: NDArray[np.uint16] = field(default_factory=lambda: np.empty(0, np.uint16))
    seconds: float
    started: float
    host: str
    device: str
    torch_version: str
    code_version: str
    engine: RecordedEngine = ""
    #: What its numbers depend on beside its spec, up to rounding: see `models.Backend`.
    backend: RecordedBackend = ""
    instruction_set: str = ""
    threads: int = 0
    processor: str = ""
    libraries: str = ""
    scores: str = ""
    function_digest: str = ""

    def __post_init__(self) -> None:
        """Refuse what no run can have produced."""
        if unknown := set(self.curves) - set(CURVES):
            raise ValueError(f"unknown curves {sorted(unknown)}; legal: {', '.join(CURVES)}")
        RUN.check(self)

    @property
    def epochs(self) -> int:
        """Number of epochs that the curves cover."""
        return max((len(curve) for curve in self.curves.values()), default=0)


@dataclass(frozen=True, eq=False, kw_only=True)
class EvaluationRecord:
    """The result of one evaluation; what each field means is in `layout.COLUMNS`.

    Raises ValueError on a row that contradicts itself.
    """

    #: The run whose final weights were evaluated.
    run_id: str
    #: What the sweep calls the evaluation; not "test", the run's own test set.
    evaluation: str
    evaluation_id: str
    identity: str
    images: int
    loss: float
    top1: float
    top5: float
    error: float = float("nan")
    #: One of `metrics.EvaluationKind`; "" as for all evaluations before November 2026: not known.
    kind: str = ""
    #: Predicted class of every test image in test order, shape (images,); where an image has
    #: several classes, its words (`metrics.to_words`); empty if not kept.
    predictions: NDArray[np.uint16] = field(default_factory=lambda: np.empty(0, np.uint16))
    seconds: float
    started: float
    host: str

    def __post_init__(self) -> None:
        """Refuse what no evaluation can have given."""
        EVALUATION.check(self)


Record = TypeVar("Record", RunRecord, EvaluationRecord)
Faults = Iterator[tuple[str, ArrayLike]]


@dataclass(frozen=True, eq=False)
class RecordKind(Generic[Record]):
    """Records of one kind, of which a journal holds no other."""

    #: What the column `record_kind` calls it, and what messages do.
    name: Literal["run", "evaluation"]
    called: str
    #: How the names of their journals end.
    suffix: str
    #: Raised when records change in a way that reading columns by name cannot bridge.
    version: int
    schema: pa.Schema
    #: By version: the schema of its records that do not say which columns they have.
    unmarked: Mapping[int, pa.Schema]
    record: type[Record]
    #: Reasons for which rows are refused, and which rows these are.
    faults: Callable[[pa.RecordBatch], Faults]

    def to_batch(self, record: Record) -> pa.RecordBatch:
        """The record as an Arrow batch of one row."""
        cells = [pa.array([_cell(record, field.name)], field.type) for field in self.schema]
        return pa.record_batch(cells, schema=self.schema)

    def conformed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of `schema` in records of any version, the default where there is none.

        Raises ValueError for a column that is needed and absent, or of another type.
        """
        if batch.schema.equals(self.schema):
            return batch
        there = batch.schema.names
        columns = [
            batch[wanted.name].cast(wanted.type)
            if wanted.name in there
            else self.absent(wanted.name, batch)
            for wanted in self.schema
        ]
        return pa.record_batch(columns, schema=self.schema)

    def absent(self, name: str, batch: pa.RecordBatch) -> pa.Array:
        """Return what records that were written without a column have in it."""
        if name in CURVES:
            some = next(batch[other] for other in CURVES if other in batch.schema.names)
            ends = np.concatenate([[0], np.cumsum(lengths_of(some))])
            nothing = pa.array(np.full(ends[-1], np.nan, np.float32))
            return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), nothing)
        default = default_of(self.record, name)
        if default is MISSING:
            raise ValueError(f"{self.called} has a column {name}")
        return pa.repeat(pa.scalar(default, self.schema.field(name).type), len(batch))

    def check(self, record: Record) -> None:
        """Raises ValueError if the record contradicts itself."""
        (reason,) = self.refusals(self.to_batch(record))
        if reason:
            raise ValueError(reason)

    def refusals(self, batch: pa.RecordBatch) -> NDArray[np.object_]:
        """Why each row is no such record; "": it is one."""
        reasons = np.full(len(batch), "", object)
        for reason, bad in self.faults(batch):
            reasons[np.asarray(bad, bool) & (reasons == "")] = reason
        return reasons

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
        """Their journals in a folder, sorted by name; none if the folder does not exist.

        Raises OSError for a folder that cannot be listed: it may hold any.
        """
        try:
            names = os.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            if os.path.lexists(folder):
                raise
            return []
        return sorted(path for name in names if self.owns(path := folder / name))

    def owns(self, path: Path) -> bool:
        """Tell whether a file, by its name, is one of their journals, or could become one."""
        suffix = EVALUATIONS_SUFFIX if path.name.endswith(EVALUATIONS_SUFFIX) else SUFFIX
        return path.name.endswith(SUFFIX) and suffix == self.suffix


def default_of(record: type, name: str) -> Any:
    """The default of a field of a record; MISSING where every record has to say it."""
    return next(one.default for one in fields(record) if one.name == name)


#: How the name of every journal ends, and of those of evaluations.
SUFFIX, EVALUATIONS_SUFFIX = ".arrow", ".evaluations.arrow"


def _cell(record: RunRecord | EvaluationRecord, name: str) -> Any:
    """A value of a record as Arrow takes it. Raises ValueError for what is no class index."""
    if isinstance(record, RunRecord) and name in CURVES:
        missing = np.full(record.epochs, np.nan)
        return np.asarray(record.curves.get(name, missing), np.float32)
    value = getattr(record, name)
    if name == "predictions":
        if np.ndim(value) != 1 or (
            np.size(value) and not 0 <= np.min(value) <= np.max(value) < 65536
        ):
            raise ValueError(_NO_CLASSES)
        return np.asarray(value).astype(np.uint16)
    return storable(value) if isinstance(value, str) else value


def storable(text: str) -> str:
    """The text as HDF5 can hold it."""
    # A message may quote raw bytes; neither lone surrogates nor NUL fit an HDF5 string.
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def lengths_of(column: pa.Array) -> NDArray[np.int64]:
    """The number of elements of every list, or of bytes of every text, of a column."""
    import pyarrow.compute as pc

    if pa.types.is_list(column.type):
        return np.diff(np.from_dlpack(column.offsets)).astype(np.int64)
    return np.from_dlpack(pc.binary_length(column)).astype(np.int64)


_RUN_ID, _EVALUATION_ID = re.compile("[0-9A-Za-z]+"), re.compile("[0-9a-f]{16}")
_NO_CLASSES = f"predictions must be class indices in 0..{NO_PREDICTION - 1}, one per image"


def _faults_of_runs(batch: pa.RecordBatch) -> Faults:
    yield "illegal run_id", _unlike(batch["run_id"], _RUN_ID)
    for name in ("architecture", "dataset"):
        yield "a run needs a run_id, an architecture and a dataset", _among(batch[name], ("",))
    for name, column in COLUMNS["runs"].items():
        if column.legal:
            said = f"illegal {name}; legal: {', '.join(column.legal)}"
            yield said, ~_among(batch[name], column.legal)
    failed, error = _among(batch["status"], ("failed",)), np.from_dlpack(batch["error"])
    no_kind = _among(batch["failure_kind"], ("",))
    yield "failure_kind: of failed runs, and of these only", no_kind == failed
    yield "illegal error", ~np.where(failed, np.isnan(error), (error >= 0) & (error <= 100))
    epochs = lengths_of(batch[CURVES[0]])
    for name in CURVES:
        yield "the curves of one run must have one length", lengths_of(batch[name]) != epochs
    yield _NO_CLASSES, _has_no_class(batch["predictions"])


def _faults_of_evaluations(batch: pa.RecordBatch) -> Faults:
    yield "illegal run_id", _unlike(batch["run_id"], _RUN_ID)
    yield "illegal name of an evaluation", _among(batch["evaluation"], ("", OWN_TEST_SET))
    yield "an evaluation needs an identity", _among(batch["identity"], ("",))
    yield "illegal evaluation_id", _unlike(batch["evaluation_id"], _EVALUATION_ID)
    yield (
        "illegal kind of an evaluation",
        ~_among(batch["kind"], ("", *get_args(EvaluationKind))),
    )
    images, predicted = np.from_dlpack(batch["images"]), lengths_of(batch["predictions"])
    yield "illegal number of images", images < 1
    yield "predictions of other images", predicted % np.maximum(images, 1) != 0
    for name in ("top1", "top5", "error"):
        error = np.from_dlpack(batch[name])
        unknown = np.isnan(error) & (name == "error")
        yield f"illegal {name}", ~((error >= 0) & (error <= 100) | unknown)
    yield _NO_CLASSES, _has_no_class(batch["predictions"])


def _among(texts: pa.Array, wanted: Collection[str]) -> NDArray[np.bool_]:
    """Tell whether each text is one of a few; of a single record, sooner than Arrow does."""
    return np.array([text in wanted for text in texts.to_pylist()], np.bool_)


def _unlike(texts: pa.Array, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    return np.array([not pattern.fullmatch(text) for text in texts.to_pylist()], np.bool_)


def _has_no_class(predictions: pa.ListArray) -> NDArray[np.bool_]:
    """Tell whether one of a row's predictions is NO_PREDICTION."""
    ends = np.cumsum(lengths_of(predictions))
    places = np.flatnonzero(np.from_dlpack(predictions.flatten()) == NO_PREDICTION)
    found = np.zeros(len(predictions), np.bool_)
    found[np.searchsorted(ends, places, side="right")] = True
    return found


def _scalars(record: type, columns: Mapping[str, Column]) -> dict[str, pa.DataType]:
    """The columns of a record that are no arrays, in the order of its fields."""
    types = {name: column.type for name, column in columns.items()} | {"spec": pa.string()}
    return {one.name: types[one.name] for one in fields(record) if one.name in types}


def _schema(
    scalars: Mapping[str, pa.DataType], curves: Sequence[str], version: str, number: int
) -> pa.Schema:
    columns = {**scalars, **dict.fromkeys(curves, pa.list_(pa.float32()))}
    columns["predictions"] = pa.list_(pa.uint16())
    fields = [pa.field(name, kind, nullable=False) for name, kind in columns.items()]
    return pa.schema(fields, metadata={f"anynet_study.{version}": str(number)})


#: What each version added to records of runs, and of evaluations, until November 2026. Journals
#: since then say of each record which columns it has.
_RUNS_ADDED = (
    (
        *("run_id", "spec", "architecture", "dataset", "recipe", "replicate", "status"),
        *("failure_kind", "message", "metric", "error", "seconds", "started", "host", "device"),
        *("torch_version", "code_version", "train_loss", "train_top1", "train_top5"),
        *("test_loss", "test_top1", "test_top5", "predictions"),
    ),
    ("engine",),
    ("test_error",),
    ("backend", "instruction_set", "threads", "processor", "libraries"),
)
_EVALUATIONS_ADDED = (
    (
        *("run_id", "evaluation", "evaluation_id", "identity", "images", "loss", "top1", "top5"),
        *("seconds", "started", "host", "predictions"),
    ),
    ("error",),
)


def _unmarked(schema: pa.Schema, added: Sequence[Sequence[str]]) -> dict[int, pa.Schema]:
    found, known = {}, set[str]()
    for version, names in enumerate(added, 1):
        known |= set(names)
        found[version] = pa.schema([column for column in schema if column.name in known])
    return found


_OF_RUN = _scalars(RunRecord, COLUMNS["runs"])
_OF_EVALUATION = _scalars(EvaluationRecord, {**COLUMNS["runs"], **COLUMNS["evaluations"]})
_RUN_SCHEMA = _schema(_OF_RUN, CURVES, "record_version", 4)
_EVALUATION_SCHEMA = _schema(_OF_EVALUATION, (), "evaluation_version", 2)
RUN = RecordKind(
    name="run",
    called="a run",
    suffix=SUFFIX,
    version=4,
    schema=_RUN_SCHEMA,
    unmarked=_unmarked(_RUN_SCHEMA, _RUNS_ADDED),
    record=RunRecord,
    faults=_faults_of_runs,
)
EVALUATION = RecordKind(
    name="evaluation",
    called="an evaluation",
    suffix=EVALUATIONS_SUFFIX,
    version=2,
    schema=_EVALUATION_SCHEMA,
    unmarked=_unmarked(_EVALUATION_SCHEMA, _EVALUATIONS_ADDED),
    record=EvaluationRecord,
    faults=_faults_of_evaluations,
)
KINDS: tuple[RecordKind[Any], ...] = (RUN, EVALUATION)

#: Every column of /runs in a store, in order, and those of them that are texts, but for run_id.
RUN_COLUMNS = tuple(COLUMNS["runs"])
TEXTS = tuple(name for name in RUN_COLUMNS[1:] if pa.types.is_string(COLUMNS["runs"][name].type))

_TEXT = pa.dictionary(pa.int32(), pa.string())
_BOTH = {name: kind for name, kind in (_OF_RUN | _OF_EVALUATION).items() if name != "spec"}
#: Rows of one value that are in memory once, however many there are.
CHUNK = 1 << 16
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
            found.append(_repeated(pa.nulls(min(CHUNK, count), column.type), count))
        elif isinstance(values, str):
            codes = arrow.numbers(np.zeros(min(CHUNK, count), np.int32))
            once = pa.DictionaryArray.from_arrays(codes, arrow.texts([values]))
            found.append(_repeated(once, count))
        elif isinstance(values, int | float):
            once = pa.repeat(pa.scalar(values, column.type), min(CHUNK, count))
            found.append(_repeated(once, count))
        else:
            array = pa.array(values) if isinstance(values, np.ndarray) else values
            encode = column.type == _TEXT and not pa.types.is_dictionary(array.type)
            found.append(array.dictionary_encode() if encode else array.cast(column.type))
    return pa.table(found, schema=RECORDS)


def _repeated(chunk: pa.Array, count: int) -> pa.ChunkedArray:
    """So many rows, those of a chunk again and again."""
    whole, rest = divmod(count, max(1, len(chunk)))
    return pa.chunked_array([*[chunk] * whole, chunk.slice(0, rest)], chunk.type)


def joined(tables: Iterable[pa.Table]) -> pa.Table:
    """Tables of RECORDS below each other."""
    every = pa.concat_tables([pa.Table.from_batches([], RECORDS), *tables])
    return every.unify_dictionaries()


def edited_functions(runs: pa.Table) -> str:
    """Return what to say of networks whose function was edited between runs; "" if none was.

    `runs` has the columns architecture, status and function_digest.
    """
    digests: dict[str, set[str]] = {}
    names = ("architecture", "status", "function_digest")
    for architecture, status, digest in zip(*(runs[it].to_pylist() for it in names), strict=True):
        if digest and status != "failed":
            digests.setdefault(architecture, set()).add(digest)
    several = [
        f"{name} ({len(found)} sources)" for name, found in digests.items() if len(found) > 1
    ]
    if not several:
        return ""
    return (
        "the function of some networks was edited between their runs, which may be of different "
        f"networks: {', '.join(sorted(several))}; query shows function_digest of each run"
    )


def mixed_backends(runs: pa.Table) -> str:
    """Return what to say of runs that were computed by different backends; "" where all are alike.

    `runs` has the columns status, backend, instruction_set and threads.
    """
    import pyarrow.compute as pc

    runs = runs.filter(arrow.numbers(~arrow.among(runs["status"], ["failed"])))
    columns = (runs[name].cast(pa.string()) for name in ("backend", "instruction_set", "threads"))
    together = pc.binary_join_element_wise(
        *columns, arrow.texts(["\n"])[0], null_handling="replace", null_replacement=""
    )
    counts = {
        tuple(it["values"].split("\n")): it["counts"]
        for it in pc.value_counts(together).to_pylist()
    }
    if len(counts) < 2:
        return ""
    parts = []
    for (backend, instructions, threads), count in sorted(counts.items(), key=str):
        told = counted(int(threads or 0), "thread")
        name = f"{backend} on {instructions} in {told}" if backend else "not recorded"
        parts.append(f"{name} ({counted(count, 'run')})")
    return (
        f"results of {len(counts)} numeric backends are mixed: {', '.join(parts)}. They differ in "
        "rounding, which training amplifies to as much as seeds differ; launch.backend pins one"
    )
