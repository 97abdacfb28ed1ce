"""Reading the journals of a study again and again: each record once."""

import math
import time
from array import array
from pathlib import Path
from sys import intern
from typing import Any

from anynet_study.dispatch.progress.throughput import Pace
from anynet_study.dispatch.recorded import Failure, Recorded
from anynet_study.store import read_journals

NOTED = ("run_id", "status", "device", "started", "seconds")
COLUMNS = (*NOTED, "record_kind", "failure_kind", "host", "evaluation_id", "journal", "end")


class JournalReader:
    """What the journals in a folder hold; each look reads only what was written since the last.

    Raises as `store.finished_runs`.
    """

    def __init__(self, journals: Path) -> None:
        self._folder = journals
        #: How far each journal was read, in bytes.
        self._read: dict[str, int] = {}
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
        new = read_journals(self._folder, after=self._read).select(COLUMNS).to_pylist()
        for row in new:
            self._read[row["journal"]] = row["end"]
            if row["record_kind"] == "run":
                self._note_run(row)
            else:
                self._evaluations.add((row["run_id"], row["evaluation_id"]))
                worker = _worker(row["journal"])
                self._evaluating[worker] = self._evaluating.get(worker, 0.0) + row["seconds"]
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

    def _note_run(self, row: dict[str, Any]) -> None:
        run_id, status, device, started, seconds = (row[name] for name in NOTED)
        if self._runs.get(run_id, "failed") == "failed":
            self._runs[run_id] = intern(status)  # of a million runs, a few texts
        if status == "failed":
            failures = self._failures.setdefault(run_id, [])
            failures.append(Failure(row["failure_kind"], row["host"], started + seconds))
            failures.sort(key=lambda failure: failure.ended)
        self.spent[device] = self.spent.get(device, 0.0) + seconds
        self._devices[_worker(row["journal"])] = device
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


def _worker(journal: str) -> str:
    """The host and process that wrote a journal, by `StudyFolder.new_journal`."""
    return journal.rpartition("-")[0]
