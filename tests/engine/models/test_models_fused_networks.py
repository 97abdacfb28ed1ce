"""Whole networks with Triton's kernels against the same ones with torch's operators."""

import copy
import dataclasses

import pytest
import torch
from interpreted import DEVICE, few_programs
from test_models_bfloat16 import NETWORK, SHAPES, batch
from torch import Tensor

from anynet_study.engine.models import AnyNet, Backend, build, fused_norms, use_bfloat16
from anynet_study.engine.models.bfloat16 import Bfloat16Layer
from anynet_study.engine.models.rewrites import MiddleTap

KERNELS = Backend("rewritten", "sm_90", 1, "cuda", triton=True)
TORCH = dataclasses.replace(KERNELS, triton=False)


@pytest.fixture(autouse=True)
def _programs(monkeypatch: pytest.MonkeyPatch) -> None:
    few_programs(monkeypatch)


def networks(name: str) -> list[AnyNet]:
    """One in float64, and its copies in bfloat16: with torch's operators, and with the kernels."""
    exact = build(dataclasses.replace(NETWORK, **SHAPES[name]), 6, torch.Generator().manual_seed(0))
    exact = exact.to(DEVICE)
    found = [copy.deepcopy(exact).double()]
    for backend in (TORCH, KERNELS):
        found.append(copy.deepcopy(exact))
        use_bfloat16(found[-1], 8, backend)
    return found


def off(found: list[Tensor], exact: list[Tensor]) -> float:
    """How far all numbers are from the exact ones, relative to these."""
    one, other = (
        torch.cat([it.detach().double().flatten() for it in many]) for many in (found, exact)
    )
    return float((one - other).norm() / other.norm())


@pytest.mark.parametrize("name", ["excitation", "vanilla"])  # with sums and without
def test_they_are_as_near_to_the_exact_network_as_torchs_operators_are(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact, *halves = networks(name)
    images = batch().to(DEVICE)
    assert [list(it.state_dict()) for it in halves] == [list(exact.state_dict())] * 2
    calls, run = [0], fused_norms._forward
    monkeypatch.setattr(fused_norms, "_forward", lambda *it: (calls.append(1), run(*it))[1])
    logits = [exact(images.double()), *(half(images) for half in halves)]
    for one in logits:
        torch.nn.functional.cross_entropy(one, torch.arange(16, device=DEVICE) % 6).backward()
    norms = sum(isinstance(it, torch.nn.BatchNorm2d) for it in exact.modules())
    assert len(calls) == 1 + norms
    assert logits[2].dtype == torch.float32
    by_torch, by_kernels = (off([it], [logits[0]]) for it in logits[1:])
    assert by_kernels < 1.2 * by_torch < 0.1
    gradients = [[it.grad for it in network.parameters()] for network in (exact, *halves)]
    by_torch, by_kernels = (off(it, gradients[0]) for it in gradients[1:])  # type: ignore[arg-type]
    assert by_kernels < 1.2 * by_torch
    for network in (exact, *halves):
        network.eval()
    buffers = [list(network.buffers()) for network in (exact, *halves)]
    assert off(buffers[2], buffers[0]) < 0.01
    with torch.no_grad():
        ends = [exact(images.double()), *(half(images) for half in halves)]
    by_torch, by_kernels = (off([it], [ends[0]]) for it in ends[1:])
    assert by_kernels < 1.2 * by_torch


def needs_no_copy(maps: Tensor) -> bool:
    """Whether torch takes the maps for channels last."""
    return maps.to(memory_format=torch.channels_last).data_ptr() == maps.data_ptr()


def test_no_layer_with_kernels_is_given_maps_that_it_has_to_copy() -> None:
    """Not even those of one pixel, which the last stages have."""
    _, _, half = networks("excitation")
    seen: list[bool] = []
    for layer in half.modules():
        if isinstance(layer, Bfloat16Layer):
            layer.register_forward_hook(lambda _, __, maps: seen.append(needs_no_copy(maps)))
    half(batch().to(DEVICE))
    assert all(seen)
    assert len(seen) > 10


def test_middle_taps_keep_channels_last_on_a_gpu() -> None:
    _, half, _ = networks("excitation")
    taps = [module for module in half.modules() if isinstance(module, MiddleTap)]
    assert len(taps) == 3
    for tap in taps:
        maps = torch.randn(4, 1, 1, tap.in_channels, device=DEVICE).permute(0, 3, 1, 2)
        assert needs_no_copy(tap(maps))
        tap.channels_last = False
        before = tap(maps)
        assert not needs_no_copy(before)
        tap.channels_last = True
        assert torch.equal(tap(maps), before)
