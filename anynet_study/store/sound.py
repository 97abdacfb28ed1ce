"""Frames to records: what is whole on disk, but is none, is found and said."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from anynet_study.store.decoding import Columns, OddFrameError
from anynet_study.store.frames import Frame, encode
from anynet_study.store.kind import RecordKind

#: What is raised for bytes that are no record.
NO_RECORD = (pa.ArrowException, ValueError, OSError)


def records_of(
    kind: RecordKind[Any], frames: Sequence[Frame], problems: list[str]
) -> tuple[Sequence[Frame], Columns]:
    """The frames that are records of a kind, and their columns; `problems` says which are none."""
    try:
        columns = Columns(kind, [frame.message for frame in frames])
        suspected = kind.suspects(columns)
    except OddFrameError:  # of one or a few: Arrow reads all of them, and they are written anew
        frames = list(_rewritten(kind, frames, problems))
        columns = Columns(kind, [frame.message for frame in frames])
        suspected = kind.suspects(columns)
    refused = {row for row in suspected.tolist() if _refused(kind, frames[row], problems)}
    if refused:
        frames = [frame for row, frame in enumerate(frames) if row not in refused]
        columns = Columns(kind, [frame.message for frame in frames])
    return frames, columns


def _rewritten(
    kind: RecordKind[Any], frames: Sequence[Frame], problems: list[str]
) -> Iterator[Frame]:
    for frame in frames:
        try:
            message = encode(frame.batch(kind), kind.version)
            yield replace(frame, message=message, version=kind.version)
        except NO_RECORD as error:
            problems.append(no_record(kind, frame, error))


def _refused(kind: RecordKind[Any], frame: Frame, problems: list[str]) -> bool:
    try:
        kind.from_batch(frame.batch(kind))
    except NO_RECORD as error:
        problems.append(no_record(kind, frame, error))
        return True
    return False


def no_record(kind: RecordKind[Any], frame: Frame, error: Exception) -> str:
    """One line about a frame that is no record of its kind."""
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return f"the record at byte {frame.offset} is not {kind.name}: {reason}"
