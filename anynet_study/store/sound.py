"""Frames to runs: what is whole on disk, but is no run, is found and said."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.store.decoding import Columns, OddFrameError
from anynet_study.store.frames import Frame, encode
from anynet_study.store.record import (
    CURVES,
    NO_PREDICTION,
    RECORD_VERSION,
    SCHEMA,
    FailureKind,
    Metric,
    Status,
    from_batch,
)

_TEXTS = [field.name for field in SCHEMA if pa.types.is_string(field.type)]
#: What is raised for bytes that are not a run.
NOT_A_RUN = (pa.ArrowException, ValueError, OSError)


def runs_of(frames: Sequence[Frame], problems: list[str]) -> tuple[Sequence[Frame], Columns]:
    """The frames that are runs, and their columns; `problems` says which are none."""
    try:
        columns = Columns([frame.message for frame in frames])
        suspected = suspects(columns)
    except OddFrameError:  # of one or a few: Arrow reads all of them, and they are written anew
        frames = list(_rewritten(frames, problems))
        columns = Columns([frame.message for frame in frames])
        suspected = suspects(columns)
    refused = {row for row in suspected.tolist() if _refused(frames[row], problems)}
    if refused:
        frames = [frame for row, frame in enumerate(frames) if row not in refused]
        columns = Columns([frame.message for frame in frames])
    return frames, columns


def _rewritten(frames: Sequence[Frame], problems: list[str]) -> Iterator[Frame]:
    for frame in frames:
        try:
            yield replace(frame, message=encode(frame.batch(SCHEMA), RECORD_VERSION))
        except NOT_A_RUN as error:
            problems.append(not_a_run(frame, error))


def _refused(frame: Frame, problems: list[str]) -> bool:
    try:
        from_batch(frame.batch(SCHEMA))
    except NOT_A_RUN as error:
        problems.append(not_a_run(frame, error))
        return True
    return False


def not_a_run(frame: Frame, error: Exception) -> str:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return f"the record at byte {frame.offset} is not a run: {reason}"


def suspects(columns: Columns) -> NDArray[np.int64]:
    """The rows, ascending, that `record.RunRecord` may refuse; it takes all the others.

    Raises OddFrameError where a text is not UTF-8.
    """
    for name in _TEXTS:
        columns.texts(name)
    failed = _mask(pc.equal(columns.texts("status"), "failed"))
    error, epochs = columns.numbers("error"), columns.lengths(CURVES[0])
    bad = ~_mask(pc.ascii_is_alnum(columns.texts("run_id")))
    for name, legal in (("status", Status), ("metric", Metric), ("failure_kind", FailureKind)):
        bad |= ~_mask(pc.is_in(columns.texts(name), pa.array(get_args(legal))))
    bad |= (columns.lengths("architecture") == 0) | (columns.lengths("dataset") == 0)
    bad |= (columns.lengths("failure_kind") > 0) != failed
    bad |= ~np.where(failed, np.isnan(error), (error >= 0) & (error <= 100))
    for name in CURVES:
        bad |= columns.lengths(name) != epochs
    return np.flatnonzero(bad | _no_class(columns))


def _mask(values: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(values.to_numpy(zero_copy_only=False), np.bool_)


def _no_class(columns: Columns) -> NDArray[np.bool_]:
    """Whether one of a row's predictions is none."""
    ends = np.cumsum(columns.lengths("predictions"))
    places = np.flatnonzero(columns.values("predictions") == NO_PREDICTION)
    found = np.zeros(len(columns), np.bool_)
    found[np.searchsorted(ends, places, side="right")] = True
    return found
