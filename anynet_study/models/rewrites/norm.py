"""Batch norm of rows (m, channels) with the sum and the ReLU behind it, forward and backward.

By the kernels of norm.c and norm_back.c where they are; otherwise, and with statistics that are not
the batch's, by torch's.
"""

import torch
from torch import Tensor, nn

from anynet_study.models.rewrites.compiled import MOST_CHANNELS, Kernel, addresses, kernel, suit


def normalise(
    z: Tensor, norm: nn.BatchNorm2d, relu: bool = False, residual: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the batch norm of `z` plus `residual`, or the ReLU of that, and two (channels,).

    Those are the means and 1 / sqrt(variance + eps) of the batch in training, when the running
    statistics are updated, too; in evaluation they are empty.
    """
    compiled = _compiled("normalise", norm, z, residual) if norm.training else None
    if compiled is not None:
        y, mean, rstd = torch.empty_like(z), *_two_of_each_channel(z)
        compiled(
            z.data_ptr(),
            None if residual is None else residual.data_ptr(),
            relu,
            *z.shape,
            norm.momentum,
            norm.eps,
            *addresses(norm._parameters),
            *addresses(norm._buffers),
            mean.data_ptr(),
            rstd.data_ptr(),
            y.data_ptr(),
        )
        return y, mean, rstd
    assert norm.momentum is not None
    if norm.training:
        assert norm.num_batches_tracked is not None
        norm.num_batches_tracked.add_(1)
    y, mean, rstd = torch.native_batch_norm(
        z,
        norm.weight,
        norm.bias,
        norm.running_mean,
        norm.running_var,
        norm.training,
        norm.momentum,
        norm.eps,
    )
    if residual is not None:
        y.add_(residual)
    return y.relu_() if relu else y, mean, rstd


def norm_backward(
    gradient: Tensor,
    z: Tensor,
    y: Tensor | None,
    norm: nn.BatchNorm2d,
    mean: Tensor,
    rstd: Tensor,
    residual: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients by `z`, by the norm's weight and by its bias.

    With a `residual`, `gradient` becomes the one by that, in place; `y` is None where there was no
    ReLU. The memory of `z` may be taken for the first.
    """
    compiled = _compiled("reverse", norm, gradient, z, y) if mean.numel() else None
    if compiled is not None:
        to_weight, to_bias = _two_of_each_channel(z)
        compiled(
            gradient.data_ptr(),
            z.data_ptr(),
            y.data_ptr() if y is not None and residual else None,
            y is not None,
            *z.shape,
            *addresses(norm._parameters),
            mean.data_ptr(),
            rstd.data_ptr(),
            to_weight.data_ptr(),
            to_bias.data_ptr(),
        )
        return z, to_weight, to_bias
    if y is not None:
        torch.ops.aten.threshold_backward.grad_input(gradient, y, 0, grad_input=gradient)
    return torch.ops.aten.native_batch_norm_backward.default(  # type: ignore[no-any-return]
        gradient,
        z,
        norm.weight,
        norm.running_mean,
        norm.running_var,
        mean,
        rstd,
        mean.numel() > 0,
        norm.eps,
        [True, True, True],
    )


def _compiled(name: str, norm: nn.BatchNorm2d, *rows: Tensor | None) -> Kernel | None:
    """The compiled kernel, if there is one for these tensors."""
    weight = norm._parameters["weight"]
    assert weight is not None
    if norm.num_features > MOST_CHANNELS or not suit(weight.dtype, *rows):
        return None
    return kernel(name, weight.dtype)


def _two_of_each_channel(z: Tensor) -> tuple[Tensor, Tensor]:
    return z.new_empty(z.shape[1]), z.new_empty(z.shape[1])
