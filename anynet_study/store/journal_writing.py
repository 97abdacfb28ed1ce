"""A worker's journals: Arrow IPC streams of finished work that only this worker writes.

One of runs, and one of evaluations of runs. Journals are the truth of a study; the HDF5 store can
be rebuilt from them at any time.
"""

import os
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from anynet_study.store.evaluations.record import EVALUATION, EvaluationRecord
from anynet_study.store.frames import END_OF_STREAM, encode
from anynet_study.store.kind import RecordKind
from anynet_study.store.record import RunRecord
from anynet_study.store.run_kind import RUN

T = TypeVar("T")


class _Writer(Generic[T]):
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

    def append(self, record: T) -> None:
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
