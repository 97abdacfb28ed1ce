"""Accelerated networks are the plain ones: state, logits, gradients and running statistics."""

import copy

import pytest
import torch
from architecture_strategies import architectures
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from anynet_study.design_space import Architecture
from anynet_study.engine.models import AnyNet, Backend, accelerate, backend_here, build
from anynet_study.engine.models.convolutions import (
    LARGE_MAPS,
    Convolution,
    PointwiseConvolution,
    TorchConvolution,
    as_rows,
    convolution_on_rows,
    matrix_convolution,
)
from anynet_study.engine.models.rewrites import MiddleTap
from anynet_study.engine.models.row_layers import RowLayer

SMALL = Architecture(
    (1, 2, 1, 1), (8, 16, 32, 64), (1, 2, 4, 4), (8, 4, 2, 1), stem="cifar", se_ratio=0.5
)
CUDA = Backend("rewritten", "sm_90", 1, "cuda")
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
    accelerate(fast, resolution, CUDA if device_type == "cuda" else backend_here())
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


@pytest.mark.slow
@given(
    architectures(most_depth=2),
    st.sampled_from([1, 2, 3, 4, 5, 8, 9, 16, 32]),
    st.sampled_from(["cpu", "cpu", "cuda"]),
)
@settings(derandomize=True, deadline=None, max_examples=15)
def test_every_architecture_is_the_same_function(
    a: Architecture, resolution: int, device_type: str
) -> None:
    assert_same_function(*pair(a, resolution, device_type), resolution)


def test_large_maps_are_convolved_by_torch_but_with_a_stride() -> None:
    layers = [nn.Conv2d(8, 128, 1, stride, bias=False).double() for stride in (1, 2)]
    large, strided = (convolution_on_rows(layer, LARGE_MAPS) for layer in layers)
    assert isinstance(large, TorchConvolution)
    assert isinstance(strided, PointwiseConvolution)
    assert isinstance(convolution_on_rows(layers[0], LARGE_MAPS - 1), PointwiseConvolution)
    for layer, operator in zip(layers, (large, strided), strict=True):
        assert_same_convolution(layer, operator, LARGE_MAPS)
    assert_same_function(*pair(SMALL, 2 * LARGE_MAPS), 2 * LARGE_MAPS)


@given(st.data())
@settings(derandomize=True, deadline=None, max_examples=60)
def test_maps_of_a_few_pixels_are_convolved_by_matrices(data: st.DataObject) -> None:
    side, stride = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
    groups, i, o = (data.draw(st.sampled_from(values)) for values in ([1, 2, 6], [1, 3], [1, 2]))
    layer = nn.Conv2d(groups * i, groups * o, 3, stride, 1, groups=groups, bias=False).double()
    operator = matrix_convolution(layer, side)
    if operator is None:
        assert side > 1
    else:
        assert_same_convolution(layer, operator, side)


def assert_same_convolution(layer: nn.Conv2d, operator: Convolution, side: int) -> None:
    """Forward and backward."""
    generator = torch.Generator().manual_seed(0)
    size = 2, layer.in_channels, side, side
    maps = torch.randn(size, generator=generator, dtype=torch.float64)
    expected = layer(maps.requires_grad_())
    by_output = torch.linspace(-1, 1, expected.numel(), dtype=torch.float64).view_as(expected)
    expected.backward(by_output)
    rows, weight = as_rows(maps.detach()), layer.weight.detach()
    assert_close(operator.forward(rows, weight), as_rows(expected.detach()))
    found = operator.backward(as_rows(by_output), rows, weight, True, None)
    assert maps.grad is not None
    assert layer.weight.grad is not None
    assert_close(found[0], as_rows(maps.grad))
    assert_close(found[1], layer.weight.grad)


def test_a_frozen_trunk_gives_the_head_its_gradients() -> None:
    plain, fast = pair(SMALL, 8)
    images = images_of(8)
    for network in (plain, fast):
        network.requires_grad_(False).eval().head.requires_grad_()
        network(images).square().sum().backward()
    assert plain.head.weight.grad is not None
    assert fast.head.weight.grad is not None
    assert_close(plain.head.weight.grad, fast.head.weight.grad)
    assert all(weights.grad is None for weights in fast.stages.parameters())


