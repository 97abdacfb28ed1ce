"""A convolution with its batch norm, the ReLU and the sum behind it, as one step of autograd."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from anynet_study.models.rewrites.norm import normalise
from anynet_study.models.rewrites.operators import Operator, operator_of


class RowLayer(nn.Sequential):
    """What `models.blocks.convolution` returns, on rows; the parameters are the same tensors."""

    def __init__(self, layer: nn.Module, side: int) -> None:
        convolution, norm = layer.children()
        assert isinstance(convolution, nn.Conv2d)
        assert isinstance(norm, nn.BatchNorm2d)
        super().__init__(convolution, norm)
        #: The two children, without a look-up by name.
        self.parts = convolution, norm
        self.operator = operator_of(convolution, side)
        #: Side of the maps that leave the layer, in pixels.
        self.side = (side - 1) // convolution.stride[0] + 1

    def forward(  # type: ignore[override]
        self, rows: Tensor, relu: bool, residual: Tensor | None = None
    ) -> Tensor:
        """Return norm(convolution(rows)), plus `residual`, and its ReLU, each if asked for."""
        convolution, norm = self.parts
        if not norm.training and not torch.is_grad_enabled():
            return _folded(rows, residual, self.operator, convolution.weight, norm, relu)
        if norm.training:
            norm.num_batches_tracked.add_(1)  # type: ignore[union-attr]
        y: Tensor = _Layer.apply(  # type: ignore[no-untyped-call]
            rows,
            convolution.weight,
            norm.weight,
            norm.bias,
            residual,
            self.operator,
            norm,
            relu,
        )
        return y


def _folded(
    rows: Tensor, residual: Tensor | None, operator: Operator, weight: Tensor, norm: Any, relu: bool
) -> Tensor:
    """The layer in evaluation: batch norm with fixed statistics is part of the convolution."""
    scale = norm.weight * (norm.running_var + norm.eps).rsqrt_()
    bias = torch.addcmul(norm.bias, norm.running_mean, scale, value=-1)
    y = operator.forward(rows, weight * scale[:, None, None, None], bias)
    if residual is not None:
        y = y.add_(residual)
    return y.relu_() if relu else y


class _Layer(torch.autograd.Function):
    """One node instead of up to five: less to start, to save and to pass through memory."""

    @staticmethod
    def forward(
        ctx: Any,
        rows: Tensor,
        weight: Tensor,
        gamma: Tensor,
        beta: Tensor,
        residual: Tensor | None,
        operator: Operator,
        norm: nn.BatchNorm2d,
        relu: bool,
    ) -> Tensor:
        z = operator.forward(rows, weight)
        statistics: tuple[Tensor | None, Tensor | None] = (None, None)
        if norm.training:
            y, mean, rstd = normalise(z, norm)
        else:
            statistics = norm.running_mean, norm.running_var
            y, mean, rstd = torch.native_batch_norm(
                z, gamma, beta, *statistics, False, 0.0, norm.eps
            )
        if residual is not None:
            y.add_(residual)
        if relu:
            y.relu_()
        ctx.save_for_backward(rows, weight, gamma, z, mean, rstd, *statistics, y if relu else None)
        ctx.operator, ctx.training, ctx.eps = operator, norm.training, norm.eps
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight, gamma, z, mean, rstd, running_mean, running_var, y = ctx.saved_tensors
        if y is not None:
            gradient = torch.ops.aten.threshold_backward(gradient, y, 0)
        wanted = ctx.needs_input_grad
        to_z, to_gamma, to_beta = torch.ops.aten.native_batch_norm_backward(
            gradient,
            z,
            gamma,
            running_mean,
            running_var,
            mean,
            rstd,
            ctx.training,
            ctx.eps,
            [wanted[0] or wanted[1], wanted[2], wanted[3]],
        )
        to_rows = to_weight = None
        if wanted[0] or wanted[1]:
            to_rows, to_weight = ctx.operator.backward(to_z, rows, weight, wanted[:2])
        residual = gradient if wanted[4] else None
        return to_rows, to_weight, to_gamma, to_beta, residual, None, None, None
