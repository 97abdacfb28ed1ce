"""Batch norm of rows (m, channels) with the sum and the ReLU behind it, forward and backward.

By the kernels of norm.c and norm_backward.c where they are; otherwise, and with statistics that are
not the batch's, by torch's. A 1x1 convolution and its norm are one pass over memory by the kernels
of pointwise.c, where there are any and the CPU is one that they are for.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from anynet_study.models.convolutions import seen_rows, strided
from anynet_study.models.kernels import MOST_CHANNELS, Kernel, call, kernel, kernels_take


def norm_forward(
    z: Tensor, norm: nn.BatchNorm2d, relu: bool = False, residual: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the batch norm of `z` plus `residual`, or the ReLU of that, and two (channels,).

    Those are the means and 1 / sqrt(variance + eps) of the batch in training, when the running
    statistics are updated, too; in evaluation they are empty.
    """
    compiled = _compiled("norm_forward", norm, z, residual) if norm.training else None
    if compiled is not None:
        y, mean, rstd = torch.empty_like(z), *_two_of_each_channel(z)
        statistics = (*norm._parameters.values(), *norm._buffers.values(), mean, rstd)
        call(compiled, z, residual, relu, *z.shape, norm.momentum, norm.eps, *statistics, y)
        return y, mean, rstd
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
    mean: Tensor,
    rstd: Tensor,
    residual: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients by `z`, by the norm's weight and by its bias.

    With a `residual`, `gradient` becomes the one by that, in place; `y` is None where there was no
    ReLU. The memory of `z` may be taken for the first.
    """
    compiled = _compiled("norm_backward", norm, gradient, z, y) if mean.numel() else None
    if compiled is not None:
        to_weight, to_bias = _two_of_each_channel(z)
        sum_of_two = y if residual else None
        norms = (*norm._parameters.values(), mean, rstd)
        call(compiled, gradient, z, sum_of_two, y is not None, *z.shape, *norms, to_weight, to_bias)
        return z, to_weight, to_bias
    if y is not None:
        torch.ops.aten.threshold_backward.grad_input(gradient, y, 0, grad_input=gradient)
    statistics = (norm.running_mean, norm.running_var, mean, rstd)
    return torch.ops.aten.native_batch_norm_backward.default(  # type: ignore[no-any-return]
        gradient, z, norm.weight, *statistics, mean.numel() > 0, norm.eps, [True, True, True]
    )


def _compiled(name: str, norm: nn.BatchNorm2d, *rows: Tensor | None) -> Kernel | None:
    """The compiled kernel, if there is one for these tensors."""
    weight = norm._parameters["weight"]
    assert weight is not None
    if norm.num_features > MOST_CHANNELS or not kernels_take(weight.dtype, *rows):
        return None
    return kernel(name, weight.dtype)


def _two_of_each_channel(z: Tensor) -> tuple[Tensor, Tensor]:
    return z.new_empty(z.shape[1]), z.new_empty(z.shape[1])


def pointwise_and_norm(
    convolution: nn.Conv2d, norm: nn.BatchNorm2d, side: int
) -> "PointwiseAndNorm | None":
    """Return both for maps of `side` pixels, or None where the kernels are not for them."""
    fits = (
        convolution.kernel_size == (1, 1)
        and convolution.groups == 1
        and convolution.out_channels <= MOST_CHANNELS
    )
    there = kernel("pointwise_forward", convolution.weight.dtype) is not None
    return PointwiseAndNorm(convolution, norm, side) if fits and there else None


@dataclass(frozen=True)
class PointwiseAndNorm:
    """A convolution and the norm behind it, with the statistics of the batch."""

    convolution: nn.Conv2d
    norm: nn.BatchNorm2d
    #: Of the maps that come in, in pixels.
    side: int

    def fits(self, *rows: Tensor | None) -> bool:
        """Whether the kernels are for such rows: types may have changed since they were chosen."""
        dtype = self.convolution.weight.dtype
        there = kernel("pointwise_forward", dtype) is not None
        return there and self.norm.training and kernels_take(dtype, *rows)

    def forward(
        self, rows: Tensor, relu: bool, residual: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the convolution of `rows`, and what `norm_forward` returns of that."""
        rows = seen_rows(rows, self.side, self.convolution.stride[0])
        z = rows.new_empty(len(rows), self.convolution.out_channels)
        y, mean, rstd = torch.empty_like(z), *_two_of_each_channel(z)
        norm, workspace = self.norm, self._workspace()
        factors = self.convolution.weight.detach().contiguous()
        inputs = (rows, factors, residual, relu, *rows.shape, z.shape[1], norm.momentum, norm.eps)
        statistics = (*norm._parameters.values(), *norm._buffers.values(), mean, rstd)
        call(self._kernel("pointwise_forward"), *inputs, *statistics, workspace, z, y)
        return z, y, mean, rstd

    def backward(
        self,
        gradient: Tensor,
        z: Tensor,
        y: Tensor | None,
        rows: Tensor,
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
        stride = self.convolution.stride[0]
        x = seen_rows(rows, self.side, stride)
        adds = into is not None and stride == 1
        to_x = into if into is not None and adds else x.new_empty(x.shape if wanted else 0)
        factors, workspace = self.convolution.weight.detach().contiguous(), self._workspace()
        to_factors, to_scale, to_shift = (torch.empty_like(like) for like in (factors, mean, mean))
        sum_of_two = y if residual else None
        inputs = (x, factors, gradient, z, sum_of_two, y is not None, *x.shape, z.shape[1])
        norms = (*self.norm._parameters.values(), mean, rstd, workspace)
        results = (to_factors, to_scale, to_shift, adds, to_x if wanted else None)
        call(self._kernel("pointwise_backward"), *inputs, *norms, *results)
        if wanted and stride > 1:
            into = torch.zeros_like(rows) if into is None else into
            pixels = strided(into, self.side, stride)
            pixels.add_(to_x.view(pixels.shape))
            to_x = into
        return to_x, to_factors, to_scale, to_shift

    def _workspace(self) -> Tensor:
        """Memory for what the kernels pack."""
        weight = self.convolution.weight
        columns, channels = weight.shape[:2]
        return weight.new_empty(self._kernel("pointwise_workspace")(channels, columns))

    def _kernel(self, name: str) -> Kernel:
        found = kernel(name, self.convolution.weight.dtype)
        assert found is not None, "`fits` was asked before"
        return found
