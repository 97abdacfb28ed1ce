"""Activations computed twice: less is kept between the passes, and nothing else is different."""

import copy

import pytest
import torch
from torch import Tensor, nn
from training_runs import NETWORK, spec

from anynet_study.data import DatasetView
from anynet_study.models import AnyNet, build
from anynet_study.training.cuda.recompute import recompute_stages
from anynet_study.training.engine import make_trainer
from anynet_study.training.feeds import DeviceImages
from anynet_study.training.options import Options


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


def test_gradients_and_running_statistics_are_the_same_bits(pair: tuple[AnyNet, AnyNet]) -> None:
    losses = []
    for network in pair:
        for _ in range(2):
            loss = network(batch()).square().sum()
            loss.backward()
        losses.append(loss)
    assert torch.equal(*losses)
    for (name, one), (other_name, other) in zip(
        pair[0].named_parameters(), pair[1].named_parameters(), strict=True
    ):
        assert name == other_name
        assert torch.equal(one.grad, other.grad), name
    states = [network.state_dict() for network in pair]
    assert list(states[0]) == list(states[1])
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())
    counted = [value for name, value in states[1].items() if name.endswith("batches_tracked")]
    assert {int(value) for value in counted} == {2}


def test_less_is_kept_between_the_passes(pair: tuple[AnyNet, AnyNet]) -> None:
    network, recomputed = pair
    assert kept_by(recomputed) < 0.5 * kept_by(network)


def test_a_linear_probe_and_a_test_pass_need_no_gradients(pair: tuple[AnyNet, AnyNet]) -> None:
    results = []
    for network in pair:
        network.requires_grad_(False).eval()
        network.head.requires_grad_(True)
        network(batch()).sum().backward()
        with torch.no_grad():
            results.append((network.head.weight.grad, network(batch())))
    assert all(map(torch.equal, *results))


def test_rewritten_networks_are_recomputed_too(view: DatasetView) -> None:
    states = []
    for recompute in (False, True):
        trainer = make_trainer(
            spec(view),
            view,
            DeviceImages(torch.device("cpu")),
            "fast",
            Options(recompute=recompute),
        )
        trainer.begin_epoch(0)
        for _ in range(2):
            trainer.step()
        states.append(trainer.model.state_dict())
    assert list(states[0]) == list(states[1])
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())
