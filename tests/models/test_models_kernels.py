"""1x1 convolutions joined with their batch norm by the compiled kernels, against torch's."""

import copy
import os
import shutil
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

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
from anynet_study.models.anynet import convolution
from anynet_study.models.convolutions import as_maps, as_rows
from anynet_study.models.kernels import Instructions
from anynet_study.models.norms import pointwise_and_norm
from anynet_study.models.row_layers import Gradients, RowLayer

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
    """Numbers of double precision that single precision has, too."""
    return torch.randn(size, generator=torch.Generator().manual_seed(seed)).double()


def drawn_layer(channels: int, columns: int, stride: int = 1) -> nn.Sequential:
    """A convolution and its norm in double precision, with drawn weights and statistics."""
    layer = convolution(channels, columns, 1, stride).double()
    for seed, values in enumerate(layer.state_dict().values()):
        if values.is_floating_point():
            values.copy_((drawn(*values.shape, seed=seed).abs() + 0.1).float())
    layer.state_dict()["0.weight"].copy_(drawn(columns, channels, 1, 1, seed=9))
    return layer


@dataclass(frozen=True)
class Case:
    images: int
    side: int
    stride: int
    channels: int
    columns: int
    relu: bool
    residual: bool
    into: bool
    #: Added to the rows, and what the first of them is multiplied by.
    offset: float = 0.0
    outlier: float = 1.0


cases = st.builds(
    Case,
    # Less than a block of rows, several, and one more than that.
    images=st.sampled_from([2, 5, 16, 17]),
    side=st.sampled_from([1, 2, 4]),
    stride=st.sampled_from([1, 1, 2]),
    # Less than a vector, some of a panel, all of it, and more.
    channels=st.sampled_from([1, 7, 8, 16, 23, 40, 64, 130]),
    columns=st.sampled_from([1, 7, 8, 16, 23, 40, 64, 130, 300]),
    relu=st.booleans(),
    residual=st.booleans(),
    into=st.booleans(),
)

Passed = dict[str, Tensor]


def inputs(case: Case) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Rows, a residual, the gradient by y, and what the one by rows is added to."""
    out = (case.side - 1) // case.stride + 1
    rows = drawn(case.images * case.side**2, case.channels, seed=20) + case.offset
    rows[0] *= case.outlier
    by_y, residual = (drawn(case.images * out**2, case.columns, seed=21 + i) for i in range(2))
    return rows, residual, by_y, drawn(*rows.shape, seed=23)


def passed_plainly(case: Case, layer: nn.Sequential) -> Passed:
    rows, residual, by_y, into = (each.requires_grad_() for each in inputs(case))
    y = as_rows(layer.train()(as_maps(rows, case.side)))
    y = y + residual if case.residual else y
    y = y.relu() if case.relu else y
    names = ["to_rows", "to_factors", "to_scale", "to_shift"] + ["to_residual"] * case.residual
    sources = [rows, *layer.parameters()] + [residual] * case.residual
    found = dict(zip(names, torch.autograd.grad(y, sources, by_y), strict=True))
    found["to_rows"] = found["to_rows"] + (into if case.into else 0)
    return {name: values.detach() for name, values in (found | {"y": y}).items()}


@torch.no_grad()
def passed_on_rows(case: Case, layer: nn.Sequential, dtype: torch.dtype) -> Passed:
    rows, residual, gradient, into = (each.to(dtype) for each in inputs(case))
    joined = RowLayer(layer.to(dtype).train(), case.side, BEST)
    tape: list[Tensor] = []
    y = joined.forward(rows, tape, case.relu, residual if case.residual else None)
    gradients: Gradients = {}
    to_residual, to_rows = joined.backward(
        gradient,
        tape,
        gradients,
        case.relu,
        case.residual,
        into=into if case.into else None,
    )
    assert tape == []
    if case.into:
        assert to_rows is into, "added in place"
    weights, norm = joined.layers
    places = {"to_factors": (weights, "weight"), "to_scale": (norm, "weight")}
    places["to_shift"] = norm, "bias"
    found = {name: gradients[place] for name, place in places.items()}
    found |= {"y": y, "to_rows": to_rows}
    return found | ({"to_residual": to_residual} if case.residual else {})


@pytest.mark.slow
@compiled_only
@given(case=cases)
@settings(derandomize=True, deadline=None, max_examples=150)
def test_a_layer_is_that_of_torch(case: Case) -> None:
    layer = drawn_layer(case.channels, case.columns, case.stride)
    other = copy.deepcopy(layer)
    truth = passed_plainly(case, layer)
    found = passed_on_rows(case, other, torch.float64)
    assert found.keys() == truth.keys()
    for name, values in found.items():
        scale = max(truth[name].abs().max().item(), 1.0)
        torch.testing.assert_close(values, truth[name], rtol=0, atol=1e-10 * scale, msg=name)
    for (name, first), second in zip(other.named_buffers(), layer.buffers(), strict=True):
        torch.testing.assert_close(first, second, rtol=1e-10, atol=1e-10, msg=name)


def difference(found: Tensor, truth: Tensor) -> float:
    """The root of the mean square, relative to the truth's."""
    apart, scale = found.double() - truth, truth.square().mean()
    return (apart.square().mean() / scale).sqrt().item()


