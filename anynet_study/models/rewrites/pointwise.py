"""1x1 convolutions with their batch norm, the sum and the ReLU behind it, in training.

By the kernels of pointwise.c, where there are any and the CPU is one that they are for.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from anynet_study.models.rewrites.compiled import MOST_CHANNELS, Kernel, addresses, kernel, suit
from anynet_study.models.rewrites.rows import seen, strided


def pointwise(convolution: nn.Conv2d, norm: nn.BatchNorm2d, side: int) -> "PointwiseAndNorm | None":
    """Return both for maps of `side` pixels, or None where the kernels are not for them."""
    fits = (
        convolution.kernel_size == (1, 1)
        and convolution.groups == 1
        and convolution.out_channels <= MOST_CHANNELS
    )
    there = kernel("pointwise", convolution.weight.dtype) is not None
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
        there = kernel("pointwise", dtype) is not None
        return there and self.norm.training and suit(dtype, *rows)

    def forward(
        self, rows: Tensor, relu: bool, residual: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the convolution of `rows`, and what `normalise` returns of that."""
        rows = seen(rows, self.side, self.convolution.stride[0])
        z = rows.new_empty(len(rows), self.convolution.out_channels)
        y, mean, rstd = torch.empty_like(z), z.new_empty(z.shape[1]), z.new_empty(z.shape[1])
        factors, room = self._factors(), self._room()
        self._kernel("pointwise")(
            rows.data_ptr(),
            factors.data_ptr(),
            None if residual is None else residual.data_ptr(),
            relu,
            *rows.shape,
            z.shape[1],
            self.norm.momentum,
            self.norm.eps,
            *addresses(self.norm._parameters),
            *addresses(self.norm._buffers),
            mean.data_ptr(),
            rstd.data_ptr(),
            room.data_ptr(),
            z.data_ptr(),
            y.data_ptr(),
        )
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

        `wanted`, `into` and the first are as of an operator's `backward`, the others as of
        `norm_backward`.
        """
        stride = self.convolution.stride[0]
        x = seen(rows, self.side, stride)
        adds = into is not None and stride == 1
        to_x = into if into is not None and adds else x.new_empty(x.shape if wanted else 0)
        factors, room = self._factors(), self._room()
        to_factors, to_scale, to_shift = (torch.empty_like(it) for it in (factors, mean, mean))
        self._kernel("pointwise_reverse")(
            x.data_ptr(),
            factors.data_ptr(),
            gradient.data_ptr(),
            z.data_ptr(),
            y.data_ptr() if y is not None and residual else None,
            y is not None,
            *x.shape,
            z.shape[1],
            *addresses(self.norm._parameters),
            mean.data_ptr(),
            rstd.data_ptr(),
            room.data_ptr(),
            to_factors.data_ptr(),
            to_scale.data_ptr(),
            to_shift.data_ptr(),
            adds,
            to_x.data_ptr() if wanted else None,
        )
        if wanted and stride > 1:
            into = torch.zeros_like(rows) if into is None else into
            pixels = strided(into, self.side, stride)
            pixels.add_(to_x.view(pixels.shape))
            to_x = into
        return to_x, to_factors, to_scale, to_shift

    def _factors(self) -> Tensor:
        return self.convolution.weight.detach().contiguous()

    def _room(self) -> Tensor:
        """Memory for what the kernels pack."""
        weight = self.convolution.weight
        columns, channels = weight.shape[:2]
        return weight.new_empty(self._kernel("pointwise_room")(channels, columns))

    def _kernel(self, name: str) -> Kernel:
        found = kernel(name, self.convolution.weight.dtype)
        assert found is not None, "`fits` was asked before"
        return found
