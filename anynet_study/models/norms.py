"""Batch norm of rows (m, channels) with the sum and the ReLU behind it, forward and backward.

By torch's kernels; but a 1x1 convolution and its norm, with the statistics of the batch, are one
pass over memory by compiled kernels, where these are there.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from anynet_study.models import operators
from anynet_study.models.convolutions import add_to_seen, seen_rows
from anynet_study.models.kernels import Instructions
from anynet_study.models.operators import MOST_CHANNELS


def norm_forward(
    z: Tensor,
    norm: nn.BatchNorm2d,
    relu: bool = False,
    residual: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the batch norm of `z` plus `residual`, or the ReLU of that, and two (channels,).

    Those are the means and 1 / sqrt(variance + eps) of the batch in training, when the running
    statistics are updated, too; in evaluation they are empty.
    """
    assert norm.momentum is not None
    if norm.training:
        assert norm.num_batches_tracked is not None
        norm.num_batches_tracked.add_(1)
    affine, statistics = (norm.weight, norm.bias), (norm.running_mean, norm.running_var)
    y, mean, rstd = torch.native_batch_norm(
        z, *affine, *statistics, norm.training, norm.momentum, norm.eps
    )
    if residual is not None:
        y.add_(residual)
    return y.relu_() if relu else y, mean, rstd


def norm_backward(
    gradient: Tensor,
    z: Tensor,
    y: Tensor | None,
    norm: nn.BatchNorm2d,
    weight: Tensor,
    mean: Tensor,
    rstd: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients by `z`, by the norm's weight and by its bias.

    `weight` is that of the forward pass. `gradient` becomes the one by the sum of norm and
    residual, in place; `y` is None where there was no ReLU.
    """
    if y is not None:
        torch.ops.aten.threshold_backward.grad_input(gradient, y, 0, grad_input=gradient)
    statistics = (norm.running_mean, norm.running_var, mean, rstd)
    return torch.ops.aten.native_batch_norm_backward.default(  # type: ignore[no-any-return]
        gradient, z, weight, *statistics, mean.numel() > 0, norm.eps, [True, True, True]
    )


def _state(norm: nn.BatchNorm2d) -> tuple[Tensor | None, ...]:
    return (*norm._parameters.values(), *norm._buffers.values())


def pointwise_and_norm(
    convolution: nn.Conv2d, norm: nn.BatchNorm2d, side: int, kernels: Instructions | None
) -> "PointwiseAndNorm | None":
    """Return both for maps of `side` pixels, or None where no kernels are for them."""
    fits = (
        convolution.kernel_size == (1, 1)
        and convolution.groups == 1
        and convolution.out_channels <= MOST_CHANNELS
    )
    if kernels is None or not fits:
        return None
    return PointwiseAndNorm(norm, side, convolution.stride[0], kernels)


@dataclass(frozen=True)
class PointwiseAndNorm:
    """A 1x1 convolution and the norm behind it, with the statistics of the batch."""

    norm: nn.BatchNorm2d
    #: Of the maps that come in, in pixels.
    side: int
    stride: int
    kernels: Instructions

    def forward(
        self, rows: Tensor, weight: Tensor, relu: bool, residual: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the convolution of `rows`, and what `norm_forward` returns of that."""
        rows, factors = seen_rows(rows, self.side, self.stride), weight.flatten(1).contiguous()
        norm, kernels = self.norm, self.kernels
        found: tuple[Tensor, Tensor, Tensor, Tensor] = operators.pointwise_forward(
            rows, factors, residual, relu, *_state(norm), norm.momentum, norm.eps, kernels
        )
        return found

    def backward(
        self,
        gradient: Tensor,
        z: Tensor,
        y: Tensor | None,
        rows: Tensor,
        weights: tuple[Tensor, Tensor, Tensor],
        mean: Tensor,
        rstd: Tensor,
        residual: bool,
        wanted: bool,
        into: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the gradients by rows, and by the weights of the convolution and of the norm.

        `wanted`, `into` and the first are as for `Convolution.backward`, the others as for
        `norm_backward`.
        """
        weight, scale, shift = weights
        x, factors = seen_rows(rows, self.side, self.stride), weight.flatten(1).contiguous()
        adds = into is not None and self.stride == 1
        to_x = (into if adds else torch.empty_like(x)) if wanted else None
        sum_of_two, relu = (y if residual else None), y is not None
        to_factors, to_scale, to_shift = operators.pointwise_backward(
            gradient,
            x,
            factors,
            z,
            sum_of_two,
            relu,
            scale,
            shift,
            mean,
            rstd,
            to_x,
            adds,
            self.kernels,
        )
        to_weight = to_factors.view_as(weight)
        if to_x is None:
            return gradient.new_empty(0), to_weight, to_scale, to_shift
        if self.stride > 1:
            to_x = add_to_seen(to_x, rows, self.side, self.stride, into)
        return to_x, to_weight, to_scale, to_shift
