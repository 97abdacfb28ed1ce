"""The compiled kernels against torch's, in double precision and in their own."""

import copy
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from anynet_study.design_space import Architecture
from anynet_study.models import AnyNet, accelerate, build, kernels
from anynet_study.models.convolutions import (
    GroupedConvolution,
    as_rows,
    grouped_convolution,
)
from anynet_study.models.kernels import kernel
from anynet_study.models.norms import norm_backward, norm_forward

TYPES = [torch.float32, torch.float64]
compiled_only = pytest.mark.skipif(
    kernel("norm_forward", torch.float32) is None, reason="installed without a C compiler"
)


@contextmanager
def without_kernels() -> Iterator[None]:
    """As where there was no compiler."""
    kernel.cache_clear()
    with patch.object(kernels, "_library", lambda: None):
        yield
    kernel.cache_clear()


@pytest.mark.skipif(
    shutil.which("cc") is None and "CI" not in os.environ, reason="there is no C compiler"
)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["norm_forward", "norm_backward", "convolve", "correlate"])
def test_installing_has_compiled_the_kernels(name: str, dtype: torch.dtype) -> None:
    assert kernel(name, dtype) is not None
    assert kernel(name, torch.bfloat16) is None


def drawn(*size: int, seed: int = 0) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def difference(found: Tensor, truth: Tensor) -> float:
    """The largest, relative to the largest value."""
    scale = truth.abs().max().clamp(min=1e-30)
    return ((found.double() - truth.double()).abs().max() / scale).item()


def norm_of(columns: int) -> nn.BatchNorm2d:
    """In double precision, with drawn weights and statistics."""
    norm = nn.BatchNorm2d(columns, momentum=0.3).double()
    for seed, values in enumerate((norm.weight, norm.bias, norm.running_mean, norm.running_var)):
        assert values is not None
        values.data.copy_(drawn(columns, seed=seed).abs() + 0.1)
    return norm


Passed = dict[str, Tensor]


def passed_plainly(norm: nn.BatchNorm2d, z: Tensor, by_y: Tensor, relu: bool, r: Tensor) -> Passed:
    """What torch's batch norm, sum and ReLU give, forward and backward."""
    z, r = z.clone().requires_grad_(), r.clone().requires_grad_()
    arguments = norm.running_mean, norm.running_var, norm.weight, norm.bias, True
    y = F.batch_norm(z, *arguments, norm.momentum or 0.0, norm.eps) + r
    y = y.relu() if relu else y
    sources = z, r, norm.weight, norm.bias
    names = "to_z", "to_residual", "to_weight", "to_bias"
    found = dict(zip(names, torch.autograd.grad(y, sources, by_y), strict=True))
    return found | {"y": y.detach()}


@torch.no_grad()
def passed_by_kernels(
    norm: nn.BatchNorm2d, z: Tensor, by_y: Tensor, relu: bool, residual: Tensor | None
) -> Passed:
    z, gradient = z.clone(), by_y.clone()
    y, mean, rstd = norm_forward(z, norm, relu, residual)
    has_residual = residual is not None
    to_z, to_weight, to_bias = norm_backward(
        gradient, z, y if relu else None, norm, mean, rstd, has_residual
    )
    found = {"to_z": to_z, "to_weight": to_weight, "to_bias": to_bias, "y": y}
    return found | ({"to_residual": gradient} if has_residual else {})


