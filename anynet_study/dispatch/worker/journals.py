"""A worker's journals, begun when there is something to write, and what it says of each row."""

from contextlib import AbstractContextManager

from anynet_study.store import EvaluationRecord, EvaluationWriter, JournalWriter, RunRecord
from anynet_study.store.records import EVALUATIONS_SUFFIX
from anynet_study.study_folder import StudyFolder


class Journals(AbstractContextManager["Journals"]):
    """One of runs, one of evaluations: both this worker's alone."""

    def __init__(self, study: StudyFolder) -> None:
        self._study = study
        self._runs: JournalWriter | None = None
        self._evaluations: EvaluationWriter | None = None

    def append(self, row: RunRecord | EvaluationRecord) -> None:
        """Write a row; it is on disk when this returns."""
        if isinstance(row, EvaluationRecord):
            if self._evaluations is None:
                path = self._study.new_journal(EVALUATIONS_SUFFIX)
                self._evaluations = EvaluationWriter(path)
            self._evaluations.append(row)
            print(f"{row.run_id} on {row.evaluation}: {row.top1:.2f}%", flush=True)
            return
        if self._runs is None:
            self._runs = JournalWriter(self._study.new_journal())
        self._runs.append(row)
        print(
            f"{row.run_id} {row.dataset} {row.architecture} {row.status} "
            f"{row.error:.2f}% in {row.seconds:.1f} s {row.message}",
            flush=True,
        )

    def __exit__(self, *_: object) -> None:
        for writer in (self._runs, self._evaluations):
            if writer is not None:
                writer.close()
