"""Signals: noted, answered between two steps, and passed on to who else wants them."""

import os
import signal

import pytest

from anynet_study.dispatch.process import NOTED, TUNABLES, Interruption, huge_pages

HUGE = "glibc.malloc.hugetlb=1"


@pytest.mark.parametrize("number", NOTED)
def test_each_signal_is_noted_and_handlers_are_put_back(number: signal.Signals) -> None:
    at_first = signal.signal(number, signal.default_int_handler)
    try:
        before = [signal.getsignal(each) for each in NOTED]
        interruption = Interruption()
        assert not interruption.requested()
        with interruption.listening():
            signal.raise_signal(number)
            assert interruption.requested()
        assert interruption.signal == number
        assert [signal.getsignal(each) for each in NOTED] == before
    finally:
        signal.signal(number, at_first)


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        interruption = Interruption()
        with interruption.listening():
            signal.raise_signal(signal.SIGINT)
        assert not interruption.requested()
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("number", "passed_on"),
    [(signal.SIGUSR2, True), (signal.SIGUSR1, True), (signal.SIGTERM, False)],
)
def test_what_else_waits_for_preemption_is_told_afterwards(
    number: signal.Signals, passed_on: bool
) -> None:
    told: list[int] = []
    before = signal.signal(number, lambda caught, _: told.append(caught))
    try:
        interruption = Interruption()
        with interruption.listening():
            signal.raise_signal(number)
            assert told == []
        interruption.pass_on()
    finally:
        signal.signal(number, before)
    assert told == ([number] if passed_on else [])


@pytest.mark.parametrize("before", [None, "glibc.malloc.check=0"])
def test_huge_pages_are_asked_for_beside_what_is_set(
    before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if before is None:
        monkeypatch.delenv(TUNABLES, raising=False)
    else:
        monkeypatch.setenv(TUNABLES, before)
    with huge_pages():
        assert os.environ[TUNABLES].split(":") == [*([before] if before else []), HUGE]
    assert os.environ.get(TUNABLES) == before
