"""One run evaluated on a further test set, as a row: the typed record and its Arrow form."""

import math
import re
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.store.decoding import Columns
from anynet_study.store.kind import EVALUATIONS_SUFFIX, RecordKind
from anynet_study.store.one_row import list_of_one
from anynet_study.store.record import NO_PREDICTION, scalar_columns
from anynet_study.store.run_kind import check_texts, mask, no_class

EVALUATION_RECORD_VERSION = 2

_SCALARS: tuple[tuple[str, pa.DataType], ...] = (
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
SCALARS = tuple(name for name, _ in _SCALARS)

SCHEMA = pa.schema(
    [pa.field(name, kind, nullable=False) for name, kind in _SCALARS]
    + [pa.field("predictions", pa.list_(pa.uint16()), nullable=False)],
    metadata={"anynet_study.evaluation_version": str(EVALUATION_RECORD_VERSION)},
)

#: Of every version: the first had no error on the run's metric.
SCHEMAS = (SCHEMA.remove(SCHEMA.get_field_index("error")), SCHEMA)

_ID = "[0-9a-f]{16}"
#: What tables call the test set of the run itself.
OWN_TEST_SET = "test"


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
    #: Predicted class of every test image in test order, shape (images,); of several classes an
    #: image its words (`metrics.label_words`); empty if not kept.
    predictions: NDArray[np.uint16] = field(default_factory=lambda: np.empty(0, np.uint16))
    #: Duration, and when it began in seconds since 1970 (UTC).
    seconds: float
    started: float
    host: str

    def __post_init__(self) -> None:
        """Refuse what no evaluation can have given."""
        if not self.run_id.isalnum() or not self.run_id.isascii():
            raise ValueError(f"illegal run_id {self.run_id!r}")
        if self.evaluation in ("", OWN_TEST_SET) or not self.identity:
            raise ValueError(f"an evaluation needs an identity, and a name but {OWN_TEST_SET}")
        if not re.fullmatch(_ID, self.evaluation_id):
            raise ValueError(f"illegal evaluation_id {self.evaluation_id!r}")
        if self.images < 1:
            raise ValueError(f"illegal number of images {self.images}")
        if not (0 <= self.top1 <= 100 and 0 <= self.top5 <= 100):
            raise ValueError(f"illegal errors {self.top1}, {self.top5}")
        if not (math.isnan(self.error) or 0 <= self.error <= 100):
            raise ValueError(f"illegal error {self.error}")
        classes = np.asarray(self.predictions)
        if classes.size and (classes.min() < 0 or classes.max() >= NO_PREDICTION):
            raise ValueError(f"predictions must be class indices in 0..{NO_PREDICTION - 1}")
        if classes.ndim != 1 or len(classes) % self.images:
            raise ValueError(f"predictions {classes.shape} on {self.images} images")


def to_batch(record: EvaluationRecord) -> pa.RecordBatch:
    """The record as an Arrow batch of one row of SCHEMA."""
    row = scalar_columns(record, _SCALARS)
    row.append(list_of_one(np.asarray(record.predictions).astype(np.uint16)))
    return pa.record_batch(row, schema=SCHEMA)


def from_batch(batch: pa.RecordBatch) -> EvaluationRecord:
    """The record in a batch of one row. Raises ValueError if it contradicts itself."""
    predictions = batch["predictions"][0].values.to_numpy()
    return EvaluationRecord(**batch.select(SCALARS).to_pylist()[0], predictions=predictions)


def suspects(columns: Columns) -> NDArray[np.int64]:
    """The rows, ascending, that `EvaluationRecord` may refuse; it takes all the others.

    Raises OddFrameError where a text is not UTF-8.
    """
    check_texts(columns, SCHEMA)
    bad = ~mask(pc.ascii_is_alnum(columns.texts("run_id")))
    names = pa.array(["", OWN_TEST_SET])
    bad |= mask(pc.is_in(columns.texts("evaluation"), names)) | (columns.lengths("identity") == 0)
    bad |= ~mask(pc.match_substring_regex(columns.texts("evaluation_id"), rf"\A{_ID}\z"))
    images, predicted = columns.numbers("images"), columns.lengths("predictions")
    bad |= (images < 1) | (predicted % np.maximum(images, 1) != 0)
    for name in ("top1", "top5"):
        error = columns.numbers(name)
        bad |= ~((error >= 0) & (error <= 100))
    error = columns.numbers("error")
    bad |= (error < 0) | (error > 100)
    return np.flatnonzero(bad | no_class(columns))


EVALUATION = RecordKind(
    "an evaluation", EVALUATIONS_SUFFIX, SCHEMAS, to_batch, from_batch, suspects
)
