"""Predicted ends against schedules made by hand, and against a plain simulation."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from anynet_study.dispatch.ledger import LiveJob, SubmittedJob
from anynet_study.dispatch.status import Left, eta


def job(number: int, runs: Sequence[str], started: float | None = None) -> LiveJob:
    submitted = SubmittedJob(str(number), "slurm", "login", 0.0, " ".join(runs))
    return LiveJob(submitted, "pending" if started is None else "running", started)


def of(left: dict[str, float]) -> Left:
    return lambda runs: [left[run_id] for run_id in runs if run_id in left]


def seconds(jobs: Sequence[LiveJob], left: dict[str, float], now: float = 0.0) -> float | None:
    found = eta(jobs, of(left), {}, now)
    assert found is not None
    return found.seconds


def test_running_jobs_alone_end_with_the_longest() -> None:
    left = {"a": 10.0, "b": 20.0, "c": 50.0}
    assert seconds([job(1, "ab", 0.0), job(2, "c", 0.0)], left) == 50.0


def test_the_run_under_way_has_been_at_it_since_the_last_ended() -> None:
    left = {"b": 20.0, "c": 30.0}
    jobs, ended = [job(1, "abc", 1000.0)], {"a": 1009.0}
    soon, late = eta(jobs, of(left), ended, 1014.0), eta(jobs, of(left), ended, 9999.0)
    assert soon is not None
    assert late is not None
    assert soon.seconds == 20 + 30 - 5
    assert late.seconds == 30.0  # the one under way may end at any moment, as far as is known


def test_queued_jobs_follow_where_a_job_ends_first() -> None:
    left = {"a": 10.0, "b": 30.0, "c": 25.0, "d": 10.0}
    jobs = [job(1, "a", 0.0), job(2, "b", 0.0), job(3, "c"), job(4, "d")]
    assert seconds(jobs, left) == 40.0  # c from 10 to 35, d from 30 to 40
    found = eta(jobs, of(left), {}, 0.0)
    assert found is not None
    assert found.work == 75.0
    assert found.assumes == "queued jobs follow the 2 jobs that run now"


def test_while_none_runs_it_is_not_known_when_one_will() -> None:
    found = eta([job(1, "ab"), job(2, "c")], of({"a": 1.0, "b": 2.0, "c": 3.0}), {}, 0.0)
    assert found is not None
    assert (found.seconds, found.work) == (None, 6.0)
    assert eta([], of({"a": 1.0}), {}, 0.0) is None


def test_a_job_that_is_only_about_to_exit_takes_no_time() -> None:
    assert seconds([job(1, "ab", 0.0)], {}) == 0.0


@given(
    running=st.lists(st.integers(0, 20), min_size=1, max_size=4),
    waiting=st.lists(st.integers(0, 20), max_size=6),
)
def test_as_a_simulation_second_by_second(running: list[int], waiting: list[int]) -> None:
    lengths = [*running, *waiting]
    left = {f"r{n}": float(length) for n, length in enumerate(lengths)}
    jobs = [job(n, [f"r{n}"], 0.0 if n < len(running) else None) for n in range(len(lengths))]
    slots, queue, clock = list(running), list(waiting), 0
    while True:
        slots = [queue.pop(0) if it == 0 and queue else it for it in slots]
        while queue and 0 in slots:
            slots[slots.index(0)] = queue.pop(0)
        if not any(slots):
            break
        slots = [max(0, it - 1) for it in slots]
        clock += 1
    assert seconds(jobs, left) == clock
