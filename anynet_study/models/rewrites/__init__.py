"""Exact rewrites of an AnyNet for speed: the same network, up to rounding."""

from typing import Literal

from torch import nn

from anynet_study.models.anynet import AnyNet
from anynet_study.models.blocks import Basic, Bottleneck, Vanilla
from anynet_study.models.rewrites.blocks import RowAverage, RowBasic, RowBottleneck, RowStem
from anynet_study.models.rewrites.pixel import use_middle_taps

__all__ = ["accelerate"]


def accelerate(
    network: AnyNet, resolution: int, device_type: Literal["cpu", "cuda"] = "cpu"
) -> None:
    """Rewrite `network` in place for images (n, 3, resolution, resolution).

    Logits, gradients and running statistics stay the same up to rounding; parameters and buffers
    stay the same tensors under the same names, in the same order. The rewrites follow from shapes
    alone: what is repeatable stays so. For the CPU, maps are kept as rows of channels from the
    stem to the head, so images are best in channels-last memory; this is not for autocast. For
    CUDA only convolutions are rewritten whose taps see padding but for one.
    """
    if device_type != "cpu":
        use_middle_taps(network, resolution)
        return
    assert isinstance(network.stem, nn.Sequential)
    stem = RowStem(network.stem, resolution)
    network.stem, side = stem, stem.side
    for stage in network.stages:
        assert isinstance(stage, nn.Sequential)
        for place, block in enumerate(stage):
            stage[place] = rewritten = _on_rows(block, side)
            side = rewritten.side
    network.pool = RowAverage(side)


def _on_rows(block: nn.Module, side: int) -> RowBottleneck | RowBasic:
    if isinstance(block, Bottleneck):
        return RowBottleneck(block, side)
    assert isinstance(block, Basic | Vanilla)
    return RowBasic(block, side)
