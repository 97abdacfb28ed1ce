"""A worker's journals: Arrow IPC streams of finished work that only this worker writes.

One of runs, and one of evaluations of runs. Journals are the truth of a study; the HDF5 store can
be rebuilt from them at any time. They can be read while they are being written.
"""

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader
from itertools import groupby, islice
from pathlib import Path
from typing import Any, ClassVar, Generic, Self

import numpy as np
import pyarrow as pa

from anynet_study.core import arrow
from anynet_study.core.errors import UserError, first_line
from anynet_study.core.files import open_regular, sync_folder
from anynet_study.core.metrics import CURVES
from anynet_study.store.frames import END_OF_STREAM, MAX_METADATA, Frame, Journal, decode, encode
from anynet_study.store.records import (
    EVALUATION,
    KINDS,
    RECORDS,
    RUN,
    EvaluationRecord,
    Record,
    RecordKind,
    RunRecord,
    joined,
    lengths_of,
    records_table,
)
from anynet_study.store.run_arrays import RunArrays

#: A journal in which as many bytes were never written is read up to the first of them.
MOST_HOLES = 64 << 20
#: So many bytes are read at a time to tell whether they are the same.
TOLD_BYTES = 1 << 20
#: So many records are decoded at a time.
TOGETHER = 256


class _Writer(Generic[Record]):
    """Appends records to a new journal; a record is on disk when `append` returns."""

    _kind: ClassVar[RecordKind[Any]]

    def __init__(self, path: Path) -> None:
        """Raises FileExistsError if there is a file at `path`, ValueError for another ending.

        A worker never shares or goes on with a journal, so its name holds what makes the worker
        unique (job, host, process).
        """
        if not self._kind.owns(path):
            raise ValueError(f"{path}: names of such journals end with {self._kind.suffix}")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("xb", buffering=0)
        self._end = 0
        self._write(self._kind.schema.serialize().to_pybytes())
        sync_folder(path.parent)

    def append(self, record: Record) -> None:
        """Write one record and fsync. On OSError (a full disk) the journal is as it was before."""
        self._write(encode(self._kind.to_batch(record), self._kind.version))

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

    def __exit__(self, *_: object) -> None:
        self.close()


class JournalWriter(_Writer[RunRecord]):
    """Appends runs to a new journal, `*.arrow`."""

    _kind = RUN


class EvaluationWriter(_Writer[EvaluationRecord]):
    """Appends evaluations of runs to a new journal, `*.evaluations.arrow`."""

    _kind = EVALUATION


@dataclass(frozen=True)
class JournalRead(Generic[Record]):
    """The contents of a journal: every whole record, and what is wrong with the file, if any."""

    records: list[Record]
    problem: str | None


@dataclass(frozen=True)
class Mark:
    """Up to where a journal was read, and by what it is told whether it is still the same."""

    #: Where its last record ends, in bytes; 0 if it had none.
    end: int
    #: CRC-32 of all bytes before.
    crc32: int

    def fits(self, path: Path) -> bool:
        """Tell whether a journal still begins with the bytes that were read.

        Raises OSError if it cannot be read.
        """
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size < self.end:
                return False
            crc = 0
            for begin in range(0, self.end, TOLD_BYTES):
                crc = zlib.crc32(file.read(min(TOLD_BYTES, self.end - begin)), crc)
        return crc == self.crc32


def journals_in(folder: Path) -> list[Path]:
    """The journals of runs in a folder, sorted by name; OSError where it cannot be listed."""
    return RUN.paths(folder)


def read_journal(path: Path, last: int = 0) -> JournalRead[RunRecord]:
    """Every whole record of a journal of runs; damaged bytes never raise an exception.

    `last`: only so many, the last ones; 0: all. Records of every earlier version are read, too.
    Raises UserError if a newer version wrote it,
    OSError if the file cannot be read.
    """
    return _read(RUN, path, last)


