"""What is known of workers that ended before their work was done."""

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import NoReturn

from anynet_study.dispatch.endings.logs import BEGINS, LOST
from anynet_study.dispatch.planned import PlannedRun
from anynet_study.study_folder import StudyFolder

#: A disk with less room than this, in bytes, is full: not even a journal could begin.
FULL = 64 << 10


def last_words(study: StudyFolder, since: float) -> str:
    """Why workers ended, in a line; `since` (unix time) tells this launch's logs."""
    if disk_is_full(study):
        return f"the disk that holds {study.folder} is full"
    logs = [path for path in study.logs.glob("*_log.err") if path.stat().st_mtime >= since]
    said = (line for path in sorted(logs, key=_age) if (line := _last_line(path)))
    words = next(said, "the workers were ended").removeprefix("anynet_study.errors.UserError: ")
    return f"{words} (logs: {study.logs})"


def say_begins(run: PlannedRun) -> None:
    """Let the worker's log tell that it is at `run`."""
    print(run.run_id, run.dataset, run.spec.architecture.id, BEGINS, flush=True)


def end_worker_at(run: PlannedRun, error: Exception) -> NoReturn:
    """End this worker as if it was killed at `run`: nothing works any more in its process."""
    print(error, file=sys.stderr, flush=True)
    print(run.run_id, LOST, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit(1)  # not reached


def disk_is_full(study: StudyFolder) -> bool:
    """Whether the disk that holds a study has no room left."""
    return shutil.disk_usage(study.folder).free < FULL


def _age(path: Path) -> float:
    return -path.stat().st_mtime


def _last_line(path: Path) -> str:
    """The last line that is not blank; empty if there is none."""
    if not path.exists():
        return ""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
