"""Reading workers' journals, also while they are being written."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import Any, BinaryIO, Generic, TypeVar

import pyarrow as pa

from anynet_study.store.decoding import Columns
from anynet_study.store.evaluations.record import EVALUATION, EvaluationRecord
from anynet_study.store.frames import FileBytes, Frame, Reading, frames
from anynet_study.store.kind import RecordKind
from anynet_study.store.record import RunRecord
from anynet_study.store.run_kind import RUN
from anynet_study.store.sound import NO_RECORD, no_record, records_of

T = TypeVar("T")

#: Records are decoded in blocks of this size, so that the arrays of one block are in memory.
BLOCK_BYTES = 1 << 25


@dataclass(frozen=True)
class JournalRead(Generic[T]):
    """What a journal holds: every whole record, and what is wrong with the file, if anything."""

    records: list[T]
    problem: str | None


def journal_frames(kind: RecordKind[Any], path: Path, reading: Reading) -> Iterator[Frame]:
    """The whole records of a journal as it is now, in order; a worker may be writing it.

    `reading` says from where on (its `end`), and then how far it was read and what is wrong.
    Raises UserError if a newer version wrote it, OSError if it cannot be read.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        header = _end_of_header(kind, file, size)
        reading.end = reading.end or header or 0
        yield from frames(FileBytes(file, size), kind.version, reading)
    if size and header is None and not reading.crc32:
        whose = f"not a journal of {kind.name.split()[-1]}s"
        reading.problems, reading.tail = [], f"{whose}, or ends inside its header"


def journal_blocks(
    kind: RecordKind[Any], path: Path, reading: Reading
) -> Iterator[tuple[Sequence[Frame], Columns]]:
    """The records of a journal, some dozen MB at a time; otherwise as `journal_frames`."""
    for block in _in_blocks(journal_frames(kind, path, reading)):
        records, columns = records_of(kind, block, reading.problems)
        reading.records += len(records)
        yield records, columns


def _in_blocks(records: Iterator[Frame]) -> Iterator[list[Frame]]:
    """Frames that are together near BLOCK_BYTES long."""
    block: list[Frame] = []
    held = 0
    for frame in records:
        block.append(frame)
        held += len(frame.message)
        if held > BLOCK_BYTES:
            yield block
            block, held = [], 0
    if block:
        yield block


def read_journal(path: Path) -> JournalRead[RunRecord]:
    """Every whole record of a journal of runs; never an exception for what the bytes are.

    Raises UserError if a newer version wrote it, OSError if the file cannot be read.
    """
    return _read(RUN, path)


def read_evaluations(path: Path) -> JournalRead[EvaluationRecord]:
    """Every whole record of a journal of evaluations; otherwise as `read_journal`."""
    return _read(EVALUATION, path)


def _read(kind: RecordKind[T], path: Path) -> JournalRead[T]:
    reading = Reading()
    records: list[T] = []
    for frame in journal_frames(kind, path, reading):
        try:
            records.append(kind.from_batch(frame.batch(kind)))
        except NO_RECORD as error:
            reading.problems.append(no_record(kind, frame, error))
    return JournalRead(records, reading.problem or None)


def finished_runs(folder: Path) -> dict[str, str]:
    """Status of every run in the folder's journals by run_id; a failure yields to a success.

    Raises as `journal_frames`: a run that cannot be read now must not be mistaken for a missing
    one.
    """
    finished: dict[str, str] = {}
    for path in RUN.paths(folder):
        for _, columns in journal_blocks(RUN, path, Reading()):
            ids, statuses = columns.texts("run_id"), columns.texts("status")
            for run_id, status in zip(ids.to_pylist(), statuses.to_pylist(), strict=True):
                if finished.get(run_id, "failed") == "failed":
                    finished[run_id] = intern(status)  # of a million runs, a few texts
    return finished


def finished_evaluations(folder: Path) -> set[tuple[str, str]]:
    """(run_id, evaluation_id) of every evaluation in the folder's journals.

    Raises as `finished_runs`.
    """
    finished: set[tuple[str, str]] = set()
    for path in EVALUATION.paths(folder):
        for _, columns in journal_blocks(EVALUATION, path, Reading()):
            ids = (columns.texts(name).to_pylist() for name in ("run_id", "evaluation_id"))
            finished.update(zip(*ids, strict=True))
    return finished


def _end_of_header(kind: RecordKind[Any], file: BinaryIO, size: int) -> int | None:
    """Where the records begin; None if the header is not one of ours (or is damaged)."""
    source = pa.BufferReader(file.read(min(size, 1 << 16)))
    try:
        schema = pa.ipc.read_schema(source)
    except (pa.ArrowException, ValueError, OSError):
        return None
    return source.tell() if any(map(schema.equals, kind.schemas)) else None
