"""Packing runs into jobs by predicted cost."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

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
    for _, row in groupby(runs, lambda run: (run.spec.architecture, run.replicate)):
        leaders: dict[str, list[PlannedRun]] = {}
        for run in row:
            start = run.spec.pretrained.run_id if run.spec.pretrained else None
            leaders.setdefault(start if start in leaders else run.run_id, []).append(run)
        yield from leaders.values()


def _seconds(runs: Sequence[PlannedRun]) -> float:
    return sum(run.seconds for run in runs)
