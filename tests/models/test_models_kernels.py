"""The compiled kernels against torch's, in double precision and in their own."""

import copy
import os
import shutil
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from anynet_study.design_space import Architecture
from anynet_study.models import (
    AnyNet,
    Backend,
    accelerate,
    build,
    compiled_kernels,
    operators,
    resolve_backend,
)
from anynet_study.models.convolutions import (
    GroupedConvolution,
    as_rows,
    grouped_convolution,
)
from anynet_study.models.kernels import Instructions
from anynet_study.models.norms import norm_backward, norm_forward

TYPES = [torch.float32, torch.float64]
BEST = compiled_kernels()
#: What this CPU can run.
SETS: list[Instructions] = ["avx2", "avx512"] if BEST == "avx512" else [BEST] if BEST else []
compiled_only = pytest.mark.skipif(BEST is None, reason="installed without GCC, or an old CPU")


@pytest.mark.skipif(
    shutil.which("gcc") is None and "CI" not in os.environ, reason="there is no C compiler"
)
@pytest.mark.skipif(not torch.backends.cpu.get_cpu_capability().startswith("AVX"), reason="old CPU")
def test_installing_has_compiled_the_kernels() -> None:
    capability = torch.backends.cpu.get_cpu_capability().lower()
    assert compiled_kernels() == capability
    assert resolve_backend().kind == "compiled"
    assert resolve_backend().kernels == capability


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
def passed_on_rows(
    norm: nn.BatchNorm2d,
    z: Tensor,
    by_y: Tensor,
    relu: bool,
    residual: Tensor | None,
    kernels: Instructions | None,
) -> Passed:
    z, gradient = z.clone(), by_y.clone()
    y, mean, rstd = norm_forward(z, norm, kernels, relu, residual)
    has_residual, affine = residual is not None, (norm.weight, norm.bias)
    to_z, to_weight, to_bias = norm_backward(
        gradient, z, y if relu else None, norm, affine, mean, rstd, kernels, has_residual
    )
    found = {"to_z": to_z, "to_weight": to_weight, "to_bias": to_bias, "y": y}
    return found | ({"to_residual": gradient} if has_residual else {})


@given(
    rows=st.sampled_from([2, 3, 7, 64, 65, 200]),
    columns=st.sampled_from([1, 5, 16, 255, 257, 600]),
    relu=st.booleans(),
    has_residual=st.booleans(),
    kernels=st.sampled_from([None, *SETS]),
)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_norms_are_those_of_torch(
    rows: int, columns: int, relu: bool, has_residual: bool, kernels: Instructions | None
) -> None:
    plain, ours = norm_of(columns), norm_of(columns)
    z = drawn(rows, columns) * drawn(columns, seed=1) + 9 * drawn(columns, seed=2)
    by_y, residual = drawn(rows, columns, seed=3), drawn(rows, columns, seed=4)
    residual = residual if has_residual else torch.zeros_like(residual)
    truth = passed_plainly(plain, z, by_y, relu, residual)
    found = passed_on_rows(ours, z, by_y, relu, residual if has_residual else None, kernels)
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
    ours, torchs = (
        passed_on_rows(copy.deepcopy(single), z.float(), by_y.float(), True, None, kernels)
        for kernels in (BEST, None)
    )
    for name in ("y", "to_z", "to_weight", "to_bias"):
        assert difference(ours[name], truth[name]) <= 1.5 * difference(torchs[name], truth[name])


def test_what_is_no_number_stays_so_in_norms() -> None:
    z = drawn(64, 16).float()
    z[3, 5] = torch.nan
    norm = norm_of(16).float()
    with torch.no_grad():
        y, *_ = norm_forward(z, norm, BEST, relu=True)
    assert y[:, 5].isnan().all()
    assert not y[:, 6].isnan().any()
    assert norm.running_mean is not None
    assert norm.running_mean.isnan().sum() == 1


@compiled_only
def test_the_widest_norms_are_left_to_torch() -> None:
    columns = operators.MOST_CHANNELS + 1
    z, by_y, residual = (drawn(4, columns, seed=seed) for seed in range(3))
    truth = passed_plainly(norm_of(columns), z, by_y, True, residual)
    found = passed_on_rows(norm_of(columns), z, by_y, True, residual, BEST)
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
@given(layers(), st.sampled_from(SETS))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_narrow_groups_are_convolved_as_by_torch(
    dtype: torch.dtype, drawn_layer: tuple[nn.Conv2d, int], kernels: Instructions
) -> None:
    layer, side = drawn_layer
    operator = grouped_convolution(layer.to(dtype), side, kernels)
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
    assert grouped_convolution(layer, side, "avx2") is None
    wider = nn.Conv2d(32, 64, 3, padding=1, groups=8, bias=False)
    assert grouped_convolution(wider, 8, "avx2") is None


WIDE = Architecture(
    (1, 2, 1, 1), (16, 32, 64, 64), (1, 1, 1, 1), (1, 4, 8, 2), stem="cifar", stem_width=16
)


def logits_and_gradients(network: AnyNet, images: Tensor) -> list[Tensor]:
    logits = network.train()(images)
    logits.square().sum().backward()
    return [logits.detach(), *(each.grad for each in network.parameters() if each.grad is not None)]


def test_a_network_is_the_same_by_every_backend() -> None:
    plain = build(WIDE, 5, torch.Generator().manual_seed(0)).double()
    images = drawn(4, 3, 16, 16).to(memory_format=torch.channels_last)
    truth = logits_and_gradients(copy.deepcopy(plain), images)
    for backend in [Backend("rewritten", "avx2", 1), *(Backend("compiled", it, 1) for it in SETS)]:
        network = copy.deepcopy(plain)
        accelerate(network, 16, backend)
        for one, other in zip(truth, logits_and_gradients(network, images), strict=True):
            scale = max(one.abs().max().item(), 1.0)
            torch.testing.assert_close(other, one, rtol=1e-9, atol=1e-9 * scale)


