"""What the journals of a study hold: which runs are recorded, how they ended and how fast."""

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anynet_study.core import arrow
from anynet_study.core.errors import UserError
from anynet_study.engine.dispatch.worker_state import SILENT
from anynet_study.engine.planning import Plan, PlannedRun
from anynet_study.store import (
    OnlyInStore,
    collected_records,
    is_torn,
    only_in_store,
    read_journals,
)

#: What is kept of each record, to tell how fast runs end and to predict the length of others.
KEPT = (
    *("run_id", "status", "error", "evaluation_id"),
    *("device", "engine", "journal", "seconds", "started"),
    *("backend", "instruction_set", "threads"),
)
#: What else is read of each record.
NOTED = ("failure_kind", "host", "message")
HOUR = 3600.0
#: A look is no older than so many seconds, or a claim would be taken that its worker has removed.
OLDEST_LOOK = SILENT / 3
#: Rows that are Python's objects at a time.
BATCH = 10_000


@dataclass(frozen=True, slots=True)
class Failure:
    """One attempt at a run that was recorded as failed."""

    #: oom, data, timeout, node or code.
    kind: str
    host: str
    #: Seconds since 1970.
    ended: float
    #: Why, in a line.
    message: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a recorded run took."""

    run_id: str
    status: str
    device: str
    engine: str
    seconds: float
    #: Seconds since 1970.
    ended: float


@dataclass(frozen=True, slots=True)
class Retry:
    """A decision to try a run once more."""

    #: How many failures were recorded when that was decided: one more ends the retry.
    failures: int = 0
    #: How often it ran out of memory: by so many steps it is now trained with less.
    smaller: int = 0


#: By run id.
Retries = Mapping[str, Retry]
NO_RETRIES: Retries = {}


@dataclass(frozen=True)
class Recorded:
    """Runs and further evaluations that are recorded."""

    #: Status by run id; a failure yields to a success.
    runs: Mapping[str, str]
    #: Errors in percent on the metric of the run, by run id and evaluation id.
    evaluations: Mapping[tuple[str, str], float]
    #: The failures of each run that ever failed, in the order in which they ended.
    failures: Mapping[str, Sequence[Failure]] = field(default_factory=dict)
    #: By name, journals that are damaged: records are lost, or may be; not one that is written to.
    damage: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, journals: Path) -> "Recorded":
        """Read the journals of a study; a folder that is not there holds none."""
        return JournalReader(journals).read()

    def lost(self, results: Path, plan: Plan | None = None) -> OnlyInStore:
        """Return what a study's store has and its journals have not, as where they were removed.

        Raises UserError or OSError where the store cannot be read, unless all runs of `plan` are
        recorded: then nothing would be trained again.
        """
        try:
            return only_in_store(results, self.runs, self.evaluations)
        except (UserError, OSError):
            if plan is not None and all(run_id in self.runs for run_id in plan.ids()):
                return OnlyInStore()
            raise

    def failed(self) -> dict[str, Failure]:
        """The last failure of every run that has not come to its end since."""
        return {
            run_id: failures[-1]
            for run_id, failures in self.failures.items()
            if self.runs[run_id] == "failed"
        }

    def failed_kinds(self, plan: Plan) -> Counter[str]:
        """Return how many runs of the study failed, by kind of failure."""
        failed = self.failed()
        return Counter(failed[run.run_id].kind for run in plan if run.run_id in failed)

    def why_failed(self, plan: Plan) -> dict[str, str]:
        """By kind of failure, why the run of it failed that failed last."""
        failed = self.failed()
        last = sorted((failed[it] for it in plan.ids() if it in failed), key=lambda it: it.ended)
        return {failure.kind: failure.message for failure in last}

    def ended(self, plan: Plan) -> list[str]:
        """The recorded runs, of this plan or another, of which nothing is left to do.

        Without failed ones: a job that has these may be trying them again.
        """
        left = set(self.todo(plan).ids())
        return [run for run, status in self.runs.items() if status != "failed" and run not in left]

    def validation_error(self, run: PlannedRun, evaluation_id: str) -> float | None:
        """The error by which trials are compared, as a `planning.brackets.Judge` gives it."""
        if self.runs.get(run.run_id) == "diverged":
            return math.inf
        if self.runs.get(run.run_id) != "completed":
            return None
        return self.evaluations.get((run.run_id, evaluation_id))

    def missing_evaluations(self, run: PlannedRun) -> tuple[str, ...]:
        """The ids of a run's further evaluations without a result, which only weights can have."""
        if not run.evaluations or self.runs.get(run.run_id, "completed") != "completed":
            return ()
        return tuple(it for it in run.evaluations if (run.run_id, it) not in self.evaluations)

    def todo(self, plan: Plan, retries: Retries = NO_RETRIES) -> Plan:
        """The runs of which something is left to do, in order; failed ones if they are retried."""
        return plan.where(lambda run: not self._has(run, retries))

    def left(self, runs: Iterable[PlannedRun], retries: Retries = NO_RETRIES) -> list[PlannedRun]:
        """List those of some runs that still have to be trained, as `todo` does for a plan."""
        return [run for run in runs if not self._has(run, retries)]

    def is_over(self, run_id: str, retries: Retries) -> bool:
        """Tell whether a run has a record, and not only failures after which it is tried again."""
        if self.runs.get(run_id) == "failed" and run_id in retries:
            return len(self.failures.get(run_id, ())) > retries[run_id].failures
        return run_id in self.runs

    def _has(self, run: PlannedRun, retries: Retries) -> bool:
        return self.is_over(run.run_id, retries) and not self.missing_evaluations(run)


