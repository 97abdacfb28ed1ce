"""Batch norm of rows (m, channels) with the sum and the ReLU behind it, forward and backward.

By compiled kernels where `kernels` names some and they are for these numbers; otherwise, and with
statistics that are not the batch's, by torch's. A 1x1 convolution and its norm are one pass over
memory by compiled kernels.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from anynet_study.models import operators
from anynet_study.models.convolutions import seen_rows, strided
from anynet_study.models.kernels import Instructions
from anynet_study.models.operators import MOST_CHANNELS, kernels_take


def norm_forward(
    z: Tensor,
    norm: nn.BatchNorm2d,
    kernels: Instructions | None,
    relu: bool = False,
    residual: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the batch norm of `z` plus `residual`, or the ReLU of that, and two (channels,).

    Those are the means and 1 / sqrt(variance + eps) of the batch in training, when the running
    statistics are updated, too; in evaluation they are empty.
    """
    if kernels is not None and norm.training and _compiled(norm, z, residual):
        found: tuple[Tensor, Tensor, Tensor] = operators.norm_forward(
            z, residual, relu, *_state(norm), norm.momentum, norm.eps, kernels
        )
        return found
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
    affine: tuple[Tensor, Tensor],
    mean: Tensor,
    rstd: Tensor,
    kernels: Instructions | None,
    residual: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients by `z`, by the norm's weight and by its bias.

    `affine` are the weight and bias of the forward pass. With a `residual`, `gradient` becomes the
    one by that, in place; `y` is None where there was no ReLU. The memory of `z` may be taken for
    the first.
    """
    if kernels is not None and mean.numel() and _compiled(norm, gradient, z, y):
        sum_of_two, relu = (y if residual else None), y is not None
        found = operators.norm_backward(gradient, z, sum_of_two, relu, *affine, mean, rstd, kernels)
        return z, *found
    if y is not None:
        torch.ops.aten.threshold_backward.grad_input(gradient, y, 0, grad_input=gradient)
    statistics = (norm.running_mean, norm.running_var, mean, rstd)
    return torch.ops.aten.native_batch_norm_backward.default(  # type: ignore[no-any-return]
        gradient, z, affine[0], *statistics, mean.numel() > 0, norm.eps, [True, True, True]
    )


def _compiled(norm: nn.BatchNorm2d, *rows: Tensor | None) -> bool:
    """Whether kernels are for such numbers: a network's type may have changed."""
    weight = norm._parameters["weight"]
    assert weight is not None
    return norm.num_features <= MOST_CHANNELS and kernels_take(weight.dtype, *rows)


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
            into = torch.zeros_like(rows) if into is None else into
            pixels = strided(into, self.side, self.stride)
            pixels.add_(to_x.view(pixels.shape))
            to_x = into
        return to_x, to_weight, to_scale, to_shift
