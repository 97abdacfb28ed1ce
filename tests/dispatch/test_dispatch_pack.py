"""Packing: nothing lost, nothing twice, order kept, lengths as asked."""

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from anynet_study.dispatch.pack import pack_by_length, pack_for_workers

lengths = st.lists(st.floats(0.1, 1000), max_size=60)


def runs(seconds: list[float]) -> Any:
    scratch = SimpleNamespace(pretrained=None, architecture=None)
    return [
        SimpleNamespace(run_id=str(n), seconds=length, spec=scratch, replicate=0)
        for n, length in enumerate(seconds)
    ]


@given(lengths, st.integers(1, 9))
def test_workers_share_all_runs_in_order(seconds: list[float], workers: int) -> None:
    packed = pack_for_workers(runs(seconds), workers)
    assert len(packed) == min(workers, len(seconds))
    numbers = [[int(run.run_id) for run in part] for part in packed]
    assert sorted(number for part in numbers for number in part) == list(range(len(seconds)))
    assert all(part == sorted(part) for part in numbers)


@given(lengths.filter(bool), st.integers(1, 9))
def test_no_worker_is_busy_much_longer_than_needed(seconds: list[float], workers: int) -> None:
    busy = [sum(run.seconds for run in part) for part in pack_for_workers(runs(seconds), workers)]
    assert max(busy) <= sum(seconds) / workers + max(seconds) + 1e-6


@given(lengths, st.floats(1, 500))
def test_jobs_are_consecutive_and_not_too_long(seconds: list[float], target: float) -> None:
    packed = list(pack_by_length(runs(seconds), target))
    assert [run.run_id for part in packed for run in part] == [str(n) for n in range(len(seconds))]
    for part in packed:
        assert len(part) == 1 or sum(run.seconds for run in part) <= target + 1e-6