@dataclass(frozen=True)
class Throughput:
    """The pace at which runs of a study end, and their cost so far."""

    #: Recorded runs per hour: over the last hour, or since the first run began if that is later.
    #: None before a run has ended.
    runs_per_hour: float | None
    #: Hours that recorded runs and their further evaluations took, by device: of a core (`cpu`),
    #: or of a GPU by its name.
    hours: dict[str, float]
    #: In words, which backends computed the results; "" if it was one.
    backends: str = ""


class JournalReader:
    """What the journals in a folder hold; each look reads only what was written since the last.

    Raises as `store.read_journals`.
    """

    def __init__(self, journals: Path, results: Path | None = None) -> None:
        """`results`: a store that was collected from them, which spares decoding what it has."""
        self._folder, self._results = journals, results
        #: Up to which byte each journal was read.
        self._after: dict[str, int] = {}
        self._runs: dict[str, str] = {}
        self._evaluations: dict[tuple[str, str], float] = {}
        self._began: dict[tuple[str, str], float] = {}
        self._failures: dict[str, list[Failure]] = {}
        self._damage: dict[str, str] = {}
        self._recorded = Recorded(self._runs, self._evaluations, self._failures, self._damage)
        self._tables: list[pa.Table] = []
        self._next_look = 0.0
        #: How many records of runs there are.
        self.records = 0

    def read(self) -> Recorded:
        """All that is recorded by now. What an earlier call gave grows with it."""
        if self._results is not None:
            found, ends = collected_records(self._results, self._folder, (*KEPT, *NOTED))
            self._results = None
            self._after |= ends
            self._note(found)
        wrong: dict[str, str] = {}
        new = read_journals(self._folder, self._after, wrong)
        self._damage |= {name: said for name, said in wrong.items() if not is_torn(said)}
        self._after |= zip(new["journal"].to_pylist(), new["end"].to_pylist(), strict=True)
        self._note(new)
        return self._recorded

    def look(self, share: float) -> Recorded:
        """Read as `read` does, unless that would take more than a `share` of the time.

        What it returns is never older than OLDEST_LOOK.
        """
        began = time.monotonic()
        if began >= self._next_look:
            self.read()
            now = time.monotonic()
            self._next_look = now + min(OLDEST_LOOK, (now - began) / share)
        return self._recorded

    def _note(self, new: pa.Table) -> None:
        """Take up a table of records."""
        if not len(new):
            return
        runs, tests = _by_kind(new)
        self._note_runs(runs)
        names = ("run_id", "evaluation_id", "started", "error")
        for run_id, evaluation_id, started, error in _rows(tests, *names):
            pair = run_id, evaluation_id  # of several, the one that a store keeps
            if started < self._began.get(pair, math.inf):
                self._began[pair], self._evaluations[pair] = started, error
        self._tables.append(new.select(KEPT).unify_dictionaries())

    def _note_runs(self, table: pa.Table) -> None:
        for run_id, status in _rows(table, "run_id", "status"):
            if self._runs.get(run_id, "failed") == "failed":
                self._runs[run_id] = intern(status)  # of a million runs, a few texts
        failed = table.filter(arrow.numbers(arrow.among(table["status"], ["failed"])))
        names = ("run_id", "failure_kind", "host", "started", "seconds", "message")
        for run_id, kind, host, started, seconds, message in _rows(failed, *names):
            failures = self._failures.setdefault(run_id, [])
            failures.append(Failure(kind, host, started + seconds, message or ""))
            failures.sort(key=lambda failure: failure.ended)
        self.records += len(table)

    def timings(self) -> Iterator[Timing]:
        """Tell how long each recorded run took, in the order in which they were read."""
        runs, _ = _by_kind(self._table())
        names = ("run_id", "status", "device", "engine", "seconds", "started")
        for run_id, status, device, engine, seconds, started in _rows(runs, *names):
            yield Timing(run_id, status, device, engine, seconds, started + seconds)

    def outcomes(self) -> dict[str, tuple[str, float]]:
        """Tell how each run ended that did not fail, and its error in percent, by run id.

        Of several records of a run the first to begin counts, as in a store.
        """
        runs, _ = _by_kind(self._table())
        runs = runs.filter(arrow.numbers(~arrow.among(runs["status"], ["failed"])))
        keys = pa.table({"started": runs["started"], "journal": runs["journal"].cast(pa.string())})
        last_first = pc.sort_indices(keys, [(name, "descending") for name in keys.column_names])
        rows = _rows(runs.take(last_first), "run_id", "status", "error")
        return {run_id: (status, error) for run_id, status, error in rows}

    def _table(self) -> pa.Table:
        tables = self._tables or [read_journals([]).select(KEPT)]
        return pa.concat_tables(tables).unify_dictionaries()

    def throughput(self, now: float, is_over: bool = False) -> Throughput:
        """Tell how fast recorded runs ended, at `now` (seconds since 1970), and what they took.

        If the study `is_over`, the pace is the one at its end: time without workers does not count.
        Records of evaluations name no device. It is taken to be that of the runs of the same
        worker, or if that trained none (weights were kept), the device that the study used most.
        """
        from anynet_study.store import mixed_backends

        runs, tests = _by_kind(self._table())
        began, took = (arrow.to_numpy(runs[name]) for name in ("started", "seconds"))
        known = took > 0  # not those of a worker's death, recorded by others
        began, ended = began[known], (began + took)[known]
        rate = None
        if len(ended):
            now = min(now, ended.max()) if is_over else now
            hours = min(HOUR, max(1.0, now - began.min())) / HOUR
            rate = float((ended > now - HOUR).sum()) / hours
        spent: Counter[str] = Counter()
        devices: dict[str, str] = {}
        for journal, device, seconds in _summed(runs, "journal", "device"):
            spent[device] += seconds
            devices[_worker(journal)] = device
        usual = max(spent, key=lambda device: spent[device], default="cpu")
        for journal, seconds in _summed(tests, "journal"):
            spent[devices.get(_worker(journal), usual)] += seconds
        hours_spent = {device: took / HOUR for device, took in spent.items() if took}
        return Throughput(rate, hours_spent, mixed_backends(runs))


