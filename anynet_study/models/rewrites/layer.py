"""A convolution with its batch norm, the sum and the ReLU behind it, on rows."""

import torch
from torch import Tensor, nn

from anynet_study.models.rewrites.norm import norm_backward, normalise
from anynet_study.models.rewrites.operators import operator_of
from anynet_study.models.rewrites.part import Gradients, Tape
from anynet_study.models.rewrites.pointwise import pointwise


class RowLayer(nn.Sequential):
    """What `models.blocks.convolution` returns, on rows; the parameters are the same tensors."""

    def __init__(self, layer: nn.Module, side: int) -> None:
        convolution, norm = layer.children()
        assert isinstance(convolution, nn.Conv2d)
        assert isinstance(norm, nn.BatchNorm2d)
        super().__init__(convolution, norm)
        #: The two children and their parameters, without a look-up by name.
        self.parts = convolution, norm
        self.weights = convolution.weight, norm.weight, norm.bias
        self.operator = operator_of(convolution, side)
        self.joined = pointwise(convolution, norm, side)
        #: Side of the maps that leave the layer, in pixels.
        self.side = (side - 1) // convolution.stride[0] + 1

    def run(
        self, rows: Tensor, tape: Tape | None, relu: bool = True, residual: Tensor | None = None
    ) -> Tensor:
        """Return norm(convolution(rows)), plus `residual` if any, and its ReLU if asked for.

        Raises ValueError in training, as the plain network, where a norm sees one row only.
        """
        _, norm = self.parts
        if tape is None and not norm.training:
            return self._folded(rows, relu, residual)
        if self.joined is not None and self.joined.fits(rows, residual):
            z, y, mean, rstd = self.joined.forward(rows, relu, residual)
        else:
            z = self.operator.forward(rows, self.weights[0])
            y, mean, rstd = normalise(z, norm, relu, residual)
        if norm.training and len(z) == 1:
            raise ValueError("expected more than 1 value per channel when training, got one image")
        if tape is not None:
            tape += (rows, z, mean, rstd)
            if relu:
                tape.append(y)
        return y

    def reverse(
        self,
        gradient: Tensor,
        tape: Tape,
        gradients: Gradients,
        relu: bool = True,
        residual: bool = False,
        wanted: bool = True,
        into: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the gradients by the `residual`, if any, and by the rows, as of an operator.

        `gradient` becomes the former, in place.
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
            gradient, z, y, self.parts[1], mean, rstd, residual
        )
        to_rows, gradients[weight] = self.operator.backward(to_z, rows, weight, wanted, into)
        return gradient, to_rows

    def _folded(self, rows: Tensor, relu: bool, residual: Tensor | None) -> Tensor:
        """The layer in evaluation: a norm with fixed statistics is part of the convolution."""
        convolution, norm = self.parts
        assert norm.running_mean is not None
        assert norm.running_var is not None
        scale = (norm.running_var + norm.eps).rsqrt_().mul_(norm.weight)
        bias = torch.addcmul(norm.bias, norm.running_mean, scale, value=-1)
        y = self.operator.forward(rows, convolution.weight * scale[:, None, None, None], bias)
        if residual is not None:
            y.add_(residual)
        return y.relu_() if relu else y
