"""Programs: what a recording needs before it, in which order, and what it leaves behind."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from training_runs import spec

from anynet_study.data import DatasetView
from anynet_study.training.cuda import graphs
from anynet_study.training.cuda.graphs import LEAD, WARM_UP, Paced, Program
from anynet_study.training.engine import make_trainer
from anynet_study.training.feeds import DeviceImages
from anynet_study.training.options import Options
from anynet_study.training.trainer import PassResult as Outcome

CPU = torch.device("cpu")


class FakeGraph:
    """Replays by calling the procedure: what a CUDA graph does, if the procedure allows it."""

    def __init__(self, body: Callable[[], None], pool: Any, said: list[str]) -> None:
        self.body, self.given, self.said = body, pool, said
        said.append(f"record in {pool or 'new memory'}")

    def replay(self) -> None:
        self.said.append("replay")
        self.body()

    def pool(self) -> str:
        return "the memory of the first"


def test_it_warms_up_leaves_no_trace_records_once_and_replays() -> None:
    said: list[str] = []
    counter, table = torch.zeros(1, dtype=torch.int64), torch.tensor([5.0, 7.0])
    total = torch.zeros(1)

    def body() -> None:
        said.append(f"body at {int(counter)}, {float(total)}")
        total.add_(table.index_select(0, counter))  # past its end this fails
        counter.add_(1)

    def record(body: Callable[[], None], pool: Any) -> FakeGraph:
        return FakeGraph(body, pool, said)

    program = Program(graph=True, record=record)
    beside = Program(graph=True, share_memory_with=program, record=record)
    program(body, lambda: [counter, total])
    warm = ["body at 0, 0.0"] * WARM_UP
    assert said == [*warm, "record in new memory", "replay", "body at 0, 0.0"]
    program(body, lambda: [])
    assert said[-2:] == ["replay", "body at 1, 5.0"]
    assert (int(counter), float(total)) == (2, 12.0)
    counter.zero_()
    beside(body, lambda: [counter, total])
    assert "record in the memory of the first" in said


def test_without_a_graph_it_is_called_as_it_is() -> None:
    calls: list[int] = []
    program = Program(graph=False, record=lambda *_: pytest.fail("recorded"))
    for number in range(3):
        program(lambda number=number: calls.append(number), lambda: pytest.fail("asked"))
    assert calls == [0, 1, 2]


def test_the_host_is_only_so_far_ahead_of_the_device() -> None:
    told: list[int] = []
    waited: list[int] = []

    class Event:
        at = 0

        def record(self) -> None:
            self.at = len(told)

        def synchronize(self) -> None:
            waited.append(self.at)

    class Counted(FakeGraph):
        def replay(self) -> None:
            told.append(len(waited))

    paced = Paced(Counted(lambda: None, None, []), Event)
    for _ in range(20):
        paced.replay()
    assert told == [max(0, number - LEAD + 1) for number in range(20)]
    assert waited == list(range(1, 20 - LEAD + 1))


@pytest.mark.parametrize("recipe", [{}, {"optimizer": "adamw", "nesterov": False}])
def test_a_run_of_programs_is_the_run(
    view: DatasetView, recipe: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Graphs of training and test steps change nothing: all that they change is put back."""
    said: list[str] = []
    monkeypatch.setattr(graphs, "cuda_graph", lambda body, pool: FakeGraph(body, pool, said))
    run = spec(view, epochs=1, **recipe)
    results = []
    for as_graph in (False, True):
        trainer = make_trainer(run, view, DeviceImages(CPU), "fast", Options(rewrites=False))
        trainer.program._wanted = trainer.tests.program._wanted = as_graph  # type: ignore[attr-defined]
        trainer.begin_epoch(0, steps_done=3)  # with fewer steps left than the warm-up has
        for _ in range(2):
            trainer.step()
        tested, trained = _tested(trainer), trainer.trained()
        weights = [value.clone() for value in trainer.model.state_dict().values()]
        results.append((tested.values, trained, weights))
    assert said.count("replay") == 2 + 1  # two steps, and a batch of test images
    (first, second) = results
    assert first[:2] == second[:2]
    assert all(map(torch.equal, first[2], second[2]))


def _tested(trainer: Any) -> Outcome:
    turns = trainer.test()
    while True:
        try:
            next(turns)
        except StopIteration as end:
            tested: Outcome = end.value
            return tested


@pytest.mark.parametrize("options", [Options(), Options(recompute=True), Options(resident=False)])
def test_a_run_that_is_over_frees_its_memory_at_once(view: DatasetView, options: Options) -> None:
    """Without a collection of garbage: a GPU's memory must not wait for one."""
    _steps(view, options)  # imports on the way hold on to frames
    gc.collect()
    gc.disable()
    try:
        trainer = _steps(view, options)
        gone = weakref.ref(trainer), weakref.ref(trainer.model), weakref.ref(trainer.model.head)
        del trainer
        assert [each() for each in gone] == [None] * 3
    finally:
        gc.enable()


def _steps(view: DatasetView, options: Options) -> Any:
    trainer = make_trainer(spec(view), view, DeviceImages(CPU), "fast", options)
    trainer.begin_epoch(0)
    trainer.step()
    _tested(trainer)
    return trainer
