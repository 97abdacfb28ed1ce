"""One finished run as a row: the typed record and its Arrow form."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.metrics import CURVES, Metric
from anynet_study.store.one_row import column_of_one, list_of_one

RECORD_VERSION = 3

Status = Literal["completed", "diverged", "failed"]
FailureKind = Literal["", "oom", "data", "timeout", "node", "code"]
#: The training engine; "": not known, as of all runs before there were two.
Engine = Literal["", "reference", "fast"]

#: The value of a prediction that is not there; class indices are below it.
NO_PREDICTION = 65535
#: The parts that a dataset can have in a study.
ROLES = ("source", "family", "target", "extra")

_SCALARS: tuple[tuple[str, pa.DataType], ...] = (
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
)
SCALARS = tuple(name for name, _ in _SCALARS)

SCHEMA = pa.schema(
    [pa.field(name, kind, nullable=False) for name, kind in _SCALARS]
    + [pa.field(name, pa.list_(pa.float32()), nullable=False) for name in CURVES]
    + [pa.field("predictions", pa.list_(pa.uint16()), nullable=False)],
    metadata={"anynet_study.record_version": str(RECORD_VERSION)},
)
_SECOND = SCHEMA.remove(SCHEMA.get_field_index("test_error"))
#: Of every version: the first two had no curve of the run's metric, the first no engine.
SCHEMAS = (_SECOND.remove(_SECOND.get_field_index("engine")), _SECOND, SCHEMA)


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

    def __post_init__(self) -> None:
        """Refuse what no run can have produced."""
        if not self.run_id or not self.dataset or not self.architecture:
            raise ValueError("a run needs a run_id, an architecture and a dataset")
        if not self.run_id.isalnum() or not self.run_id.isascii():
            raise ValueError(f"illegal run_id {self.run_id!r}")
        if self.status not in get_args(Status) or self.metric not in get_args(Metric):
            raise ValueError(f"illegal status {self.status!r} or metric {self.metric!r}")
        if self.engine not in get_args(Engine):
            raise ValueError(f"illegal engine {self.engine!r}")
        failed = self.status == "failed"
        if self.failure_kind not in get_args(FailureKind) or bool(self.failure_kind) != failed:
            raise ValueError(f"illegal failure kind {self.failure_kind!r} of a {self.status} run")
        if not (np.isnan(self.error) if failed else 0 <= self.error <= 100):
            raise ValueError(f"illegal error {self.error} of a {self.status} run")
        if unknown := set(self.curves) - set(CURVES):
            raise ValueError(f"unknown curves {sorted(unknown)}; legal: {', '.join(CURVES)}")
        if len({np.shape(curve) for curve in self.curves.values()}) > 1:
            raise ValueError("the curves of one run must have one length")
        classes = np.asarray(self.predictions)
        if classes.size and (classes.min() < 0 or classes.max() >= NO_PREDICTION):
            raise ValueError(f"predictions must be class indices in 0..{NO_PREDICTION - 1}")

    @property
    def epochs(self) -> int:
        """Number of epochs that the curves cover."""
        return max((len(curve) for curve in self.curves.values()), default=0)


def to_batch(record: RunRecord) -> pa.RecordBatch:
    """The record as an Arrow batch of one row of SCHEMA."""
    row = scalar_columns(record, _SCALARS)
    missing = np.full(record.epochs, np.nan, np.float32)
    curves = (record.curves.get(name, missing) for name in CURVES)
    row.extend(list_of_one(np.asarray(curve, np.float32)) for curve in curves)
    row.append(list_of_one(np.asarray(record.predictions).astype(np.uint16)))
    return pa.record_batch(row, schema=SCHEMA)


def from_batch(batch: pa.RecordBatch) -> RunRecord:
    """The record in a batch of one row. Raises ValueError if it contradicts itself."""
    return RunRecord(
        **batch.select(SCALARS).to_pylist()[0],
        curves={name: batch[name][0].values.to_numpy() for name in CURVES},
        predictions=batch["predictions"][0].values.to_numpy(),
    )


def scalar_columns(record: object, scalars: Iterable[tuple[str, pa.DataType]]) -> list[pa.Array]:
    """Of each named attribute of a record a column of one row."""
    values = ((getattr(record, name), kind) for name, kind in scalars)
    return [
        column_of_one(storable(value) if isinstance(value, str) else value, kind)
        for value, kind in values
    ]


def storable(text: str) -> str:
    """The text as HDF5 can hold it."""
    # A message may quote raw bytes; neither lone surrogates nor NUL fit an HDF5 string.
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
