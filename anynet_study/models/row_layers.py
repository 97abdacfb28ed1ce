"""The layers of a block on rows (n * side * side, channels), with backward passes of their own."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from anynet_study.models.anynet import SqueezeExcitation
from anynet_study.models.convolutions import convolution_on_rows
from anynet_study.models.kernels import Instructions
from anynet_study.models.norms import norm_backward, norm_forward, pointwise_and_norm
from anynet_study.models.operators import kernels_take

#: What the forward pass keeps; the backward pass takes it from the end.
Tape = list[Tensor]
#: The gradient by each parameter: its module and its name there.
Gradients = dict[tuple[nn.Module, str], Tensor]


class RowLayer(nn.Module):
    """What `models.anynet.convolution` returns, on rows; the parameters are the same tensors."""

    def __init__(self, layer: nn.Module, side: int, kernels: Instructions | None) -> None:
        convolution, norm = layer.children()
        assert isinstance(convolution, nn.Conv2d)
        assert isinstance(norm, nn.BatchNorm2d)
        super().__init__()
        self.add_module("0", convolution)  # the names in the plain network
        self.add_module("1", norm)
        #: The two children, and their parameters by name, without nn.Module's slow look-ups.
        self.layers = convolution, norm
        self.places = convolution._parameters, norm._parameters
        self.convolution = convolution_on_rows(convolution, side)
        self.joined = pointwise_and_norm(convolution, norm, side, kernels)
        self.pixels = side * side
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
        if norm.training and self.side == 1 and len(rows) == self.pixels:
            raise ValueError("expected more than 1 value per channel when training, got one image")
        # At each call: others may be in their place, as by `functional_call`.
        weight, scale, shift = self.weights()
        joined = self.joined if norm.training else None
        if joined is not None and kernels_take(weight.dtype, rows, residual):
            z, y, mean, rstd = joined.forward(rows, weight, relu, residual)
        else:
            z = self.convolution.forward(rows, weight)
            y, mean, rstd = norm_forward(z, norm, relu, residual)
        if tape is not None:
            tape += (rows, weight, scale, shift, z, mean, rstd)
            if relu:
                tape.append(y)
        return y

    def weights(self) -> tuple[Tensor, Tensor, Tensor]:
        """Those of the convolution, and the norm's weight and bias."""
        of_convolution, of_norm = self.places
        return of_convolution["weight"], of_norm["weight"], of_norm["bias"]  # type: ignore[return-value]

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
        convolution, norm = self.layers
        y = tape.pop() if relu else None
        rstd, mean, z, shift, scale, weight, rows = (tape.pop() for _ in range(7))
        joined = self.joined if mean.numel() else None
        if joined is not None and kernels_take(weight.dtype, gradient, rows, into):
            to_rows, to_weight, to_scale, to_shift = joined.backward(
                gradient, z, y, rows, (weight, scale, shift), mean, rstd, residual, wanted, into
            )
        else:
            to_z, to_scale, to_shift = norm_backward(gradient, z, y, norm, scale, mean, rstd)
            to_rows, to_weight = self.convolution.backward(to_z, rows, weight, wanted, into)
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