def run_batches(path: Path, start: int = 0) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The whole records of a journal of runs from byte `start` on, some at a time, as columns.

    With all of their arrays; and where in the file the last of them ends. What is no record is
    skipped. Raises as `read_journal`.
    """
    for frames, batch in _blocks(RUN, path, start, []):
        yield batch, frames[-1].end


def read_evaluations(path: Path) -> JournalRead[EvaluationRecord]:
    """Every whole record of a journal of evaluations; otherwise as `read_journal`."""
    return _read(EVALUATION, path)


def _read(kind: RecordKind[Record], path: Path, last: int = 0) -> JournalRead[Record]:
    problems: list[str] = []
    blocks = list(_blocks(kind, path, 0, problems))
    places = [(batch, row) for _, batch in blocks for row in range(len(batch))][-last:]
    records = [kind.from_batch(batch.slice(row, 1)) for batch, row in places]
    return JournalRead(records, "; ".join(problems) or None)


def read_journals(
    journals: Path | Iterable[Path],
    after: Mapping[str, int] | None = None,
    problems: dict[str, str] | None = None,
    arrays: RunArrays | None = None,
    marks: dict[str, Mark] | None = None,
) -> pa.Table:
    """Every whole record of a folder of journals (or of some journals) as a table of RECORDS.

    Runs first, then evaluations; within these by journal, and as they lie there. `after` says for
    some journals (by name) from which byte on they are read: the largest `end` of an earlier
    call, whose records are then left out. In `problems`, journals of which something was skipped
    (a torn tail, damage, what is no record) get a line that says what. To `arrays` the arrays of
    every record are added, in the order of the table; else they stay on disk. To `marks`, the mark
    of every journal that is read from its beginning.

    Raises UserError if a newer version wrote a journal, and OSError if one cannot be read: what
    cannot be read now must not be mistaken for work that is missing.
    """
    some = journals if isinstance(journals, Path) else list(journals)
    found: list[pa.Table] = []
    for kind in KINDS:
        paths = kind.paths(some) if isinstance(some, Path) else filter(kind.owns, some)
        for path in paths:
            wrong: list[str] = []
            start = (after or {}).get(path.name, 0)
            for records, batch in _blocks(kind, path, start, wrong, marks):
                found.append(_summary(kind, path, records, batch))
                if arrays is not None:
                    arrays.append_rows(batch)
            if wrong and problems is not None:
                problems[path.name] = "; ".join(wrong)
    return joined(found)


def _summary(
    kind: RecordKind[Any], path: Path, records: Sequence[Frame], batch: pa.RecordBatch
) -> pa.Table:
    """The rows of RECORDS of these records."""
    columns: dict[str, Any] = {
        name: batch[name] for name in batch.schema.names if name in RECORDS.names
    }
    counts = {
        "predicted": lengths_of(batch["predictions"]),
        "offset": np.array([frame.offset for frame in records], np.int64),
        "end": np.array([frame.end for frame in records], np.int64),
    }
    if kind is RUN:
        counts |= {"spec_bytes": lengths_of(batch["spec"]), "epochs": lengths_of(batch[CURVES[0]])}
    columns |= {name: arrow.numbers(values) for name, values in counts.items()}
    named = {"record_kind": kind.name, "journal": path.name}
    return records_table(columns | named, len(batch))


def _blocks(
    kind: RecordKind[Any],
    path: Path,
    start: int,
    problems: list[str],
    marks: dict[str, Mark] | None = None,
) -> Iterator[tuple[Sequence[Frame], pa.RecordBatch]]:
    """The records of a journal as it is now, some at a time."""
    damaged: list[str] = []
    with open_regular(path) as file:
        header = _Header.of(kind, path, file.read(MAX_METADATA))
        end = _written_end(file, start, damaged)
        file.seek(start)
        data = file.read(end - start)
    last = 0
    frames = Journal(str(path), data, kind.version, start).frames(
        0 if start else header.end, damaged
    )
    for wrote, alike in groupby(frames, key=lambda frame: (frame.version, frame.schema)):
        schema = header.schema_of(*wrote)
        while block := list(islice(alike, TOGETHER)):
            last = block[-1].end
            yield from _records(kind, block, schema, problems)
    if data and not header.schema and not start and not last:
        damaged = [f"not a journal of {kind.name}s, or ends inside its header"]
    problems += damaged
    if marks is not None and not start:
        marks[path.name] = Mark(last, zlib.crc32(memoryview(data)[:last]))


def _written_end(file: BufferedReader, start: int, problems: list[str]) -> int:
    """Up to where a journal is read: its end, or a large hole, in which nothing was ever written.

    Holes read as zeros, and take no room on the disk: of a few bytes somebody makes gigabytes.
    """
    found = os.fstat(file.fileno())
    if found.st_size - 512 * found.st_blocks < MOST_HOLES or found.st_size <= start:
        return found.st_size
    end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
    if end < found.st_size:
        problems.append(
            f"damaged from byte {end}: nothing was written from there to some later byte"
        )
    return end


@dataclass(frozen=True)
class _Header:
    """The beginning of a journal: with the schema of its records."""

    kind: RecordKind[Any]
    #: None if the header is damaged, or no schema.
    schema: pa.Schema | None
    checksum: int
    #: Where the records begin.
    end: int

    @classmethod
    def of(cls, kind: RecordKind[Any], path: Path, data: bytes) -> Self:
        """Raises UserError for a journal of records of another kind."""
        source = pa.BufferReader(data)
        try:
            schema = pa.ipc.read_schema(source)
        except (pa.ArrowException, ValueError, OSError):
            return cls(kind, None, 0, 0)
        end = source.tell()
        for other in KINDS:
            if other is not kind and set(other.schema.metadata) & set(schema.metadata or {}):
                raise UserError(f"{path}: a journal of {other.name}s by its content: misnamed")
        if not set(kind.schema.metadata) & set(schema.metadata or {}):
            return cls(kind, None, 0, 0)
        return cls(kind, schema, zlib.crc32(data[:end]), end)

    def schema_of(self, version: int, checksum: int | None) -> pa.Schema | None:
        """The schema by which frames of a version were written; None if it is lost."""
        if checksum is None:
            return self.kind.unmarked.get(version)
        if checksum == self.checksum:
            return self.schema
        mine = self.kind.schema
        return mine if checksum == zlib.crc32(mine.serialize().to_pybytes()) else None


def _records(
    kind: RecordKind[Any], found: Sequence[Frame], schema: pa.Schema | None, problems: list[str]
) -> Iterator[tuple[Sequence[Frame], pa.RecordBatch]]:
    """The frames that are records of a kind; those that are not are added to `problems`."""
    if schema is None:
        problems.append(f"the header is damaged that says which columns {len(found)} records have")
        return
    try:
        written = decode([frame.message for frame in found], schema)
        batch = kind.conformed(written)
        reasons = kind.refusals(batch)
    except (pa.ArrowException, ValueError, OSError) as error:
        if len(found) > 1:  # one or a few of them are damaged
            for frame in found:
                yield from _records(kind, [frame], schema, problems)
            return
        reasons = np.array([first_line(error)], object)
    for frame, reason in zip(found, reasons, strict=True):
        if reason:
            problems.append(f"the record at byte {frame.offset} is not {kind.called}: {reason}")
    if unknown := [name for name in schema.names if name not in kind.schema.names]:
        said = f"left out columns that this anynet-study does not know: {', '.join(unknown)}"
        problems += [said] * (said not in problems)
    good = reasons == ""
    if good.all():
        yield found, batch
    elif good.any():
        kept = [frame for frame, legal in zip(found, good, strict=True) if legal]
        yield kept, batch.filter(pa.array(good))
