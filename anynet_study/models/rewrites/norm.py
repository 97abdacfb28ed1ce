"""Batch norm of rows (m, channels), forward and backward."""

import torch
from torch import Tensor, nn

#: Elements and channels from which statistics, then one multiplication and addition by channel,
#: are quicker than torch's kernel for both.
MANY = 1 << 15
WIDE = 16
#: The same for the backward pass, and the closed form of its gradient.
MANY_BACK = 1 << 18
WIDE_BACK = 96


def normalise(z: Tensor, norm: nn.BatchNorm2d) -> tuple[Tensor, Tensor, Tensor]:
    """Return the batch norm of `z`, its columns' means and 1 / sqrt(their variances + eps).

    In training the running statistics are updated; in evaluation they are those of the norm, and
    the two others returned are empty.
    """
    momentum, eps = norm.momentum, norm.eps
    assert momentum is not None
    if not norm.training or z.numel() < MANY or z.shape[1] < WIDE:
        y, mean, rstd = torch.native_batch_norm(
            z,
            norm.weight,
            norm.bias,
            norm.running_mean,
            norm.running_var,
            norm.training,
            momentum,
            eps,
        )
    else:
        mean, variance = torch.batch_norm_update_stats(
            z, norm.running_mean, norm.running_var, momentum
        )
        rstd = variance.add_(eps).rsqrt_()
        scale = norm.weight * rstd
        y = torch.addcmul(torch.addcmul(norm.bias, mean, scale, value=-1), z, scale)
    if norm.training:
        assert norm.num_batches_tracked is not None
        norm.num_batches_tracked.add_(1)
    return y, mean, rstd


def norm_backward(
    gradient: Tensor, z: Tensor, norm: nn.BatchNorm2d, mean: Tensor, rstd: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients by `z`, by the norm's weight and by its bias.

    The memory of `z` may be taken for the first.
    """
    if mean.numel() and z.numel() >= MANY_BACK and z.shape[1] >= WIDE_BACK:
        return _batch_backward(gradient, z, norm.weight, mean, rstd)
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


def _batch_backward(
    gradient: Tensor, z: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Of statistics of the batch, in three passes over memory, the last two in place.

    With x = (z - mean) rstd, of a column: weight rstd (gradient - mean(gradient) - x mean(x
    gradient)), which is a sum of multiples of the gradient, of `z` and of 1.
    """
    rows, columns = z.shape
    # Of a layer norm whose rows have the mean 0 and the deviation 1: the columns' sums of
    # gradient * z and of gradient.
    _, products, to_bias = torch.ops.aten.native_layer_norm_backward.default(
        gradient,
        z,
        [columns],
        z.new_zeros(rows, 1),
        z.new_ones(rows, 1),
        weight,
        weight,
        [False, True, True],
    )
    to_weight = torch.addcmul(products, mean, to_bias, value=-1).mul_(rstd)
    of_gradient = weight * rstd
    of_z = (of_gradient * rstd).mul_(to_weight).mul_(-1 / rows)
    constant = torch.addcmul(mean * of_z, of_gradient, to_bias, value=1 / rows).neg_()
    to_z = torch.addcmul(constant, z, of_z, out=z).addcmul_(gradient, of_gradient)
    return to_z, to_weight, to_bias
