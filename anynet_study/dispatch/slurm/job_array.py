"""What the jobs of an array have to do: one file, there before any of them is queued."""

import pickle
from dataclasses import dataclass, replace
from pathlib import Path

from submitit.core.utils import DelayedSubmission

from anynet_study.dispatch.worker.job import Job
from anynet_study.files import replacing


@dataclass(frozen=True)
class JobArray:
    """A job for each task; they differ in their runs alone."""

    #: Without runs.
    job: Job
    #: Ids of the runs of each task, separated by spaces.
    tasks: tuple[str, ...]
    #: The jobs' time limit, and how often they may hit it.
    minutes: int
    max_num_timeout: int

    def write(self, path: Path) -> None:
        """Publish it durably."""
        with replacing(path) as temporary, temporary.open("wb") as file:
            pickle.dump(self, file)

    @classmethod
    def read(cls, path: Path) -> "JobArray":
        with path.open("rb") as file:
            array: JobArray = pickle.load(file)
        return array

    def submission(self, task: int) -> DelayedSubmission:
        """What submitit is to do for a task."""
        job = replace(self.job, run_ids=tuple(self.tasks[task].split()))
        delayed = DelayedSubmission(job)
        delayed.set_timeout(self.minutes, self.max_num_timeout)
        return delayed


def array_file(logs: Path, token: str) -> Path:
    """Where the array of a submission is written."""
    return logs / f"{token}.pkl"


def script_file(logs: Path, token: str) -> Path:
    """Where its sbatch script is written."""
    return logs / f"{token}.sh"
