"""The layers of a block on rows (n * side * side, channels), with backward passes of their own."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from anynet_study.models.anynet import SqueezeExcitation
from anynet_study.models.convolutions import convolution_on_rows, outer
from anynet_study.models.norms import norm_backward, norm_forward, pointwise_and_norm

#: What the forward pass keeps; the backward pass takes it from the end.
Tape = list[Tensor]
#: The gradient by each parameter.
Gradients = dict[Tensor, Tensor]


class RowLayer(nn.Module):
    """What `models.anynet.convolution` returns, on rows; the parameters are the same tensors."""

    def __init__(self, layer: nn.Module, side: int) -> None:
        convolution, norm = layer.children()
        assert isinstance(convolution, nn.Conv2d)
        assert isinstance(norm, nn.BatchNorm2d)
        super().__init__()
        self.add_module("0", convolution)  # the names in the plain network
        self.add_module("1", norm)
        #: The two children and their parameters, without a look-up by name.
        self.layers = convolution, norm
        self.weights = convolution.weight, norm.weight, norm.bias
        self.convolution = convolution_on_rows(convolution, side)
        self.joined = pointwise_and_norm(convolution, norm, side)
        #: Side of the maps that leave the layer, in pixels.
        self.side = (side - 1) // convolution.stride[0] + 1

    def forward(
        self, rows: Tensor, tape: Tape | None, relu: bool = True, residual: Tensor | None = None
    ) -> Tensor:
        """Return norm(convolution(rows)), plus `residual` if any, and its ReLU if asked for.

        Raises ValueError in training, as the plain network, where a norm sees one row only.
        """
        _, norm = self.layers
        if tape is None and not norm.training:
            return self._folded(rows, relu, residual)
        if self.joined is not None and self.joined.fits(rows, residual):
            z, y, mean, rstd = self.joined.forward(rows, relu, residual)
        else:
            z = self.convolution.forward(rows, self.weights[0])
            y, mean, rstd = norm_forward(z, norm, relu, residual)
        if norm.training and len(z) == 1:
            raise ValueError("expected more than 1 value per channel when training, got one image")
        if tape is not None:
            tape += (rows, z, mean, rstd)
            if relu:
                tape.append(y)
        return y

    def backward(
        self,
        gradient: Tensor,
        tape: Tape,
        gradients: Gradients,
        relu: bool = True,
        residual: bool = False,
        wanted: bool = True,
        into: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the gradients by the `residual`, if any, and by the rows.

        `gradient` becomes the former, in place; `wanted` and `into` are as for
        `Convolution.backward`.
        """
        y = tape.pop() if relu else None
        rstd, mean, z, rows = (tape.pop() for _ in range(4))
        weight, scale, shift = self.weights
        if self.joined is not None and self.joined.fits(gradient, rows, into):
            to_rows, gradients[weight], gradients[scale], gradients[shift] = self.joined.backward(
                gradient, z, y, rows, mean, rstd, residual, wanted, into
            )
            return gradient, to_rows
        to_z, gradients[scale], gradients[shift] = norm_backward(
            gradient, z, y, self.layers[1], mean, rstd, residual
        )
        to_rows, gradients[weight] = self.convolution.backward(to_z, rows, weight, wanted, into)
        return gradient, to_rows

    def _folded(self, rows: Tensor, relu: bool, residual: Tensor | None) -> Tensor:
        """The layer in evaluation: a norm with fixed statistics is part of the convolution."""
        convolution, norm = self.layers
        assert norm.running_mean is not None
        assert norm.running_var is not None
        scale = (norm.running_var + norm.eps).rsqrt_().mul_(norm.weight)
        bias = torch.addcmul(norm.bias, norm.running_mean, scale, value=-1)
        y = self.convolution.forward(rows, convolution.weight * scale[:, None, None, None], bias)
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
            tape += (rows, means, inside, scale)
        return (maps * scale[:, None]).view_as(rows)

    def backward(self, gradient: Tensor, tape: Tape, gradients: Gradients) -> Tensor:
        scale, inside, means, rows = (tape.pop() for _ in range(4))
        to_maps = gradient.view(-1, self.pixels, rows.shape[1])
        to_scale = (to_maps * rows.view_as(to_maps)).sum(dim=1)
        to_expand = torch.ops.aten.sigmoid_backward(to_scale, scale)
        to_inside = _linear_backward(self.expand, to_expand, inside, gradients)
        to_reduce = torch.ops.aten.threshold_backward(to_inside, inside, 0)
        to_means = _linear_backward(self.reduce, to_reduce, means, gradients)
        to_rows = torch.addcmul(to_means[:, None] / self.pixels, to_maps, scale[:, None])
        return to_rows.view_as(rows)


def _linear_backward(
    layer: nn.Conv2d, gradient: Tensor, rows: Tensor, gradients: Gradients
) -> Tensor:
    """Return the gradient by the rows that the layer saw."""
    assert layer.bias is not None
    gradients[layer.weight] = outer(gradient, rows).view_as(layer.weight)
    gradients[layer.bias] = gradient.sum(0)
    return gradient.mm(layer.weight.flatten(1))