@given(
    rows=st.sampled_from([2, 3, 7, 64, 65, 200]),
    columns=st.sampled_from([1, 5, 16, 255, 257, 600]),
    relu=st.booleans(),
    has_residual=st.booleans(),
    with_kernels=st.booleans(),
)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_norms_are_those_of_torch(
    rows: int, columns: int, relu: bool, has_residual: bool, with_kernels: bool
) -> None:
    plain, ours = norm_of(columns), norm_of(columns)
    z = drawn(rows, columns) * drawn(columns, seed=1) + 9 * drawn(columns, seed=2)
    by_y, residual = drawn(rows, columns, seed=3), drawn(rows, columns, seed=4)
    residual = residual if has_residual else torch.zeros_like(residual)
    truth = passed_plainly(plain, z, by_y, relu, residual)
    given_residual = residual if has_residual else None
    if with_kernels:
        found = passed_by_kernels(ours, z, by_y, relu, given_residual)
    else:
        with without_kernels():
            found = passed_by_kernels(ours, z, by_y, relu, given_residual)
    assert ("to_residual" in found) == has_residual
    for name, values in found.items():
        torch.testing.assert_close(values, truth[name], rtol=1e-10, atol=1e-10, msg=name)
    for first, second in zip(list(ours.buffers())[:2], list(plain.buffers())[:2], strict=True):
        torch.testing.assert_close(first, second, rtol=1e-10, atol=1e-10)
    assert ours.num_batches_tracked == 1


@compiled_only
@pytest.mark.parametrize(("offset", "first_row"), [(0.0, 1.0), (1000.0, 1.0), (0.0, 1e4)])
def test_norms_round_less_than_those_of_torch(offset: float, first_row: float) -> None:
    z, by_y = drawn(8192, 24) + offset, drawn(8192, 24, seed=1)
    z[0] *= first_row  # an outlier where the kernel begins
    truth = passed_plainly(norm_of(24), z.float().double(), by_y, True, torch.zeros_like(z))
    single = norm_of(24).float()
    ours = passed_by_kernels(copy.deepcopy(single), z.float(), by_y.float(), True, None)
    with without_kernels():
        torchs = passed_by_kernels(copy.deepcopy(single), z.float(), by_y.float(), True, None)
    for name in ("y", "to_z", "to_weight", "to_bias"):
        assert difference(ours[name], truth[name]) <= 1.5 * difference(torchs[name], truth[name])


def test_what_is_no_number_stays_so_in_norms() -> None:
    z = drawn(64, 16).float()
    z[3, 5] = torch.nan
    norm = norm_of(16).float()
    with torch.no_grad():
        y, *_ = norm_forward(z, norm, relu=True)
    assert y[:, 5].isnan().all()
    assert not y[:, 6].isnan().any()
    assert norm.running_mean is not None
    assert norm.running_mean.isnan().sum() == 1


def test_the_widest_norms_are_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anynet_study.models.norms.kernel", None)  # not to be called
    columns = kernels.MOST_CHANNELS + 1
    z, by_y, residual = (drawn(4, columns, seed=seed) for seed in range(3))
    truth = passed_plainly(norm_of(columns), z, by_y, True, residual)
    found = passed_by_kernels(norm_of(columns), z, by_y, True, residual)
    for name, values in found.items():
        torch.testing.assert_close(values, truth[name], rtol=1e-10, atol=1e-10, msg=name)


