"""Packing runs into jobs by predicted cost."""

import heapq
from collections.abc import Iterator, Sequence

from anynet_study.dispatch.planned import PlannedRun


def pack_for_workers(runs: Sequence[PlannedRun], workers: int) -> list[list[PlannedRun]]:
    """One list a worker, of about equal length; order is kept, so rows complete early.

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


def pack_by_length(runs: Sequence[PlannedRun], seconds: float) -> list[list[PlannedRun]]:
    """Consecutive units of runs in jobs of about `seconds`; a longer one is a job of its own."""
    jobs: list[list[PlannedRun]] = []
    filled = 0.0
    for unit in units(runs):
        if not jobs or filled + _seconds(unit) > seconds:
            jobs.append([])
            filled = 0.0
        jobs[-1] += unit
        filled += _seconds(unit)
    return jobs


def units(runs: Sequence[PlannedRun]) -> Iterator[list[PlannedRun]]:
    """What one worker does in order: a run, and after it those that start from its weights.

    Where the run that others start from is not among `runs`, its weights are on disk, and those
    others are units by themselves.
    """
    here = {run.run_id for run in runs}
    followers: dict[str, list[PlannedRun]] = {}
    leaders = []
    for run in runs:
        start = run.spec.pretrained.run_id if run.spec.pretrained else None
        if start in here:
            followers.setdefault(str(start), []).append(run)
        else:
            leaders.append(run)
    for run in leaders:
        yield [run, *followers.get(run.run_id, [])]


def _seconds(runs: Sequence[PlannedRun]) -> float:
    return sum(run.seconds for run in runs)