def _by_kind(records: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Part the records of runs from those of evaluations, which alone have an `evaluation_id`."""
    is_run = records["evaluation_id"].is_null()
    return records.filter(is_run), records.filter(pc.invert(is_run))


def _rows(table: pa.Table, *names: str) -> Iterator[tuple[Any, ...]]:
    """The rows as Python's objects, of which those of a million at once take half a gigabyte."""
    for batch in table.select(names).to_batches(max_chunksize=BATCH):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _summed(table: pa.Table, *names: str) -> Iterator[tuple[Any, ...]]:
    """The texts of rows that are alike in some columns, and the sum of their seconds.

    Arrow's own `group_by` imports pandas.
    """
    if not len(table):
        return
    columns = [arrow.whole(table[name]) for name in names]
    codes = np.stack([arrow.to_numpy(column.indices) for column in columns])
    groups, places = np.unique(codes, axis=1, return_inverse=True)
    sums = np.bincount(places.ravel(), arrow.to_numpy(table["seconds"]))
    for group, seconds in zip(groups.T.tolist(), sums.tolist(), strict=True):
        texts = (it.dictionary[code].as_py() for it, code in zip(columns, group, strict=True))
        yield *texts, seconds


def _worker(journal: str) -> str:
    """The host and process that wrote a journal, by `StudyFolder.new_journal`."""
    return journal.rpartition("-")[0]
