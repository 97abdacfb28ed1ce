"""Packing runs into jobs by predicted cost."""

import heapq
from collections.abc import Sequence

from anynet_study.dispatch.plan import PlannedRun


def pack_for_workers(runs: Sequence[PlannedRun], workers: int) -> list[list[PlannedRun]]:
    """One list a worker, of about equal length; order is kept, so rows complete early.

    Each run in turn goes to the worker that is free first.
    """
    lists: list[list[PlannedRun]] = [[] for _ in range(min(workers, len(runs)))]
    free = [(0.0, number) for number in range(len(lists))]
    for run in runs:
        busy_until, number = heapq.heappop(free)
        lists[number].append(run)
        heapq.heappush(free, (busy_until + run.seconds, number))
    return lists


def pack_by_length(runs: Sequence[PlannedRun], seconds: float) -> list[list[PlannedRun]]:
    """Consecutive runs in jobs of about `seconds`; a longer run is a job of its own."""
    jobs: list[list[PlannedRun]] = []
    filled = 0.0
    for run in runs:
        if not jobs or filled + run.seconds > seconds:
            jobs.append([])
            filled = 0.0
        jobs[-1].append(run)
        filled += run.seconds
    return jobs
