"""Batch norm of rows (m, channels) in training."""

import torch
from torch import Tensor, nn

#: Elements and channels from which statistics, then one multiplication and addition by channel,
#: are quicker than torch's kernel for both.
MANY = 1 << 15
WIDE = 16


def normalise(z: Tensor, norm: nn.BatchNorm2d) -> tuple[Tensor, Tensor, Tensor]:
    """Return the batch norm of `z`, its columns' means and 1 / sqrt(their variances + eps).

    The running statistics are updated.
    """
    momentum, eps = norm.momentum, norm.eps
    assert momentum is not None
    if z.numel() < MANY or z.shape[1] < WIDE:
        return torch.native_batch_norm(
            z, norm.weight, norm.bias, norm.running_mean, norm.running_var, True, momentum, eps
        )
    mean, variance = torch.batch_norm_update_stats(z, norm.running_mean, norm.running_var, momentum)
    rstd = variance.add_(eps).rsqrt_()
    scale = norm.weight * rstd
    return torch.addcmul(torch.addcmul(norm.bias, mean, scale, value=-1), z, scale), mean, rstd
