"""Convolutions that compute in bfloat16, in a network that stays float32."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from anynet_study.engine.models.anynet import AnyNet, NormedConvolution, layers_by_side
from anynet_study.engine.models.backend import Backend
from anynet_study.engine.models.convolution_ways import (
    RULE,
    Way,
    convolve,
    table_of,
    way_for,
    way_on_cpu,
)
from anynet_study.engine.models.rewrites import MiddleTap, use_middle_taps

Normalise = Callable[[Tensor, nn.BatchNorm2d, Tensor | None, bool], Tensor]


def use_bfloat16(network: AnyNet, resolution: int, backend: Backend | None = None) -> None:
    """Let every convolution but those of an excitation compute in bfloat16, channels last.

    In place, for images of `resolution` pixels; `backend` is that of a GPU, if any. Parameters,
    gradients, statistics and logits stay float32, under the same names. All weights are cast
    together before a forward pass, and all counters of norms are raised together: on a GPU, one
    kernel for each would be a quarter of all kernels of a step.
    """
    sides = layers_by_side(network, resolution)
    # Torch's own leave gradients unwritten on a CPU (2.13, maps of one pixel, with a stride).
    use_middle_taps(network, resolution)
    # Casts are one kernel only where they keep the order in memory.
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    on_gpu = backend is not None and (backend.device_type, backend.kind) == ("cuda", "rewritten")
    table = table_of(backend.table) if backend is not None else ()
    layers = []
    for name, module in list(network.named_modules()):
        if isinstance(module, NormedConvolution):
            convolution, norm = module
            assert isinstance(convolution, nn.Conv2d)
            way = RULE
            if isinstance(convolution, MiddleTap):
                convolution.channels_last = on_gpu
            elif on_gpu:
                way = way_for(convolution, sides[module], table)
            elif convolution.weight.device.type == "cpu":
                way = way_on_cpu(convolution)
            layers.append(Bfloat16Layer(convolution, norm, way=way))
            network.set_submodule(name, layers[-1])
    if backend is not None and backend.triton:
        from anynet_study.engine.models.fused_norms import norm_sum_relu

        for layer in layers:
            layer.normalise = norm_sum_relu
    network.register_forward_pre_hook(partial(_begin_pass, layers))


def norm_by_torch(
    maps: Tensor, norm: nn.BatchNorm2d, residual: Tensor | None, relu: bool
) -> Tensor:
    """Return what `fused_norms.norm_sum_relu` computes, by three of torch's operators."""
    assert norm.momentum is not None
    statistics, affine = (norm.running_mean, norm.running_var), (norm.weight, norm.bias)
    y = F.batch_norm(maps, *statistics, *affine, norm.training, norm.momentum, norm.eps)
    if residual is not None:
        y = y + residual
    return y.relu_() if relu else y


class Bfloat16Layer(NormedConvolution):
    """A normed convolution that brings its input to bfloat16, channels last."""

    #: Of the convolution, cast: set before each forward pass of the network.
    cast: Tensor

    def __init__(self, convolution: nn.Conv2d, norm: nn.Module, way: Way) -> None:
        super().__init__(convolution, norm)
        self.way = way
        #: The norm, the sum and the ReLU.
        self.normalise: Normalise = norm_by_torch

    def forward(self, x: Tensor, residual: Tensor | None = None, relu: bool = False) -> Tensor:
        convolution, norm = self
        assert isinstance(convolution, nn.Conv2d)
        assert isinstance(norm, nn.BatchNorm2d)
        maps = x.to(dtype=torch.bfloat16, memory_format=torch.channels_last)
        return self.normalise(
            convolve(convolution, maps, self.cast, self.way), norm, residual, relu
        )


def _begin_pass(layers: Sequence[Bfloat16Layer], *_: object) -> None:
    """Cast the weights of all layers and raise the counters of their norms in training."""
    convolutions, norms = zip(*layers, strict=True)
    counters = [norm.num_batches_tracked for norm in norms if norm.training]
    if counters:
        torch._foreach_add_(counters, 1)
    weights = _CastTogether.apply(*(convolution.weight for convolution in convolutions))  # type: ignore[no-untyped-call]
    for layer, cast in zip(layers, weights, strict=True):
        layer.cast = cast


class _CastTogether(torch.autograd.Function):
    """Tensors in bfloat16, and their gradients back in float32: one kernel each way."""

    @staticmethod
    def forward(ctx: Any, *whole: Tensor) -> tuple[Tensor, ...]:
        return _cast(whole, torch.bfloat16)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        return _cast(gradients, torch.float32)


def _cast(tensors: Sequence[Tensor], dtype: torch.dtype) -> tuple[Tensor, ...]:
    cast = [torch.empty_like(tensor, dtype=dtype) for tensor in tensors]
    torch._foreach_copy_(cast, list(tensors))
    return tuple(cast)