@compiled_only
@pytest.mark.parametrize(("channels", "columns"), [(56, 224), (368, 40), (24, 96)])
@pytest.mark.parametrize(("offset", "outlier"), [(0.0, 1.0), (100.0, 1.0), (0.0, 1e3)])
def test_in_single_precision_it_rounds_no_more_than_torch(
    channels: int, columns: int, offset: float, outlier: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(64, 4, 1, channels, columns, True, False, False, offset, outlier)
    truth = passed_plainly(case, drawn_layer(channels, columns))
    ours = passed_on_rows(case, drawn_layer(channels, columns), torch.float32)
    monkeypatch.setattr("anynet_study.models.row_layers.pointwise_and_norm", lambda *layer: None)
    torchs = passed_on_rows(case, drawn_layer(channels, columns), torch.float32)
    for name in ("y", "to_rows", "to_factors", "to_scale", "to_shift"):
        assert difference(ours[name], truth[name]) <= 1.5 * difference(torchs[name], truth[name])


@compiled_only
def test_what_is_no_number_stays_in_its_row_and_its_columns() -> None:
    case = Case(16, 4, 1, 40, 56, relu=True, residual=False, into=False)
    layer = RowLayer(drawn_layer(40, 56).float().train(), 4, BEST)
    rows, _, gradient, _ = (each.float() for each in inputs(case))
    layer.layers[0].weight.data[3, 5] = torch.nan
    with torch.no_grad():
        tape: list[Tensor] = []
        y = layer.forward(rows, tape)
        found: Gradients = {}
        layer.backward(gradient, tape, found)
    gone = torch.arange(56) == 3
    assert y.isnan().any(0).equal(gone)
    assert found[layer.layers[0], "weight"].flatten(1).isnan().any(1).equal(gone)


@compiled_only
def test_fixed_statistics_and_other_types_are_left_to_others() -> None:
    layer = RowLayer(drawn_layer(16, 16).float().train(), 2, BEST)
    plain = RowLayer(copy.deepcopy(drawn_layer(16, 16)).float().train(), 2, None)
    convolution, norm = layer.layers
    assert layer.joined is not None
    rows = drawn(32, 16).float()
    strided = rows.t().contiguous().t()
    layer.joined = None  # not to be asked
    for change in (lambda it: it, lambda it: it.eval(), lambda it: it.bfloat16()):
        change(layer), change(plain)
        given = strided.to(convolution.weight.dtype)
        torch.testing.assert_close(layer.forward(given, []), plain.forward(given, []))
    for other in (nn.Conv2d(16, 16, 1, groups=2), nn.Conv2d(16, 16, 3), nn.Conv2d(1, 1 << 15, 1)):
        assert pointwise_and_norm(other, norm, 2, BEST) is None


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
def test_results_are_the_same_bits_by_every_instruction_set(
    dtype: torch.dtype, rows: int, columns: int, channels: int, residual: bool
) -> None:
    x, factors = drawn(rows, channels).to(dtype), drawn(columns, channels, seed=1).to(dtype)
    by_y, added = (drawn(rows, columns, seed=seed).to(dtype) for seed in (2, 3))
    results = []
    for kernels in SETS:
        state = list(drawn_layer(1, columns)[1].to(dtype).state_dict().values())
        given = added if residual else None
        z, y, mean, rstd = operators.pointwise_forward(
            x, factors, given, True, *state, 0.1, 1e-5, kernels
        )
        gradient, to_x = by_y.clone(), torch.zeros_like(x)
        norms = y if residual else None, True, *state[:2], mean, rstd
        back = operators.pointwise_backward(gradient, x, factors, z, *norms, to_x, False, kernels)
        results.append([z, y, mean, rstd, *state, *back, gradient, to_x])
    assert all(map(torch.equal, *results))


# Operators refuse what they are not for, and change what they say.


def arguments_with(**changes: Any) -> list[Any]:
    """Of `pointwise_forward`, right but for `changes`."""
    named: dict[str, Any] = {"rows": torch.ones(6, 3), "factors": torch.ones(4, 3)}
    named |= {"residual": torch.ones(6, 4), "relu": True, "weight": torch.ones(4)}
    named |= {"bias": torch.zeros(4), "mean": torch.zeros(4), "var": torch.ones(4)}
    named |= {"batches": torch.tensor(0), "momentum": 0.1, "eps": 1e-5, "instructions": BEST}
    return [*(named | changes).values()]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "type": ({"weight": torch.ones(4).double()}, "weight, bias and statistics must be contiguous"),
    "half": ({"rows": torch.ones(6, 3).half()}, "no kernel for torch.float16"),
    "shape": ({"residual": torch.ones(5, 4)}, r"residual must be .* of shape \(6, 4\)"),
    "strides": ({"rows": torch.ones(3, 6).t()}, "rows must be contiguous"),
    "device": (
        {"bias": torch.ones(4, device="meta")},
        "bias and statistics must be .* on cpu; .* on meta",
    ),
    "one row": (
        {"rows": torch.ones(1, 3), "residual": None},
        "1 rows .* legal: 2 rows or more",
    ),
    "counter": ({"batches": torch.ones(2)}, "batches must be one int64"),
}


@compiled_only
@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_an_operator_refuses_what_its_kernel_would_read_wrongly(
    changes: dict[str, Any], message: str
) -> None:
    arguments = arguments_with(**changes)
    before = [each.clone() for each in arguments[6:9]]
    with pytest.raises(ValueError, match=message):
        operators.pointwise_forward(*arguments)
    assert all(map(torch.equal, before, arguments[6:9]))


def test_operators_say_what_they_change() -> None:
    def changed(operator: Any) -> set[str]:
        arguments = operator._schema.arguments
        return {it.name for it in arguments if it.alias_info and it.alias_info.is_write}

    assert changed(operators.pointwise_forward) == {"running_mean", "running_var", "batches"}
    assert changed(operators.pointwise_backward) == {"gradient", "to_rows"}


@compiled_only
def test_tensors_without_numbers_pass_through_a_network() -> None:
    network = build(WIDE, 5, torch.Generator().manual_seed(0))
    accelerate(network, 16, resolve_backend("compiled"))
    network.to("meta")
    logits = network(torch.ones(4, 3, 16, 16, device="meta"))
    logits.sum().backward()
    assert logits.shape == (4, 5)
    assert all(each.grad.is_meta for each in network.parameters())  # type: ignore[union-attr]
