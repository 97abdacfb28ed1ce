"""The closed forms of training memory against what torch saves, makes and frees."""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from architecture_strategies import architectures
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from anynet_study.design_space import Architecture, DesignSpace
from anynet_study.design_space.memory import buffers_by_part, saved_tensors_by_part
from anynet_study.design_space.space import SPACES
from anynet_study.engine.models import AnyNet, build


@contextmanager
def saved_storages(network: nn.Module) -> Iterator[dict[int, int]]:
    """Collect the bytes of each storage that autograd saves, by its address."""
    own = {t.untyped_storage().data_ptr() for t in (*network.parameters(), *network.buffers())}
    found: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with saved_tensors_hooks(note, lambda tensor: tensor):
        yield found


@given(
    architectures(most_depth=2),
    st.sampled_from([1, 2, 7, 8, 33]),
    st.integers(1, 20),
    st.integers(2, 3),
)
@settings(derandomize=True, deadline=None, max_examples=30)
def test_what_is_saved_is_what_autograd_saves(
    a: Architecture, resolution: int, classes: int, batch: int
) -> None:
    network, networks = build(a, classes), a.networks()
    images = torch.zeros(batch, 3, resolution, resolution)
    labels = torch.zeros(batch, dtype=torch.int64)
    with saved_storages(network) as found:
        loss = nn.functional.cross_entropy(network(images), labels)
    stem, stages, head = saved_tensors_by_part(networks, resolution, classes, batch)
    assert sum(found.values()) == stem + stages.sum() + head[0]
    assert loss.requires_grad  # the graph, and so all of these storages, lived until here
    stem, stages, head = buffers_by_part(networks)
    assert sum(buffer.nbytes for buffer in network.buffers()) == stem + stages.sum() + head[0]


class Alive(TorchDispatchMode):
    """Keeps count of the bytes of all tensors that are alive."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self.known: weakref.WeakSet[Any] = weakref.WeakSet()

    def add(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        if storage not in self.known:
            self.known.add(storage)
            self.now += storage.nbytes()
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self.free, storage.nbytes())

    def free(self, size: int) -> None:
        self.now -= size

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor):
                self.add(leaf)
        return result


def recorded_peak(a: Architecture, resolution: int, classes: int, batch: int) -> int:
    """Bytes alive at the peak of a step of the plain loop but its first; nothing is computed."""
    with FakeTensorMode():
        network, alive = AnyNet(a, classes), Alive()
        optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9, foreach=False)
        for weights in network.parameters():
            weights.grad = torch.zeros_like(weights)
        optimizer.step()
        for weights in network.parameters():
            for tensor in (weights, weights.grad, optimizer.state[weights]["momentum_buffer"]):
                alive.add(tensor)
        del tensor
        images = torch.zeros(batch, 3, resolution, resolution)
        labels = torch.zeros(batch, dtype=torch.int64)
        for tensor in (*network.buffers(), images, labels):
            alive.add(tensor)
        with alive:
            logits = network(images)
            loss = nn.functional.cross_entropy(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return alive.peak


@pytest.mark.slow
@given(
    architectures(most_stages=5),
    st.sampled_from([24, 33, 64]),
    st.sampled_from([1, 10, 300]),
    st.sampled_from([8, 64]),
)
@settings(derandomize=True, deadline=None, max_examples=5)
def test_the_peak_of_any_network(
    a: Architecture, resolution: int, classes: int, batch: int
) -> None:
    closed = a.training_memory(batch, resolution, classes)
    assume(closed > 1e6)  # below, maps of one pixel are not small beside the others
    assert closed == pytest.approx(recorded_peak(a, resolution, classes, batch), rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("base", SPACES)
def test_the_peak_of_random_members_of_a_space(base: str) -> None:
    population = DesignSpace.from_spec(base).sample(2, flops=(1e8, 4e8), seed=1)
    for a, (resolution, batch) in zip(population, [(224, 16), (65, 3)], strict=True):
        closed = a.training_memory(batch, resolution, 1000)
        assert closed == pytest.approx(recorded_peak(a, resolution, 1000, batch), rel=0.01)
