"""Packing runs by predicted length: into jobs, for workers, and into those a GPU trains at once."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from anynet_study.dispatch.plan import PlannedRun

#: Architectures looked at together, as a multiple of those trained at a time: the more, the more
#: alike are those that share a GPU, and the later rows are complete.
WINDOW = 4


def pack_for_workers(runs: Sequence[PlannedRun], workers: int) -> list[list[PlannedRun]]:
    """One list per worker, all of about equal length; order is kept, so rows complete early.

    Each unit of runs in turn goes to the worker that is free first.
    """
    packs = list(units(runs))
    lists: list[list[PlannedRun]] = [[] for _ in range(min(workers, len(packs)))]
    free = [(0.0, number) for number in range(len(lists))]
    for unit in packs:
        busy_until, number = heapq.heappop(free)
        lists[number] += unit
        heapq.heappush(free, (busy_until + _seconds(unit), number))
    return lists


def last_end(free: list[float], waiting: Iterable[float]) -> float:
    """When the last of the waiting jobs ends, each begun where a place is `free` first; seconds."""
    heapq.heapify(free)
    last = max(free)
    for seconds in waiting:
        end = heapq.heappop(free) + seconds
        last = max(last, end)
        heapq.heappush(free, end)
    return last


def pack_by_length(runs: Iterable[PlannedRun], seconds: float) -> Iterator[list[PlannedRun]]:
    """Consecutive units of runs in jobs of about `seconds`; a longer one is a job of its own.

    One job after the other: of a million runs those of one are in memory.
    """
    job: list[PlannedRun] = []
    filled = 0.0
    for unit in units(runs):
        if job and filled + _seconds(unit) > seconds:
            yield job
            job, filled = [], 0.0
        job += unit
        filled += _seconds(unit)
    if job:
        yield job


def units(runs: Iterable[PlannedRun]) -> Iterator[list[PlannedRun]]:
    """What one worker does in order: a run, and after it those that start from its weights.

    Runs come by architecture and seed, as they are planned. Where the run that others start from
    is not among them, its weights are on disk, and those others are units by themselves.
    """
    for _, row in groupby(runs, lambda run: (run.place, run.replicate)):
        #: By the id of each run the unit that it is in.
        found: dict[str, list[PlannedRun]] = {}
        for run in row:
            start = run.spec.pretrained.run_id if run.spec.pretrained else ""
            found[run.run_id] = found.get(start, [])
            found[run.run_id].append(run)
        yield from {id(unit): unit for unit in found.values()}.values()


def _seconds(runs: Sequence[PlannedRun]) -> float:
    return sum(run.seconds for run in runs)


def cohorts(runs: Sequence[PlannedRun], at_once: int) -> Iterator[list[PlannedRun]]:
    """Groups of at most `at_once` runs of one dataset and recipe, alike in predicted length.

    They take steps in turn and so wait for the slowest; they share the dataset and, where they
    share the seed too, its stream of batches. With one at a time the order stays as it is.
    """
    if at_once == 1:
        yield from ([run] for run in runs)
        return
    for window in _windows(runs, WINDOW * at_once):
        alike: dict[tuple[str, str, int], list[PlannedRun]] = {}
        for run in window:
            alike.setdefault((run.recipe, run.dataset, run.replicate), []).append(run)
        # Runs that others start from come first, as in the plan.
        for group in sorted(alike.values(), key=lambda group: group[0].spec.depth):
            by_length = sorted(group, key=lambda run: run.seconds)
            for first in range(0, len(by_length), at_once):
                yield by_length[first : first + at_once]


def _windows(runs: Sequence[PlannedRun], rows: int) -> Iterator[list[PlannedRun]]:
    """Runs of so many architectures and replicates, in order."""
    window: list[PlannedRun] = []
    seen: set[tuple[int, int]] = set()
    for run in runs:
        row = (run.place, run.replicate)
        if row not in seen and len(seen) == rows:
            yield window
            window, seen = [], set()
        seen.add(row)
        window.append(run)
    if window:
        yield window
