"""1x1 convolutions joined with their batch norm, against torch's."""

import copy
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from anynet_study.models import compiled_kernels
from anynet_study.models.anynet import convolution
from anynet_study.models.convolutions import as_maps, as_rows
from anynet_study.models.norms import pointwise_and_norm
from anynet_study.models.row_layers import Gradients, RowLayer

BEST = compiled_kernels()
compiled_only = pytest.mark.skipif(BEST is None, reason="installed without GCC, or an old CPU")


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
    rows = drawn(case.images * case.side**2, case.channels, seed=20)
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
def test_in_single_precision_it_rounds_no_more_than_torch(
    channels: int, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(64, 4, 1, channels, columns, relu=True, residual=False, into=False)
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
