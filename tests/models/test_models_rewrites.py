"""Accelerated networks are the plain ones: state, logits, gradients and running statistics."""

import copy

import pytest
import torch
from architecture_strategies import architectures
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from anynet_study.design_space import Architecture
from anynet_study.models import AnyNet, accelerate, build

SMALL = Architecture(
    (1, 2, 1, 1), (8, 16, 32, 64), (1, 2, 4, 4), (8, 4, 2, 1), stem="cifar", se_ratio=0.5
)
BASIC = Architecture((2, 1), (8, 16), strides=(1, 2), stem="imagenet", stem_width=8, block="basic")


def pair(a: Architecture, resolution: int, device_type: str = "cpu") -> tuple[AnyNet, AnyNet]:
    """A plain network in double precision, with random norms, and its accelerated copy."""
    plain = build(a, 3, torch.Generator().manual_seed(0)).double()
    generator = torch.Generator().manual_seed(1)
    for module in plain.modules():
        if isinstance(module, nn.BatchNorm2d):
            for values in (module.weight, module.bias, module.running_mean, module.running_var):
                assert values is not None
                nn.init.uniform_(values, 0.5, 1.5, generator=generator)
    fast = copy.deepcopy(plain)
    accelerate(fast, resolution, device_type)  # type: ignore[arg-type]
    return plain, fast


def images_of(resolution: int, n: int = 4) -> Tensor:
    generator = torch.Generator().manual_seed(2)
    images = torch.randn(n, 3, resolution, resolution, generator=generator, dtype=torch.float64)
    return images.to(memory_format=torch.channels_last)


def gradients(network: AnyNet, images: Tensor) -> list[Tensor]:
    """Of a loss in which every logit counts, by the images and by each parameter."""
    images = images.clone().requires_grad_()
    logits = network(images)
    weights = torch.linspace(-1, 1, logits.numel(), dtype=logits.dtype).view_as(logits)
    (logits.sigmoid() * weights).sum().backward()  # type: ignore[no-untyped-call]
    found = [images.grad, *(weights.grad for weights in network.parameters())]
    assert all(gradient is not None for gradient in found)
    return [gradient for gradient in found if gradient is not None]


def assert_close(first: Tensor, second: Tensor) -> None:
    scale = max(first.abs().max().item(), 1.0)
    torch.testing.assert_close(first, second, rtol=1e-10, atol=1e-10 * scale)


def assert_same_function(plain: AnyNet, fast: AnyNet, resolution: int) -> None:
    images = images_of(resolution)
    for training in (True, False):
        for network in (plain, fast):
            network.train(training).zero_grad()
        for first, second in zip(gradients(plain, images), gradients(fast, images), strict=True):
            assert_close(first, second)
        for first, second in zip(plain.buffers(), fast.buffers(), strict=True):
            assert_close(first, second)
    with torch.no_grad():
        assert_close(plain(images), fast(images))


@given(architectures(most_depth=2), st.sampled_from([1, 2, 3, 4, 5, 8, 9, 16, 32]), st.booleans())
@settings(derandomize=True, deadline=None, max_examples=60)
def test_every_architecture_is_the_same_function(
    a: Architecture, resolution: int, gpu: bool
) -> None:
    assert_same_function(*pair(a, resolution, "cuda" if gpu else "cpu"), resolution)


@pytest.mark.parametrize("a", [SMALL, BASIC])
def test_parameters_and_buffers_stay_the_same_tensors_in_the_same_order(a: Architecture) -> None:
    network = build(a, 4)
    state = network.state_dict(keep_vars=True)
    parameters = list(network.parameters())
    accelerate(network, 16)
    after = network.state_dict(keep_vars=True)
    assert list(after) == list(state)
    assert all(after[name] is tensor for name, tensor in state.items())
    pairs = zip(network.parameters(), parameters, strict=True)
    assert all(one is other for one, other in pairs)
