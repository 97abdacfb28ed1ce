"""What a Slurm job runs: `python -m anynet_study.dispatch.slurm.task LOGS TOKEN`.

It takes its part of the array's file and lets submitit do it, who queues a job that hits its time
limit again. A job that comes back goes on with the file that submitit wrote then.
"""

import os
import sys
from pathlib import Path

from submitit import JobEnvironment
from submitit.core.submission import process_job
from submitit.core.utils import JobPaths

from anynet_study.dispatch.slurm.job_array import JobArray, array_file
from anynet_study.files import replacing


def run(logs: Path, token: str) -> None:
    """Do this task's part; its files, but for the logs, are removed when it has ended."""
    os.environ["SUBMITIT_FOLDER"] = str(logs)
    paths = JobEnvironment().paths
    _prepare(paths, array_file(logs, token))
    try:
        process_job(logs)
    finally:
        if paths.result_pickle.exists():  # otherwise it was queued again, or killed
            paths.result_pickle.unlink()
            paths.submitted_pickle.unlink(missing_ok=True)


def _prepare(paths: JobPaths, array: Path) -> None:
    """Write the file that submitit starts from, unless this job comes back."""
    for path in (paths.submitted_pickle, paths.result_pickle):  # of a kill while it was written
        path.with_suffix(f"{path.suffix}.save_tmp").unlink(missing_ok=True)
    if not paths.submitted_pickle.exists():
        number = int(os.environ.get("SLURM_ARRAY_TASK_ID", "0"))
        with replacing(paths.submitted_pickle) as temporary:
            JobArray.read(array).submission(number).dump(temporary)


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2])
