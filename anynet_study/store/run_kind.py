"""Runs as the records of a journal."""

from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.metrics import CURVES, Metric
from anynet_study.store.decoding import Columns
from anynet_study.store.kind import SUFFIX, RecordKind
from anynet_study.store.record import (
    NO_PREDICTION,
    SCHEMA,
    SCHEMAS,
    Engine,
    FailureKind,
    Status,
    from_batch,
    to_batch,
)

_LEGAL = {"status": Status, "metric": Metric, "failure_kind": FailureKind, "engine": Engine}


def suspects(columns: Columns) -> NDArray[np.int64]:
    """The rows, ascending, that `record.RunRecord` may refuse; it takes all the others.

    Raises OddFrameError where a text is not UTF-8.
    """
    check_texts(columns, SCHEMA)
    failed = mask(pc.equal(columns.texts("status"), "failed"))
    error, epochs = columns.numbers("error"), columns.lengths(CURVES[0])
    bad = ~mask(pc.ascii_is_alnum(columns.texts("run_id")))
    for name, legal in _LEGAL.items():
        bad |= ~mask(pc.is_in(columns.texts(name), pa.array(get_args(legal))))
    bad |= (columns.lengths("architecture") == 0) | (columns.lengths("dataset") == 0)
    bad |= (columns.lengths("failure_kind") > 0) != failed
    bad |= ~np.where(failed, np.isnan(error), (error >= 0) & (error <= 100))
    for name in CURVES:
        bad |= columns.lengths(name) != epochs
    return np.flatnonzero(bad | no_class(columns))


def check_texts(columns: Columns, schema: pa.Schema) -> None:
    """Raises OddFrameError where a text is not UTF-8."""
    for field in schema:
        if pa.types.is_string(field.type):
            columns.texts(field.name)


def mask(values: pa.Array) -> NDArray[np.bool_]:
    """Truths as NumPy has them."""
    return np.asarray(values.to_numpy(zero_copy_only=False), np.bool_)


def no_class(columns: Columns) -> NDArray[np.bool_]:
    """Whether one of a row's predictions is none."""
    ends = np.cumsum(columns.lengths("predictions"))
    places = np.flatnonzero(columns.values("predictions") == NO_PREDICTION)
    found = np.zeros(len(columns), np.bool_)
    found[np.searchsorted(ends, places, side="right")] = True
    return found


RUN = RecordKind("a run", SUFFIX, SCHEMAS, to_batch, from_batch, suspects)
