"""Packing runs by predicted length: into jobs, for workers, and into those a GPU trains at once."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import inf

from anynet_study.engine.planning import MOST, PlannedRun, asks_for_gpu
from anynet_study.engine.sweep import Launch

#: Architectures looked at together, as a multiple of those trained at a time: the more, the more
#: alike are those that share a GPU, and the later rows are complete. Eight at a time of the paper's
#: 500 wait for their slowest 1.19 times as long as they work with 4, 1.06 times with 16.
WINDOW = 16


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
    """Return when the last waiting job ends (seconds), each begun where a place is `free` first."""
    heapq.heapify(free)
    last = max(free)
    for seconds in waiting:
        end = heapq.heappop(free) + seconds
        last = max(last, end)
        heapq.heappush(free, end)
    return last


def pack_jobs(launch: Launch, runs: Iterable[PlannedRun]) -> Iterator[list[PlannedRun]]:
    """The runs of each job of Slurm: as long as `launch` asks for, and fit to be trained at once.

    How many fit a GPU is known there; as many as make sense are put side by side.
    """
    several = launch.engine == "fast" and asks_for_gpu(launch.slurm)
    at_once = launch.at_once or MOST if several else 1
    return pack_by_length(runs, 60.0 * launch.job_minutes, at_once)


def pack_by_length(
    runs: Iterable[PlannedRun], seconds: float, at_once: int = 1
) -> Iterator[list[PlannedRun]]:
    """Consecutive units of runs in jobs of about `seconds`; a longer one is a job of its own.

    Where a worker trains several `at_once`, units of the same datasets and recipes are side by
    side, as in `cohorts`. One job after the other: of a million runs those of a window are in
    memory.
    """
    job: list[PlannedRun] = []
    filled = 0.0
    for group in _side_by_side(units(runs), at_once, seconds):
        if job and filled + _seconds(group) > seconds:
            yield job
            job, filled = [], 0.0
        job += group
        filled += _seconds(group)
    if job:
        yield job


def units(runs: Iterable[PlannedRun]) -> Iterator[list[PlannedRun]]:
    """Yield what one worker does in order: a run, and after it those that start from its weights.

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


def cohorts(runs: Iterable[PlannedRun], at_once: int) -> Iterator[list[PlannedRun]]:
    """Groups of at most `at_once` runs of one dataset and recipe, alike in predicted length.

    They take steps in turn and so wait for the slowest; they share the dataset and, where they
    share the seed too, its stream of batches. With one at a time the order stays as it is.
    """
    return _side_by_side(([run] for run in runs), at_once)


def _side_by_side(
    units: Iterable[list[PlannedRun]], at_once: int, seconds: float = inf
) -> Iterator[list[PlannedRun]]:
    """Groups of at most `at_once` units of the same work, together no longer than `seconds`."""
    if at_once == 1:
        yield from units
        return
    for window in _windows(units, WINDOW * at_once):
        alike: dict[tuple[tuple[str, str, int], ...], list[list[PlannedRun]]] = {}
        for unit in window:
            work = tuple((run.recipe, run.dataset, run.replicate) for run in unit)
            alike.setdefault(work, []).append(unit)
        # Runs that others start from come first, as in the plan.
        for same in sorted(alike.values(), key=lambda same: same[0][0].spec.depth):
            by_length = sorted(same, key=_seconds)
            while by_length:
                group = by_length[:at_once]
                while len(group) > 1 and sum(map(_seconds, group)) > seconds:
                    group.pop()
                del by_length[: len(group)]
                yield [run for unit in group for run in unit]


def _windows(units: Iterable[list[PlannedRun]], rows: int) -> Iterator[list[list[PlannedRun]]]:
    """Units of so many architectures and replicates, in order."""
    window: list[list[PlannedRun]] = []
    seen: set[tuple[int, int]] = set()
    for unit in units:
        row = (unit[0].place, unit[0].replicate)
        if row not in seen and len(seen) == rows:
            yield window
            window, seen = [], set()
        seen.add(row)
        window.append(unit)
    if window:
        yield window
