"""Who is at which run: claims in the study's folder, so that no two workers train the same run.

A claim is a file that names its worker, `claims/RUN.0`. Of all workers that try to create it, one
succeeds: file systems do that for machines that share them, also those that know no locks (NFS).
The claim counts while its worker lives. A worker is lost when its process is gone, or when its
sign of life has not changed for SILENT seconds by the clock of the one who looks: clocks of
machines are never compared. Its run is then claimed by the file of the next number, `RUN.1`, which
again one worker alone can create; so nobody removes the claim of another.

A claim is removed some time after its run was recorded: everybody has seen the record by then.
"""

import os
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from itertools import count
from math import inf
from pathlib import Path
from typing import Literal

from anynet_study.core.files import read_regular
from anynet_study.engine.dispatch.worker_state import (
    SILENT,
    Said,
    WorkerState,
    alive_file,
    is_of_here,
    process_mark,
)
from anynet_study.engine.study_folder import StudyFolder

#: A worker is looked at no more often than this, in seconds.
LOOK_SECONDS = 1.0
#: What is known of a worker; unknown: its sign of life was not seen to change, nor for long enough
#: not to.
Life = Literal["lives", "lost", "unknown"]


@dataclass
class _Seen:
    """A worker's sign of life, and since when it is the same (seconds of our own clock)."""

    sign: tuple[int, int]
    since: float
    changed: bool = False


class Watch:
    """Tells whether workers live, by looking at their signs of life again and again."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._seen: dict[str, _Seen] = {}
        self._told: dict[str, tuple[float, Life]] = {}

    def life(self, claimed: "Claimed") -> Life:
        """Tell whether a worker lives, or did a second ago."""
        now, (then, life) = time.monotonic(), self._told.get(claimed.job_id, (-inf, "unknown"))
        if now >= then + LOOK_SECONDS:
            life = self._look(claimed, now)
            self._told[claimed.job_id] = now, life
        return life

    def _look(self, claimed: "Claimed", now: float) -> Life:
        path = alive_file(self._logs, claimed.job_id)
        sign, seen = _sign(path), self._seen.get(claimed.job_id)
        if seen is None or sign != seen.sign:
            seen = self._seen[claimed.job_id] = _Seen(sign, now, changed=seen is not None)
        is_here = is_of_here(claimed.mark)
        if is_here and process_mark(claimed.pid) != claimed.mark:
            return "lost"
        said = Said.read(path)
        if (said and said.left) or now - seen.since > SILENT:
            return "lost"
        return "lives" if is_here or seen.changed else "unknown"


def _sign(path: Path) -> tuple[int, int]:
    """Return what changes with each sign of life: it is opened, for NFS then asks its server."""
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            return found.st_mtime_ns, found.st_ino
    except OSError:
        return 0, 0


@dataclass(frozen=True)
class Claimed:
    """The content of a claim: the job of its worker, and its process on its machine."""

    job_id: str
    pid: int = 0
    mark: str = ""

    @classmethod
    def read(cls, path: Path) -> "Claimed":
        """Read a claim; one that was given up just now, or not written whole, has no job's id."""
        with suppress(OSError, ValueError):
            job_id, pid, mark = read_regular(path).decode().splitlines()
            return cls(job_id, int(pid), mark)
        return cls(path.name)


class Claims(AbstractContextManager["Claims"]):
    """The claims of a worker. One that nobody asks after claims nothing, and takes everything."""

    def __init__(self, study: StudyFolder, state: WorkerState) -> None:
        pid, self._folder, self._me = os.getpid(), study.claims, state.job_id
        self._claim = f"{self._me}\n{pid}\n{process_mark(pid)}\n"
        self._watch = Watch(study.logs)
        #: By run: the file of our claim; and since when it is recorded, by our clock.
        self._held: dict[str, Path] = {}
        self._recorded: dict[str, float] = {}
        #: By run: who is at it; and the workers that were lost at it.
        self.others: dict[str, Claimed] = {}
        self.lost: dict[str, list[str]] = {}
        if self._me:
            self._folder.mkdir(parents=True, exist_ok=True)

    def __exit__(self, *_: object) -> None:
        """Give up what is not recorded: others may take it now."""
        for run_id, path in self._held.items():
            if run_id not in self._recorded:
                with suppress(OSError):
                    path.unlink()

    def take(self, run_id: str) -> bool:
        """Tell whether a run is ours now: nobody else is at it, or who was is lost."""
        if not self._me:
            return True
        self.others.pop(run_id, None)
        self._recorded.pop(run_id, None)
        lost: list[str] = []
        for number in count():
            path, later = (self._folder / f"{run_id}.{number + add}" for add in (0, 1))
            try:
                with path.open("x", encoding="utf-8") as file:
                    file.write(self._claim)
                claimed = Claimed(self._me)
            except FileExistsError:
                claimed = Claimed.read(path)
            if claimed.job_id == self._me:  # also of our job's process before this one
                self._held[run_id], self.lost[run_id] = path, lost
                break
            if not later.exists() and self._watch.life(claimed) != "lost":
                self.others[run_id] = claimed
                break
            lost.append(claimed.job_id)
        return run_id not in self.others

    def holds(self, run_id: str) -> bool:
        """Tell whether a run that was taken is ours still: we were not taken for lost meanwhile."""
        if run_id not in self._held:
            return not self._me
        path = self._held[run_id]
        return not path.with_suffix(f".{int(path.suffix[1:]) + 1}").exists()

    def end(self, run_ids: Iterable[str]) -> None:
        """Note that runs are recorded; remove claims of those of which all have seen it by now."""
        now = time.monotonic()
        for run_id, at in list(self._recorded.items()):
            if now - at > SILENT:
                del self._recorded[run_id]
                self._held.pop(run_id).unlink(missing_ok=True)
        self._recorded |= dict.fromkeys(run_ids, now)

    def may_be_free_soon(self) -> bool:
        """Tell whether a run that was not taken is perhaps with a worker that is lost."""
        return any(self._watch.life(one) != "lives" for one in self.others.values())
