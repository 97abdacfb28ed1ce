"""Whether a job that is queued again and again gets anywhere."""

import os
import socket
from collections.abc import Iterable
from glob import escape
from pathlib import Path

import psutil

from anynet_study.study_folder import StudyFolder

#: A job that came back so many times in a row without getting on would never do: its time limit
#: ends it while it still starts up.
MOST_STALLED = 3


def got_on(study: StudyFolder, run_ids: Iterable[str]) -> bool:
    """Whether this process recorded something, or saved one of these runs."""
    mine = escape(f"{socket.gethostname()}-{os.getpid()}-")
    if any(study.journals.glob(f"{mine}*")):
        return True
    began = psutil.Process().create_time()
    return any(_changed(study.checkpoints / f"{run_id}.pt") >= began for run_id in run_ids)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
