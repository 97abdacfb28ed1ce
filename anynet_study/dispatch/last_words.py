"""Why workers ended before their work was done, in one line."""

import shutil
from pathlib import Path

from anynet_study.study import Study

#: A disk with less room than this, in bytes, is full: not even a journal could begin.
FULL = 64 << 10


def last_words(study: Study, since: float) -> str:
    """The reason that can be seen from here; `since` (unix time) tells this launch's logs."""
    if shutil.disk_usage(study.folder).free < FULL:
        return f"the disk that holds {study.folder} is full"
    logs = [path for path in study.logs.glob("*_log.err") if path.stat().st_mtime >= since]
    said = (line for path in sorted(logs, key=_age) if (line := _last_line(path)))
    return f"{next(said, 'the workers were ended')} (logs: {study.logs})"


def _age(path: Path) -> float:
    return -path.stat().st_mtime


def _last_line(path: Path) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
