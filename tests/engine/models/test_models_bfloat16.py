"""Networks whose convolutions compute in bfloat16 against the same ones in float32."""

import copy
import dataclasses
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from anynet_study.design_space import Architecture
from anynet_study.engine.models import AnyNet, build, use_bfloat16
from anynet_study.engine.models.rewrites import MiddleTap

NETWORK = Architecture(
    depths=(1, 2, 1, 1),
    widths=(8, 16, 16, 32),
    bottleneck_ratios=(1, 2, 1, 1),
    group_widths=(4, 8, 1, 16),
    stem="cifar",
    stem_width=8,
)
SHAPES: dict[str, dict[str, Any]] = {
    "excitation": {"stem": "imagenet", "se_ratio": 0.25},
    "basic": {"block": "basic", "bottleneck_ratios": (1,) * 4, "group_widths": (8, 16, 16, 32)},
    "vanilla": {"block": "vanilla", "bottleneck_ratios": (1,) * 4, "group_widths": (8, 16, 16, 32)},
}


def pair(keys: dict[str, Any], side: int = 8) -> tuple[AnyNet, AnyNet]:
    """The same network in float32 and in bfloat16."""
    generator = torch.Generator().manual_seed(0)
    plain = build(dataclasses.replace(NETWORK, **keys), 6, generator=generator)
    half = copy.deepcopy(plain)
    use_bfloat16(half, side)
    return plain, half


def batch(side: int = 8) -> Tensor:
    images = torch.randn(16, 3, side, side, generator=torch.Generator().manual_seed(1))
    return images.to(memory_format=torch.channels_last)


@pytest.mark.parametrize("keys", SHAPES.values(), ids=SHAPES)
def test_it_is_the_same_network(keys: dict[str, Any]) -> None:
    plain, half = pair(keys)
    assert list(half.state_dict()) == list(plain.state_dict())
    expected, found = plain(batch()), half(batch())
    assert found.dtype == torch.float32
    assert (expected - found).norm() < 0.1 * expected.norm()
    for old, new in zip(plain.buffers(), half.buffers(), strict=True):
        assert torch.allclose(old, new, atol=0.05)
    plain.eval(), half.eval()
    expected, found = plain(batch()), half(batch())
    assert (expected - found).norm() < 0.1 * expected.norm()


@pytest.mark.parametrize(
    ("name", "limit"), [("excitation", 0.2), ("basic", 0.02), ("vanilla", 0.02)]
)
def test_gradients_are_float32_and_those_of_autocast(name: str, limit: float) -> None:
    """Those of float32 are far: few images amplify rounding. Autocast rounds excitations, too."""
    keys = SHAPES[name]
    plain, half = pair(keys, 32)
    plain.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    with torch.autocast("cpu", torch.bfloat16):
        plain(batch(32)).square().sum().backward()
    half(batch(32)).square().sum().backward()
    for weights in half.parameters():
        assert weights.grad is not None
        assert weights.dtype == weights.grad.dtype == torch.float32
        assert weights.grad.stride() == weights.stride() or 1 in weights.shape
    found, expected = (
        torch.cat([weights.grad.flatten() for weights in network.parameters()])  # type: ignore[union-attr]
        for network in (half, plain)
    )
    assert (found - expected).norm() < limit * expected.norm()


def test_maps_of_one_pixel_never_meet_torchs_strided_convolution() -> None:
    """In bfloat16 on a CPU it leaves gradients by taps that see padding unwritten, now and then."""
    _, half = pair({"stem": "imagenet"})  # maps of 2, 1, 1 and 1 pixels
    found = [isinstance(stage[0].spatial[0], MiddleTap) for stage in half.stages]  # type: ignore[index, union-attr]
    assert found == [False, False, True, True]
    half(batch()).square().sum().backward()
    gradient = half.stages[3][0].spatial[0].weight.grad  # type: ignore[index, union-attr]
    assert gradient[:, :, 0].abs().max() == 0


def test_layers_compute_in_bfloat16_with_the_weights_as_they_are_now() -> None:
    _, half = pair({})
    seen: list[torch.dtype] = []
    for norm in half.modules():
        if isinstance(norm, nn.Sequential) and isinstance(norm[-1], nn.BatchNorm2d):
            norm.register_forward_hook(lambda _, __, out: seen.append(out.dtype))
    half.eval()
    before = half(batch())
    assert torch.equal(half(batch()), before)
    with torch.no_grad():
        half.stages[0][0].squeeze[0].weight.mul_(2.0).add_(0.1)  # type: ignore[index, union-attr]
    assert not torch.equal(half(batch()), before)
    assert set(seen) == {torch.bfloat16}


def test_frozen_weights_have_no_gradients() -> None:
    _, half = pair({})
    half.requires_grad_(False)
    half.head.requires_grad_(True)
    half(batch()).sum().backward()
    assert [name for name, it in half.named_parameters() if it.grad is not None] == [
        "head.weight",
        "head.bias",
    ]
