"""Recording, taking turns and computing twice: nothing of it changes a run."""

import copy
import dataclasses
import gc
import weakref
from collections.abc import Callable, Generator
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from training_runs import CPU, NETWORK, same, spec, turns

from anynet_study.data import DatasetView
from anynet_study.engine.models import AnyNet, Backend, build
from anynet_study.engine.training import (
    DeviceImages,
    Options,
    Outcome,
    graphs,
    together,
    train,
    train_together,
)
from anynet_study.engine.training.engine import make_trainer
from anynet_study.engine.training.graphs import LEAD, WARM_UP, Paced, Programs
from anynet_study.engine.training.network import recompute_stages
from anynet_study.engine.training.together import finish

PLAIN = Options(backend=Backend("plain", "", 1))


# Graphs.


class FakeGraph:
    """Replays by calling the procedure: what a CUDA graph does, if the procedure allows it."""

    def __init__(self, body: Callable[[], None], said: list[str]) -> None:
        self.body, self.said = body, said
        said.append("record")

    def pool(self) -> tuple[int, int]:
        return (0, 1)

    def replay(self) -> None:
        self.said.append("replay")
        self.body()


def test_a_program_warms_up_leaves_no_trace_records_once_and_replays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    counter, table = torch.zeros(1, dtype=torch.int64), torch.tensor([5.0, 7.0])
    total = torch.zeros(1)

    def body() -> None:
        said.append(f"body at {int(counter)}, {float(total)}")
        total.add_(table.index_select(0, counter))  # past its end this fails
        counter.add_(1)

    monkeypatch.setattr(graphs, "cuda_graph", lambda body, _: FakeGraph(body, said))
    programs = Programs(graph=True)
    programs("step", body, lambda: [counter, total])
    warm = ["body at 0, 0.0"] * WARM_UP
    assert said == [*warm, "record", "replay", "body at 0, 0.0"]
    programs("step", body, lambda: [])
    assert said[-2:] == ["replay", "body at 1, 5.0"]
    assert (int(counter), float(total)) == (2, 12.0)


def test_programs_share_the_memory_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    pools: list[object] = []

    def record(body: Callable[[], None], pool: object) -> FakeGraph:
        pools.append(pool)
        return FakeGraph(body, [])

    monkeypatch.setattr(graphs, "cuda_graph", record)
    programs = Programs(graph=True)
    for name in ("step", "test", "step", "norms"):
        programs(name, lambda: None, lambda: [])
    assert pools == [None, (0, 1), (0, 1)]


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

    paced = Paced(Counted(lambda: None, []), Event)
    for _ in range(20):
        paced.replay()
    assert told == [max(0, number - LEAD + 1) for number in range(20)]
    assert waited == list(range(1, 20 - LEAD + 1))


@pytest.mark.parametrize("options", [Options(), Options(recompute=True), Options(resident=False)])
def test_a_run_that_is_over_frees_its_memory_at_once(view: DatasetView, options: Options) -> None:
    """Without a collection of garbage: a GPU's memory must not wait for one."""

    def begun() -> Any:
        trainer = make_trainer(spec(view), view, DeviceImages(CPU), "fast", options)
        trainer.begin_epoch(0)
        trainer.step()
        finish(trainer.test())
        return trainer

    begun()  # imports on the way hold on to frames
    gc.collect()
    gc.disable()
    try:
        trainer = begun()
        gone = weakref.ref(trainer), weakref.ref(trainer.model), weakref.ref(trainer.model.head)
        del trainer
        assert [reference() for reference in gone] == [None] * 3
    finally:
        gc.enable()


# Turns: each run gives what it gives alone, and ends for itself.


