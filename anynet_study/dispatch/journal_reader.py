"""Reading the journals of a study again and again: each record once."""

import math
import time
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any

from anynet_study.dispatch.progress.throughput import Pace
from anynet_study.dispatch.recorded import Failure, Recorded
from anynet_study.store.decoding import Columns
from anynet_study.store.frames import Reading
from anynet_study.store.journal import journal_blocks
from anynet_study.store.records import EVALUATION, RUN, RecordKind

TEXTS = ("run_id", "status", "failure_kind", "host", "device")


@dataclass
class _Read:
    """How far a journal was read, and how long it was then."""

    reading: Reading = field(default_factory=Reading)
    size: int = 0


class JournalReader:
    """What the journals in a folder hold; each look reads only what was written since the last.

    Raises as `store.finished_runs`.
    """

    def __init__(self, journals: Path) -> None:
        self._folder = journals
        self._read: dict[Path, _Read] = {}
        self._runs: dict[str, str] = {}
        self._evaluations: set[tuple[str, str]] = set()
        self._failures: dict[str, list[Failure]] = {}
        self._recorded: Recorded | None = None
        self._next = 0.0
        #: Seconds that recorded tries of runs took, by device: `cpu`, or the GPU's name.
        self.spent: dict[str, float] = {}
        #: Seconds that further evaluations took, by worker; and the device of each worker.
        self._evaluating: dict[str, float] = {}
        self._devices: dict[str, str] = {}
        #: How many records of runs there are.
        self.records = 0
        #: When each recorded run ended, in no order (seconds since 1970).
        self.ended = array("d")
        #: When the first of them began.
        self.began = math.inf

    def read(self) -> Recorded:
        """All that is recorded by now. What an earlier call gave grows with it."""
        for path in self._grown(RUN):
            for _, columns in journal_blocks(RUN, path, self._read[path].reading):
                self._note_runs(columns, _worker(path))
        for path in self._grown(EVALUATION):
            for _, columns in journal_blocks(EVALUATION, path, self._read[path].reading):
                ids = (columns.texts(name).to_pylist() for name in ("run_id", "evaluation_id"))
                self._evaluations.update(zip(*ids, strict=True))
                worker, seconds = _worker(path), float(columns.numbers("seconds").sum())
                self._evaluating[worker] = self._evaluating.get(worker, 0.0) + seconds
        self._recorded = Recorded(self._runs, self._evaluations, self._failures)
        return self._recorded

    def look(self, share: float) -> Recorded:
        """As `read`, but nothing new where reading would take more than a `share` of the time."""
        began = time.monotonic()
        if self._recorded is not None and began < self._next:
            return self._recorded
        recorded = self.read()
        now = time.monotonic()
        self._next = now + (now - began) / share
        return recorded

    def _grown(self, kind: RecordKind[Any]) -> list[Path]:
        """The journals of a kind that are longer than when they were read."""
        grown = []
        for path in kind.paths(self._folder):
            size, known = path.stat().st_size, self._read.setdefault(path, _Read())
            if size != known.size:
                known.size = size
                known.reading.tail = ""
                grown.append(path)
        return grown

    def _note_runs(self, columns: Columns, worker: str) -> None:
        texts = [columns.texts(name).to_pylist() for name in TEXTS]
        numbers = [columns.numbers(name).tolist() for name in ("started", "seconds")]
        for run_id, status, kind, host, device, started, seconds in zip(
            *texts, *numbers, strict=True
        ):
            if self._runs.get(run_id, "failed") == "failed":
                self._runs[run_id] = intern(status)  # of a million runs, a few texts
            if status == "failed":
                failures = self._failures.setdefault(run_id, [])
                failures.append(Failure(kind, host, started + seconds))
                failures.sort(key=lambda failure: failure.ended)
            self.spent[device] = self.spent.get(device, 0.0) + seconds
            self._devices[worker] = device
            self.records += 1
            if seconds > 0:  # not of a worker's death, recorded by others
                self.ended.append(started + seconds)
                self.began = min(self.began, started)

    def pace(self) -> Pace:
        """How fast runs ended that are recorded by now, and what they took.

        Records of evaluations name no device: it is that of their worker's runs, or where it has
        none, as with weights that were kept, the study's most used one.
        """
        spent = dict(self.spent)
        usual = max(spent, key=spent.__getitem__, default="cpu")
        for worker, seconds in self._evaluating.items():
            device = self._devices.get(worker, usual)
            spent[device] = spent.get(device, 0.0) + seconds
        return Pace(self.ended, self.began, spent)


def _worker(journal: Path) -> str:
    """The host and process that wrote a journal, by `StudyFolder.new_journal`."""
    return journal.name.rpartition("-")[0]
