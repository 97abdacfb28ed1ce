"""The layers of a block on rows (n * side * side, channels), with backward passes of their own."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from anynet_study.engine.models.anynet import SqueezeExcitation
from anynet_study.engine.models.convolutions import convolution_on_rows

#: What the forward pass keeps; the backward pass takes it from the end.
Tape = list[Tensor]
#: The gradient by each parameter: its module and its name there.
Gradients = dict[tuple[nn.Module, str], Tensor]


def norm_forward(
    z: Tensor, norm: nn.BatchNorm2d, relu: bool, residual: Tensor | None
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


class RowLayer(nn.Module):
    """A convolution of `models.anynet` on rows; the parameters are the same tensors."""

    def __init__(self, layer: nn.Module, side: int) -> None:
        convolution, norm = layer.children()
        assert isinstance(convolution, nn.Conv2d)
        assert isinstance(norm, nn.BatchNorm2d)
        super().__init__()
        self.add_module("0", convolution)  # the names in the plain network
        self.add_module("1", norm)
        self.layers = convolution, norm
        self.on_rows = convolution_on_rows(convolution, side)
        self.pixels = side * side
        #: Side of the maps that leave the layer, in pixels.
        self.side = (side - 1) // convolution.stride[0] + 1

    def forward(
        self, rows: Tensor, tape: Tape | None, relu: bool = True, residual: Tensor | None = None
    ) -> Tensor:
        """Return norm(convolution(rows)), plus `residual` if any, and its ReLU if asked for.

        Raises ValueError in training, as the plain network, where a norm sees one row only.
        """
        convolution, norm = self.layers
        if tape is None and not norm.training:
            return self._folded(rows, relu, residual)
        if norm.training and self.side == 1 and len(rows) == self.pixels:
            raise ValueError("expected more than 1 value per channel when training, got one image")
        z = self.on_rows.forward(rows, convolution.weight)
        y, mean, rstd = norm_forward(z, norm, relu, residual)
        if tape is not None:
            # These weights: others may be in their place later, as by `functional_call`.
            tape += (rows, convolution.weight, norm.weight, z, mean, rstd)
            if relu:
                tape.append(y)
        return y

    def backward(
        self,
        gradient: Tensor,
        tape: Tape,
        gradients: Gradients,
        relu: bool = True,
        wanted: bool = True,
        into: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the gradients by the residual of `forward` and by the rows.

        `gradient` becomes the former, in place; `wanted` and `into` are as for
        `Convolution.backward`.
        """
        convolution, norm = self.layers
        y = tape.pop() if relu else None
        rstd, mean, z, scale, weight, rows = (tape.pop() for _ in range(6))
        to_z, to_scale, to_shift = norm_backward(gradient, z, y, norm, scale, mean, rstd)
        to_rows, to_weight = self.on_rows.backward(to_z, rows, weight, wanted, into)
        gradients[convolution, "weight"] = to_weight
        gradients[norm, "weight"], gradients[norm, "bias"] = to_scale, to_shift
        return gradient, to_rows

    def _folded(self, rows: Tensor, relu: bool, residual: Tensor | None) -> Tensor:
        """The layer in evaluation: a norm with fixed statistics is part of the convolution."""
        convolution, norm = self.layers
        assert norm.running_mean is not None
        assert norm.running_var is not None
        scale = (norm.running_var + norm.eps).rsqrt_().mul_(norm.weight)
        bias = torch.addcmul(norm.bias, norm.running_mean, scale, value=-1)
        y = self.on_rows.forward(rows, convolution.weight * scale[:, None, None, None], bias)
        if residual is not None:
            y.add_(residual)
        return y.relu_() if relu else y


class RowExcitation(nn.Module):
    """`SqueezeExcitation` on rows (n * side * side, channels)."""

    def __init__(self, layer: SqueezeExcitation, side: int) -> None:
        super().__init__()
        self.reduce = layer.reduce
        self.expand = layer.expand
        self.pixels = side * side

    def forward(self, rows: Tensor, tape: Tape | None) -> Tensor:
        maps = rows.view(-1, self.pixels, rows.shape[1])
        means = maps.mean(dim=1)
        inside = F.linear(means, self.reduce.weight.flatten(1), self.reduce.bias).relu_()
        scale = F.linear(inside, self.expand.weight.flatten(1), self.expand.bias).sigmoid_()
        if tape is not None:
            tape += (rows, self.reduce.weight, self.expand.weight, means, inside, scale)
        return (maps * scale[:, None]).view_as(rows)

    def backward(self, gradient: Tensor, tape: Tape, gradients: Gradients) -> Tensor:
        scale, inside, means, expand, reduce, rows = (tape.pop() for _ in range(6))
        to_maps = gradient.view(-1, self.pixels, rows.shape[1])
        to_scale = (to_maps * rows.view_as(to_maps)).sum(dim=1)
        to_expand = torch.ops.aten.sigmoid_backward(to_scale, scale)
        gradients[self.expand, "weight"] = to_expand.t().mm(inside).view_as(expand)
        gradients[self.expand, "bias"] = to_expand.sum(0)
        to_inside = to_expand.mm(expand.flatten(1))
        to_reduce = torch.ops.aten.threshold_backward(to_inside, inside, 0)
        gradients[self.reduce, "weight"] = to_reduce.t().mm(means).view_as(reduce)
        gradients[self.reduce, "bias"] = to_reduce.sum(0)
        to_means = to_reduce.mm(reduce.flatten(1))
        to_rows = torch.addcmul(to_means[:, None] / self.pixels, to_maps, scale[:, None])
        return to_rows.view_as(rows)
