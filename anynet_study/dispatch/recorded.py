"""What the journals of a study hold already, and so what is left to do."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from anynet_study.dispatch.planned import Plan, PlannedRun


@dataclass(frozen=True, slots=True)
class Failure:
    """One try of a run that was recorded as failed."""

    #: oom, data, timeout, node or code.
    kind: str
    host: str
    #: Seconds since 1970.
    ended: float


@dataclass(frozen=True, slots=True)
class Again:
    """That a run is to be tried once more, in spite of what was known when that was asked for."""

    #: Its recorded failures then: with one more the try is over.
    failures: int = 0
    #: How often it was short of memory: it is trained in so many steps less of it.
    smaller: int = 0


Retries = Mapping[str, Again]
NO_RETRIES: Retries = {}


@dataclass(frozen=True)
class Recorded:
    """Runs and further evaluations that are recorded."""

    #: Status by run id; a failure yields to a success.
    runs: Mapping[str, str]
    #: Pairs of run id and evaluation id.
    evaluations: Collection[tuple[str, str]]
    #: The failures of each run that ever failed, in the order in which they ended.
    failures: Mapping[str, Sequence[Failure]] = field(default_factory=dict)

    @classmethod
    def read(cls, journals: Path) -> "Recorded":
        """Read the journals of a study; a folder that is not there holds none."""
        from anynet_study.dispatch.journal_reader import JournalReader

        return JournalReader(journals).read()

    def failed(self) -> dict[str, Failure]:
        """The last failure of every run that has not come to its end since."""
        return {
            run_id: failures[-1]
            for run_id, failures in self.failures.items()
            if self.runs[run_id] == "failed"
        }

    def failed_kinds(self, planned: Plan) -> Counter[str]:
        """The kinds of failure of a study's failed runs, each as often as there is."""
        failed = self.failed()
        return Counter(failed[run_id].kind for run_id in planned.find(failed).each_id())

    def ended(self, planned: Plan) -> list[str]:
        """The recorded runs, of this plan or another, of which nothing is left to do.

        Without failed ones: a job that has these may be trying them again.
        """
        left = set(self.todo(planned).where(lambda run_id, _: run_id in self.runs).each_id())
        return [run for run, status in self.runs.items() if status != "failed" and run not in left]

    def missing_evaluations(self, run_id: str, evaluations: Sequence[str]) -> list[str]:
        """Those of a run's `evaluations` (ids) without a result, which only weights can have."""
        if not evaluations or self.runs.get(run_id, "completed") != "completed":
            return []
        return [it for it in evaluations if (run_id, it) not in self.evaluations]

    def has(self, run: PlannedRun, retries: Retries = NO_RETRIES) -> bool:
        """Whether nothing is left to do of `run`; failed ones count unless they are retried."""
        return self._has(run.run_id, run.evaluations, retries)

    def todo(self, planned: Plan, retries: Retries = NO_RETRIES) -> Plan:
        """The runs of which something is left to do, in order."""
        return planned.where(lambda run_id, it: not self._has(run_id, it.evaluations, retries))

    def left(self, runs: Iterable[PlannedRun], retries: Retries = NO_RETRIES) -> list[PlannedRun]:
        """Those of some runs of which something is left to do, in order."""
        return [run for run in runs if not self.has(run, retries)]

    def _has(self, run_id: str, evaluations: Sequence[str], retries: Retries) -> bool:
        status = self.runs.get(run_id)
        if status is None:
            return False
        if status == "failed" and run_id in retries:
            return len(self.failures.get(run_id, ())) > retries[run_id].failures
        return not self.missing_evaluations(run_id, evaluations)
