"""Dealing jobs to arrays: every job once, no array too large, no more at a time than allowed."""

from collections import Counter
from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as some

from anynet_study.dispatch.slurm.script import deal, lanes

COUNTS = some.integers(1, 200)


@given(COUNTS, some.integers(1, 50), some.integers(1, 250))
def test_chained_arrays_run_no_more_than_allowed(jobs: int, size: int, parallel: int) -> None:
    shares = lanes(jobs, size, parallel)
    arrays = list(deal(range(jobs), len(shares), size))
    assert sorted(job for _, part in arrays for job in part) == list(range(jobs))
    assert all(0 < len(part) <= size for _, part in arrays)
    if parallel >= jobs:
        assert shares == [None]
        return
    # Lanes run side by side, the arrays of one after each other.
    assert sum(share or 0 for share in shares) == parallel
    assert all(share for share in shares)
    in_lane = Counter(lane for lane, _ in arrays)
    assert all(
        count == 1 or shares[lane] == 1 or len(shares) == 1 for lane, count in in_lane.items()
    )


@given(COUNTS, some.integers(1, 50), some.integers(1, 250))
def test_early_jobs_are_early_in_their_lanes(jobs: int, size: int, parallel: int) -> None:
    shares = lanes(jobs, size, parallel)
    hands: dict[int, list[int]] = {}
    for lane, part in deal(range(jobs), len(shares), size):
        hands.setdefault(lane, []).extend(part)
    turns = [job for turn in zip_longest(*hands.values()) for job in turn if job is not None]
    assert turns == list(range(jobs))


@pytest.mark.parametrize("size", [0, 1])
def test_where_there_are_no_arrays_each_job_is_alone(size: int) -> None:
    assert list(deal("abc", len(lanes(3, size, None)), size)) == [(0, "a"), (0, "b"), (0, "c")]
    assert lanes(3, size, 2) == [1, 1]
