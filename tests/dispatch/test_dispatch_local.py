"""Watching this machine's workers: nobody waits for a worker that has ended."""

import time
from types import SimpleNamespace

from anynet_study.dispatch import local


def test_the_end_of_a_worker_is_not_waited_out(monkeypatch) -> None:
    monkeypatch.setattr(local, "LOOK_SECONDS", 1e9)
    looks = iter([False, False, True])
    workers = [SimpleNamespace(job=SimpleNamespace(done=lambda: next(looks)))]
    began = time.monotonic()
    local._wait(workers)  # type: ignore[arg-type]
    assert time.monotonic() - began < 60
    assert next(looks, None) is None
