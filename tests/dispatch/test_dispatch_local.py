"""Watching this machine's workers: how often, and that nobody waits for a worker that has ended."""

import time
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from anynet_study.dispatch import local
from anynet_study.dispatch.local import LOOK_SHARE, SHORTEST_LOOK, _LocalTraining, _wait


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A plan without runs, whose looks at the journals take the seconds in `costs`."""
    clock = SimpleNamespace(now=100.0)
    costs: list[float] = []

    def read() -> Any:
        clock.now += costs.pop(0)
        return SimpleNamespace(failed_kinds=lambda *_: Counter(), todo=lambda *_: [])

    monkeypatch.setattr(local, "time", SimpleNamespace(monotonic=lambda: clock.now))
    training = _LocalTraining(SimpleNamespace(journals=None), None, [])  # type: ignore[arg-type]
    training.reader = SimpleNamespace(read=read)  # type: ignore[assignment]
    return SimpleNamespace(
        looks=lambda *seconds: costs.extend(seconds) or [training._look() for _ in seconds]
    )


def test_one_slow_look_delays_nothing(here: Any) -> None:
    """The first that finds a journal imports what reads it."""
    assert here.looks(0.0, 0.4, 0.0, 0.0) == [SHORTEST_LOOK] * 4


def test_looks_that_stay_slow_take_a_small_share_of_the_time(here: Any) -> None:
    assert here.looks(1.0, 1.0, 2.0)[1:] == pytest.approx([1 / LOOK_SHARE] * 2)


def test_the_end_of_a_worker_is_not_waited_out() -> None:
    looks = iter([False, False, True])
    crew = [SimpleNamespace(job=SimpleNamespace(done=lambda: next(looks)))]
    began = time.monotonic()
    _wait(1e9, crew)  # type: ignore[arg-type]
    assert time.monotonic() - began < 60
    assert next(looks, None) is None
