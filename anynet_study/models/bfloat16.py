"""Convolutions that compute in bfloat16, in a network that stays float32."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from anynet_study.models.anynet import AnyNet
from anynet_study.models.rewrites import use_middle_taps


def use_bfloat16(network: AnyNet, resolution: int) -> None:
    """Let every convolution but those of an excitation compute in bfloat16, channels last.

    In place, for images of `resolution` pixels. Parameters, gradients, statistics and logits stay
    float32, under the same names. All weights are cast together before a forward pass, and all
    counters of norms are raised together: on a GPU, one kernel for each would be a quarter of
    all kernels of a step.
    """
    # Torch's own leave gradients unwritten on a CPU (2.13, maps of one pixel, with a stride).
    use_middle_taps(network, resolution)
    # Casts are one kernel only where they keep the order in memory.
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    layers = []
    for name, module in list(network.named_modules()):
        parts = list(module.children())
        if len(parts) == 2 and isinstance(parts[1], nn.BatchNorm2d):
            layers.append(Bfloat16Layer(*parts))
            network.set_submodule(name, layers[-1])
    network.register_forward_pre_hook(partial(_begin_pass, layers))


class Bfloat16Layer(nn.Sequential):
    """A convolution and its batch norm that bring their input to bfloat16, channels last."""

    #: Of the convolution, cast: set before each forward pass of the network.
    cast: Tensor

    def forward(self, maps: Tensor) -> Tensor:
        convolution, norm = self
        assert isinstance(convolution, nn.Conv2d)
        assert isinstance(norm, nn.BatchNorm2d)
        maps = maps.to(dtype=torch.bfloat16, memory_format=torch.channels_last)
        # What the layer does with an input and weights: a MiddleTap does something else.
        maps = convolution._conv_forward(maps, self.cast, None)
        statistics, affine = (norm.running_mean, norm.running_var), (norm.weight, norm.bias)
        assert norm.momentum is not None
        return F.batch_norm(maps, *statistics, *affine, norm.training, norm.momentum, norm.eps)


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
