"""Runs that take turns: each gives what it gives alone, and ends for itself."""

import dataclasses
import weakref
from collections.abc import Generator
from functools import partial

import pytest
import torch
from training_runs import same, spec

from anynet_study.data import DatasetView
from anynet_study.training.checkpoint import Checkpoint
from anynet_study.training.cuda import together
from anynet_study.training.cuda.together import train_together
from anynet_study.training.engine import Outcome, make_trainer, steps, train
from anynet_study.training.feeds import DeviceImages
from anynet_study.training.options import Options

CPU = torch.device("cpu")
PLAIN = Options(rewrites=False)


@pytest.mark.parametrize("resident", [True, False])
def test_interleaved_they_are_what_they_are_alone(view: DatasetView, resident: bool) -> None:
    options = dataclasses.replace(PLAIN, resident=resident)
    runs = [spec(view, epochs=epochs, lr=lr) for epochs, lr in ((1, 0.05), (2, 0.02), (1, 1e30))]
    source = DeviceImages(CPU)

    def start(number: int) -> together.Turns[Outcome]:
        trainer = make_trainer(runs[number], view, source, "fast", options)
        saved = Checkpoint(None, runs[number].run_id, "fast")
        return steps(trainer, runs[number], view, saved)

    ended = {one.number: one for one in train_together([partial(start, n) for n in range(3)], CPU)}
    for number, run in enumerate(runs):
        result = ended[number].result
        assert isinstance(result, Outcome)
        alone = train(run, view, CPU, options=options)
        assert (result.status, result.error) == (alone.status, alone.error)
        assert number == 2 or same(result, alone)
    assert ended[2].result.status == "diverged"  # type: ignore[union-attr]
    if not resident:  # 5 steps a pass of training, 1 of the test images
        streams = {key[1]: stream.reads for key, stream in source._streams.items()}
        assert streams == {"train": 2 * 5, "test": 1}


def counting(turns: int, fail: bool = False) -> Generator[None, None, str]:
    held = torch.zeros(4)
    gone.append(weakref.ref(held))
    for _ in range(turns):
        yield
    if fail:
        try:
            raise RuntimeError("first")
        except RuntimeError:
            raise ValueError("no more") from None
    return "done"


gone: list[weakref.ref[torch.Tensor]] = []


def test_an_exception_ends_its_own_run_and_lets_go_of_what_it_held() -> None:
    gone.clear()
    starts = [partial(counting, 2), partial(counting, 1, fail=True), partial(counting, 4)]
    seen, kept = [], []
    for one in train_together(starts, CPU):
        seen.append((one.number, str(one.result)))
        kept.append(one.result)
    assert seen == [(1, "no more"), (0, "done"), (2, "done")]
    assert isinstance(kept[0], ValueError)
    assert kept[0].__traceback__ is not None  # where it was is still told
    assert [each() for each in gone] == [None] * 3


def test_a_run_that_cannot_begin_is_one_that_failed() -> None:
    def start() -> Generator[None, None, str]:
        raise MemoryError("no room")
        yield

    results = {one.number: one.result for one in train_together([start, partial(counting, 1)], CPU)}
    assert isinstance(results[0], MemoryError)
    assert results[1] == "done"


def test_the_time_of_a_round_is_shared_by_those_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def clock() -> float:
        return now

    def busy(lengths: list[float]) -> Generator[None, None, None]:
        nonlocal now
        for length in lengths[:-1]:
            now += length
            yield
        now += lengths[-1]

    monkeypatch.setattr(together.time, "perf_counter", clock)
    lengths = [[1.0], [2.0, 4.0], [3.0, 5.0, 7.0]]
    ended = {}
    for one in train_together([partial(busy, each) for each in lengths], CPU):
        ended[one.number] = one.seconds
        now += 100  # what is done with a result is no run's time
    rounds = [6.0 / 3, 9.0 / 2, 7.0]
    assert ended == {0: rounds[0], 1: rounds[0] + rounds[1], 2: sum(rounds)}
    assert sum(ended.values()) == 22.0