@pytest.mark.parametrize("resident", [True, False])
def test_interleaved_runs_are_what_they_are_alone(view: DatasetView, resident: bool) -> None:
    options = dataclasses.replace(PLAIN, resident=resident)
    runs = [spec(view, epochs=epochs, lr=lr) for epochs, lr in ((1, 0.05), (2, 0.02), (1, 1e30))]
    images = DeviceImages(CPU)

    starts = [partial(turns, run, view, images, options) for run in runs]
    results = {ended.number: ended.result for ended in train_together(starts, CPU)}
    for number, run in enumerate(runs):
        result = results[number]
        assert isinstance(result, Outcome)
        alone = train(run, view, CPU, options=options)
        assert (result.status, result.error) == (alone.status, alone.error)
        assert number == 2 or same(result, alone)
    assert results[2].status == "diverged"  # type: ignore[union-attr]
    if not resident:  # 5 steps a pass of training, 1 of the test images
        streams = {key[1]: stream.reads for key, stream in images._streams.items()}
        assert streams == {"train": 2 * 5, "test": 1}


gone: list[weakref.ref[torch.Tensor]] = []


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


def cannot_begin() -> Generator[None, None, str]:
    raise MemoryError("no room")
    yield


def test_an_exception_ends_its_own_run_and_lets_go_of_what_it_held() -> None:
    gone.clear()
    starts = [partial(counting, 2), partial(counting, 1, fail=True), cannot_begin]
    seen, kept = [], []
    for ended in train_together([*starts, partial(counting, 4)], CPU):
        seen.append((ended.number, str(ended.result)))
        kept.append(ended.result)
    assert seen == [(2, "no room"), (1, "no more"), (0, "done"), (3, "done")]
    assert isinstance(kept[0], MemoryError)
    assert isinstance(kept[1], ValueError)
    assert kept[1].__traceback__ is not None  # where it was is still told
    assert [reference() for reference in gone] == [None] * 3


def test_the_time_of_a_round_is_shared_by_those_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def busy(lengths: list[float]) -> Generator[None, None, None]:
        nonlocal now
        for length in lengths[:-1]:
            now += length
            yield
        now += lengths[-1]

    monkeypatch.setattr(together.time, "perf_counter", lambda: now)
    lengths = [[1.0], [2.0, 4.0], [3.0, 5.0, 7.0]]
    seconds = {}
    for ended in train_together([partial(busy, each) for each in lengths], CPU):
        seconds[ended.number] = ended.seconds
        now += 100  # what is done with a result is no run's time
    rounds = [6.0 / 3, 9.0 / 2, 7.0]
    assert seconds == {0: rounds[0], 1: rounds[0] + rounds[1], 2: sum(rounds)}


def test_runs_of_one_place_share_a_stream_that_waits_for_what_precedes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each new stream takes 64 MiB; and data are brought to the GPU on the default one."""
    waits: list[object] = []

    class Stream:
        def __init__(self, device: torch.device) -> None:
            self.device = device

        def wait_stream(self, other: object) -> None:
            waits.append((self, other))

    used: list[object] = []
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: "default")
    monkeypatch.setattr(torch.cuda, "stream", lambda it: (used.append(it), nullcontext())[1])
    together._cuda_stream.cache_clear()
    for _ in range(2):
        list(train_together([partial(counting, 2)] * 3, torch.device("cuda")))
    together._cuda_stream.cache_clear()
    streams = list(dict.fromkeys(used))
    assert len(streams) == 3
    assert waits == [(stream, "default") for stream in streams] * 2


# Activations computed twice: less is kept between the passes, and nothing else is different.


@pytest.fixture
def pair() -> tuple[AnyNet, AnyNet]:
    network = build(NETWORK, 6, generator=torch.Generator().manual_seed(0))
    recomputed = copy.deepcopy(network)
    recompute_stages(recomputed)
    return network, recomputed


def batch() -> Tensor:
    return torch.randn(16, 3, 8, 8, generator=torch.Generator().manual_seed(1))


def kept_by(network: nn.Module) -> int:
    """Bytes that the forward pass keeps for the backward pass, parameters aside."""
    mine = {value.data_ptr() for value in network.state_dict().values()}
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        if tensor.data_ptr() not in mine:
            kept[tensor.data_ptr()] = tensor.nbytes
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = network(batch()).square().sum()
    total = sum(kept.values())
    loss.backward()
    return total


def test_less_is_kept_between_the_passes(pair: tuple[AnyNet, AnyNet]) -> None:
    network, recomputed = pair
    assert kept_by(recomputed) < 0.5 * kept_by(network)
