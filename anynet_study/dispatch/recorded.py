"""What the journals of a study hold already."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from anynet_study.dispatch.planned import PlannedRun
from anynet_study.store import finished_evaluations, finished_runs


@dataclass(frozen=True)
class Recorded:
    """Runs and further evaluations that are recorded, and so what is left to do."""

    #: Status by run id.
    runs: Mapping[str, str]
    #: Pairs of run id and evaluation id.
    evaluations: frozenset[tuple[str, str]]

    @classmethod
    def read(cls, journals: Path) -> "Recorded":
        """Read the journals of a study; a folder that is not there holds none."""
        return cls(finished_runs(journals), frozenset(finished_evaluations(journals)))

    def missing_evaluations(self, run: PlannedRun) -> list[str]:
        """Ids of the evaluations of `run` without a result, which only weights can have."""
        if self.runs.get(run.run_id, "completed") != "completed":
            return []
        return [it for it in run.evaluations if (run.run_id, it) not in self.evaluations]

    def has(self, run: PlannedRun, retry_failed: bool = False) -> bool:
        """Whether nothing is left to do of `run`; failed ones count unless they are retried."""
        status = self.runs.get(run.run_id)
        if status is None or (retry_failed and status == "failed"):
            return False
        return not self.missing_evaluations(run)

    def todo(self, planned: Iterable[PlannedRun], retry_failed: bool = False) -> list[PlannedRun]:
        """The runs of which something is left to do, in order."""
        return [run for run in planned if not self.has(run, retry_failed)]