def test_the_form_for_cuda_runs_under_autocast() -> None:
    network = build(SMALL, 3, torch.Generator().manual_seed(0))
    accelerate(network, 4, CUDA)
    assert any(isinstance(module, MiddleTap) for module in network.modules())
    images = images_of(4).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = network(images)
    assert logits.dtype == torch.bfloat16
    logits.float().sum().backward()
    assert all(weights.grad is not None for weights in network.parameters())


def test_images_of_another_size_are_refused() -> None:
    _, fast = pair(SMALL, 8)
    with pytest.raises(ValueError, match="accelerated for 8"):
        fast(images_of(9))


@pytest.mark.parametrize("a", [SMALL, BASIC])
def test_one_value_of_a_channel_is_refused_in_training_alone(a: Architecture) -> None:
    for network in pair(a, 2):
        network.train()(images_of(2, n=2))
        with pytest.raises(ValueError, match="more than 1 value per channel"):
            network(images_of(2, n=1))
        assert all(buffer.isfinite().all() for buffer in network.buffers())
        assert network.eval()(images_of(2, n=1)).shape == (1, 3)


def test_a_refused_image_leaves_the_running_statistics_of_its_layer() -> None:
    layer = RowLayer(build(SMALL, 3).stages[0][0].squeeze, 1)
    before = [buffer.clone() for buffer in layer.buffers()]
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        layer.forward(torch.ones(1, 8), [])
    assert all(map(torch.equal, layer.buffers(), before))


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("a", [SMALL, BASIC])
def test_images_may_be_contiguous_channels_first(a: Architecture, n: int) -> None:
    plain, fast = pair(a, 16)
    images = images_of(16, n=n).contiguous()
    for first, second in zip(gradients(plain, images), gradients(fast, images), strict=True):
        assert_close(first, second)
    with torch.no_grad():
        assert_close(plain.eval()(images), fast.eval()(images))


@pytest.mark.parametrize("a", [SMALL, BASIC])
def test_other_parameters_can_stand_in_for_a_while(a: Architecture) -> None:
    """By `functional_call`, whose gradients are those by the parameters that stood in."""
    plain, fast = pair(a, 8)
    results = []
    for network in (plain, fast):
        others = {
            name: (value + 0.1 * torch.ones_like(value)).requires_grad_()
            for name, value in network.named_parameters()
        }
        network(images_of(8))  # with its own, which are not to be remembered
        logits = torch.func.functional_call(network, others, images_of(8))
        found = torch.autograd.grad(logits.sigmoid().square().sum(), list(others.values()))
        results.append((logits, *found))
    for first, second in zip(*results, strict=True):
        assert_close(first, second)


@pytest.mark.parametrize("a", [SMALL, BASIC])
def test_a_second_way_back_adds_the_same_gradients(a: Architecture) -> None:
    plain, fast = pair(a, 8)
    loss = fast(images_of(8)).sigmoid().square().sum()
    found = []
    for _ in range(2):
        loss.backward(retain_graph=True)
        found.append([weights.grad.clone() for weights in fast.parameters()])
    plain(images_of(8)).sigmoid().square().sum().backward()
    for weights, once, twice in zip(plain.parameters(), *found, strict=True):
        assert_close(once, weights.grad)
        assert_close(twice, 2 * weights.grad)


@pytest.mark.parametrize("a", [SMALL, BASIC])
def test_parameters_and_buffers_stay_the_same_tensors_in_the_same_order(a: Architecture) -> None:
    network = build(a, 4)
    state = network.state_dict(keep_vars=True)
    parameters = list(network.parameters())
    accelerate(network, 16, backend_here())
    after = network.state_dict(keep_vars=True)
    assert list(after) == list(state)
    assert all(after[name] is tensor for name, tensor in state.items())
    pairs = zip(network.parameters(), parameters, strict=True)
    assert all(one is other for one, other in pairs)