# Instruction sets: the same bits.


@pytest.mark.skipif(len(SETS) < 2, reason="a CPU without AVX-512")
@pytest.mark.parametrize("dtype", TYPES)
@given(
    rows=st.sampled_from([2, 3, 63, 64, 65, 200]),
    columns=st.integers(1, 300),
    channels=st.integers(1, 70),
    residual=st.booleans(),
)
@settings(derandomize=True, deadline=None, max_examples=40)
def test_norms_and_products_are_the_same_bits_by_every_instruction_set(
    dtype: torch.dtype, rows: int, columns: int, channels: int, residual: bool
) -> None:
    x, factors = drawn(rows, channels).to(dtype), drawn(columns, channels, seed=1).to(dtype)
    by_y, added = (drawn(rows, columns, seed=seed).to(dtype) for seed in (2, 3))
    results = []
    for kernels in SETS:
        state = list(norm_of(columns).to(dtype).state_dict().values())
        given = added if residual else None
        z, y, mean, rstd = operators.pointwise_forward(
            x, factors, given, True, *state, 0.1, 1e-5, kernels
        )
        again = operators.norm_forward(z, given, True, *state, 0.1, 1e-5, kernels)
        found = [z, y, mean, rstd, *again, *state]
        for back in ("pointwise", "norm"):
            gradient, here, to_x = by_y.clone(), z.clone(), torch.zeros_like(x)
            norms = y if residual else None, True, *state[:2], mean, rstd
            if back == "norm":
                found += operators.norm_backward(gradient, here, *norms, kernels)
            else:
                found += operators.pointwise_backward(
                    gradient, x, factors, here, *norms, to_x, False, kernels
                )
            found += [gradient, here, to_x]
        results.append(found)
    assert all(map(torch.equal, *results))


@pytest.mark.skipif(len(SETS) < 2, reason="a CPU without AVX-512")
@pytest.mark.parametrize("width", operators.GROUP_WIDTHS)
def test_grouped_convolutions_are_the_same_bits_by_every_instruction_set(width: int) -> None:
    for dtype, channels, side in ((torch.float32, 24, 5), (torch.float64, 40, 8)):
        rows, by_tap = drawn(3 * side**2, channels), drawn(3, 3, width, channels, seed=1)
        results = [
            (
                operators.convolve(
                    rows.to(dtype), by_tap.to(dtype), None, False, side, 1, side, 1, it
                ),
                operators.correlate(rows.to(dtype), rows.to(dtype) + 1, side, side, 1, width, it),
            )
            for it in SETS
        ]
        assert all(map(torch.equal, *results))


# Operators refuse what they are not for, and change what they say.


def norm_arguments(**changes: Any) -> list[Any]:
    state = [value.float() for value in norm_of(4).state_dict().values()]
    named = {"z": drawn(6, 4).float(), "residual": drawn(6, 4).float(), "relu": True}
    named |= dict(zip(("weight", "bias", "mean", "var", "batches"), state, strict=True))
    named["batches"] = state[-1].long()
    return [*(named | changes).values(), 0.1, 1e-5, BEST]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "type": (
        {"weight": torch.ones(4, dtype=torch.float64)},
        "weight, bias and statistics must be contiguous",
    ),
    "half": ({"z": torch.ones(6, 4, dtype=torch.float16)}, "no kernel for torch.float16"),
    "shape": ({"residual": torch.ones(5, 4)}, r"z and residual must be .* of shape \(6, 4\)"),
    "strides": ({"z": torch.ones(4, 6).t()}, "z and residual must be contiguous"),
    "device": (
        {"bias": torch.ones(4, device="meta")},
        "bias and statistics must be .* on cpu; .* on meta",
    ),
    "one row": ({"z": torch.ones(1, 4), "residual": None}, "1 rows .* legal: 2 rows or more"),
    "counter": ({"batches": torch.ones(2)}, "batches must be one int64"),
}


@compiled_only
@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_an_operator_refuses_what_its_kernel_would_read_wrongly(
    changes: dict[str, Any], message: str
) -> None:
    arguments = norm_arguments(**changes)
    before = [each.clone() for each in arguments[5:8]]
    with pytest.raises(ValueError, match=message):
        operators.norm_forward(*arguments)
    assert all(map(torch.equal, before, arguments[5:8]))


def test_operators_say_what_they_change() -> None:
    def changed(operator: Any) -> set[str]:
        arguments = operator._schema.arguments
        return {it.name for it in arguments if it.alias_info and it.alias_info.is_write}

    statistics = {"running_mean", "running_var", "batches"}
    assert changed(operators.norm_forward) == changed(operators.pointwise_forward) == statistics
    assert changed(operators.norm_backward) == {"gradient", "z"}
    assert changed(operators.pointwise_backward) == {"gradient", "to_rows"}
    assert changed(operators.convolve) == changed(operators.correlate) == set()


@compiled_only
def test_tensors_without_numbers_pass_through_a_network() -> None:
    network = build(WIDE, 5, torch.Generator().manual_seed(0))
    accelerate(network, 16, resolve_backend("compiled"))
    network.to("meta")
    logits = network(torch.ones(4, 3, 16, 16, device="meta"))
    logits.sum().backward()
    assert logits.shape == (4, 5)
    assert all(each.grad.is_meta for each in network.parameters())  # type: ignore[union-attr]
