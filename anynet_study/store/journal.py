"""A worker's journal: an Arrow IPC stream of finished runs that only this worker writes.

Journals are the truth of a study; the HDF5 store can be rebuilt from them at any time.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import pyarrow as pa

from anynet_study.store.decoding import Columns
from anynet_study.store.frames import (
    END_OF_STREAM,
    FileBytes,
    Frame,
    Reading,
    encode,
    frames,
)
from anynet_study.store.record import RECORD_VERSION, SCHEMA, RunRecord, from_batch, to_batch
from anynet_study.store.sound import NOT_A_RUN, not_a_run, runs_of

SUFFIX = ".arrow"
#: Records are decoded in blocks of this size, so that the arrays of one block are in memory.
BLOCK_BYTES = 1 << 25


class JournalWriter:
    """Appends runs to a new journal; a run is on disk when `append` returns.

    Raises FileExistsError if there is a file at `path`: a worker never shares or goes on with a
    journal, so its name holds what makes the worker unique (job, host, process).
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("xb", buffering=0)
        self._end = 0
        self._write(SCHEMA.serialize().to_pybytes())

    def append(self, record: RunRecord) -> None:
        """Write one run and fsync. On OSError (a full disk) the journal is as it was before."""
        self._write(encode(to_batch(record), RECORD_VERSION))

    def close(self) -> None:
        """End the stream; a journal that was never closed loses nothing."""
        if not self._file.closed:
            self._write(END_OF_STREAM)
            self._file.close()

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except BaseException:
            # Half a record in the middle would be damage; the next append starts clean.
            self._file.truncate(self._end)
            self._file.seek(self._end)
            raise
        self._end += len(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@dataclass(frozen=True)
class JournalRead:
    """What a journal holds: every whole record, and what is wrong with the file, if anything."""

    records: list[RunRecord]
    problem: str | None


def journal_paths(folder: Path) -> list[Path]:
    """The journals in a folder, sorted by name; none if the folder does not exist."""
    return sorted(path for path in folder.glob(f"*{SUFFIX}") if path.is_file())


def journal_frames(path: Path, reading: Reading) -> Iterator[Frame]:
    """The whole records of a journal as it is now, in order; a worker may be writing it.

    `reading` says from where on (its `end`), and then how far it was read and what is wrong.
    Raises UserError if a newer version wrote it, OSError if it cannot be read.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        header = _end_of_header(file, size)
        reading.end = reading.end or header or 0
        yield from frames(FileBytes(file, size), RECORD_VERSION, reading)
    if size and header is None and not reading.crc32:
        reading.problems, reading.tail = [], "not a journal of runs, or ends inside its header"


def journal_blocks(path: Path, reading: Reading) -> Iterator[tuple[Sequence[Frame], Columns]]:
    """The runs of a journal, some dozen MB at a time; otherwise as `journal_frames`."""
    for block in _in_blocks(journal_frames(path, reading)):
        runs, columns = runs_of(block, reading.problems)
        reading.runs += len(runs)
        yield runs, columns


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


def read_journal(path: Path) -> JournalRead:
    """Every whole record of a journal; never an exception for what the bytes are.

    Raises UserError if a newer version wrote it, OSError if the file cannot be read.
    """
    reading = Reading()
    records: list[RunRecord] = []
    for frame in journal_frames(path, reading):
        try:
            records.append(from_batch(frame.batch(SCHEMA)))
        except NOT_A_RUN as error:
            reading.problems.append(not_a_run(frame, error))
    return JournalRead(records, reading.problem or None)


def finished_runs(folder: Path) -> dict[str, str]:
    """Status of every run in the folder's journals by run_id; a failure yields to a success.

    Raises as `journal_frames`: a run that cannot be read now must not be mistaken for a missing
    one.
    """
    finished: dict[str, str] = {}
    for path in journal_paths(folder):
        for _, columns in journal_blocks(path, Reading()):
            ids, statuses = columns.texts("run_id"), columns.texts("status")
            for run_id, status in zip(ids.to_pylist(), statuses.to_pylist(), strict=True):
                if finished.get(run_id, "failed") == "failed":
                    finished[run_id] = status
    return finished


def _end_of_header(file: BinaryIO, size: int) -> int | None:
    """Where the records begin; None if the header is not one of ours (or is damaged)."""
    source = pa.BufferReader(file.read(min(size, 1 << 16)))
    try:
        schema = pa.ipc.read_schema(source)
    except (pa.ArrowException, ValueError, OSError):
        return None
    return source.tell() if schema.equals(SCHEMA) else None