@st.composite
def layers(draw: st.DrawFn) -> tuple[nn.Conv2d, int]:
    """Layers that `grouped` is for, and the side of their maps."""
    width = draw(st.sampled_from([1, 2, 4, 8]))
    groups = draw(st.integers(16 // width, 16 // width + 7))
    stride = 1 if width == 8 else draw(st.integers(1, 3))
    side = draw(st.sampled_from([1, 2, 3, 4, 5, 7, 8, 13]))
    layer = nn.Conv2d(groups * width, groups * width, 3, stride, 1, groups=groups, bias=True)
    for seed, values in enumerate(layer.parameters()):
        values.data.copy_(drawn(*values.shape, seed=seed))
    return layer, side


@compiled_only
@pytest.mark.parametrize("dtype", TYPES)
@given(layers())
@settings(derandomize=True, deadline=None, max_examples=60)
def test_narrow_groups_are_convolved_as_by_torch(
    dtype: torch.dtype, drawn_layer: tuple[nn.Conv2d, int]
) -> None:
    layer, side = drawn_layer
    operator = grouped_convolution(layer.to(dtype), side)
    assert isinstance(operator, GroupedConvolution)
    plain = copy.deepcopy(layer).double()
    maps = drawn(3, layer.in_channels, side, side).to(dtype).double().requires_grad_()
    expected = plain(maps)
    by_output = drawn(*expected.shape, seed=1).to(dtype)
    expected.backward(by_output.double())
    rows, weight = as_rows(maps.detach().to(dtype)), layer.weight.detach()
    assert layer.bias is not None
    y = operator.forward(rows, weight, layer.bias.detach())
    before = torch.ones_like(rows)
    to_rows, to_weight = operator.backward(as_rows(by_output), rows, weight, True, before)
    most = 1e-12 if dtype == torch.float64 else 2e-6
    assert maps.grad is not None
    assert plain.weight.grad is not None
    assert difference(y, as_rows(expected.detach())) < most
    assert difference(to_rows - 1, as_rows(maps.grad)) < most
    assert difference(to_weight, plain.weight.grad) < most
    nothing, again = operator.backward(as_rows(by_output), rows, weight, False, None)
    assert nothing.numel() == 0
    assert torch.equal(again, to_weight)


@pytest.mark.parametrize(
    ("channels", "groups", "kernel_size", "stride", "side"),
    [(12, 6, 3, 1, 8), (64, 4, 3, 1, 8), (24, 8, 3, 1, 8), (32, 4, 3, 2, 8), (32, 8, 3, 1, 65)],
    ids=["few channels", "wide groups", "of three", "wide groups, strided", "large maps"],
)
def test_other_layers_are_left_to_others(
    channels: int, groups: int, kernel_size: int, stride: int, side: int
) -> None:
    layer = nn.Conv2d(channels, channels, kernel_size, stride, 1, groups=groups, bias=False)
    assert grouped_convolution(layer, side) is None
    assert grouped_convolution(nn.Conv2d(32, 64, 3, padding=1, groups=8, bias=False), 8) is None


@compiled_only
def test_types_that_do_not_fit_are_refused() -> None:
    operator = GroupedConvolution(4, 1, 4)
    rows, weight = drawn(32, 16), drawn(16, 4, 3, 3).float()
    with pytest.raises(TypeError, match=r"no kernel convolves torch.float64 by torch.float32"):
        operator.forward(rows, weight)
    with pytest.raises(TypeError, match=r"no kernel convolves torch.bfloat16"):
        operator.forward(rows.bfloat16(), weight.bfloat16())


WIDE = Architecture(
    (1, 2, 1, 1), (16, 32, 64, 64), (1, 1, 1, 1), (1, 4, 8, 2), stem="cifar", stem_width=16
)


def logits_and_gradients(network: AnyNet, images: Tensor) -> list[Tensor]:
    logits = network.train()(images)
    logits.square().sum().backward()
    return [logits.detach(), *(each.grad for each in network.parameters() if each.grad is not None)]


def test_a_network_is_the_same_without_compiled_kernels() -> None:
    plain = build(WIDE, 5, torch.Generator().manual_seed(0)).double()
    images = drawn(4, 3, 16, 16).to(memory_format=torch.channels_last)
    truth = logits_and_gradients(copy.deepcopy(plain), images)
    with_kernels = copy.deepcopy(plain)
    accelerate(with_kernels, 16)
    found = logits_and_gradients(with_kernels, images)
    with without_kernels():
        other = copy.deepcopy(plain)
        accelerate(other, 16)
        found_without = logits_and_gradients(other, images)
    for one, two, three in zip(truth, found, found_without, strict=True):
        scale = max(one.abs().max().item(), 1.0)
        torch.testing.assert_close(two, one, rtol=1e-9, atol=1e-9 * scale)
        torch.testing.assert_close(three, one, rtol=1e-9, atol=1e-9 * scale)
