"""Batch norm of rows (m, channels), forward and backward."""

import torch
from torch import Tensor, nn

#: Elements and channels from which statistics, then one multiplication and addition by channel,
#: are quicker than torch's kernel for both.
MANY = 1 << 15
WIDE = 16


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
    """Return the gradients by `z`, by the norm's weight and by its bias."""
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
