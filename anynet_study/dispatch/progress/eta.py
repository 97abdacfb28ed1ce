"""When the work that is queued will be done, if jobs keep running as now."""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from anynet_study.dispatch.jobs.ledger import LiveJob

#: Of a job's runs: the predicted seconds of those that are unfinished, in order.
Left = Callable[[Sequence[str]], Sequence[float]]


@dataclass(frozen=True)
class Eta:
    """Predicted seconds, and what they assume."""

    #: Until the last job ends; None while none runs: when one will is not known.
    seconds: float | None
    #: Of work that is left in jobs, run after run on one worker.
    work: float
    assumes: str


def eta(jobs: Sequence[LiveJob], left: Left, ended: Mapping[str, float], now: float) -> Eta | None:
    """Until all of `jobs` are done; None without jobs.

    Each job does its list by itself. Those that wait begin, in their order, where a job that runs
    now has ended: the study gets no more of the cluster than it has, and no less. `ended`: when
    finished runs did (seconds since 1970).
    """
    if not jobs:
        return None
    begun = [job for job in jobs if job.state == "running"]
    free = [_left_of(job, left, ended, now) for job in begun]
    waiting = [sum(left(job.job.runs)) for job in jobs if job.state == "pending"]
    work = sum(free) + sum(waiting)
    if not begun:
        return Eta(None, work, "none is running")
    if not waiting:
        return Eta(max(free), work, "each job does its runs one after the other")
    jobs_now = "the 1 job that runs" if len(begun) == 1 else f"the {len(begun)} jobs that run"
    return Eta(last_end(free, waiting), work, f"queued jobs follow {jobs_now} now")


def last_end(free: list[float], waiting: Iterable[float]) -> float:
    """When the last of the waiting jobs ends, each begun where a place is free first."""
    heapq.heapify(free)
    last = max(free)
    for seconds in waiting:
        end = heapq.heappop(free) + seconds
        last = max(last, end)
        heapq.heappush(free, end)
    return last


def _left_of(job: LiveJob, left: Left, ended: Mapping[str, float], now: float) -> float:
    """Predicted seconds of a job's runs that are left, but those that the first has been at it."""
    lengths = left(job.job.runs)
    if not lengths:
        return 0.0
    begins = [ended[run_id] for run_id in job.job.runs if run_id in ended]
    if job.started is not None:
        begins.append(job.started)
    been_at_it = max(0.0, now - max(begins)) if begins else 0.0
    return sum(lengths) - min(been_at_it, lengths[0])
