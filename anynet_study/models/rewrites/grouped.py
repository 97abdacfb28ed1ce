"""3x3 convolutions in groups of few channels, by the kernels of grouped.c."""

from dataclasses import dataclass

from torch import Tensor, nn

from anynet_study.models.rewrites.compiled import Kernel, kernel

#: Channels of a group that the kernels are made for.
WIDTHS = (1, 2, 4, 8)
#: Bytes of a register's channels: fewer do not fill it.
REGISTER = 64
#: Of a map, in pixels: more than grouped.c has room for would be written beyond it.
MOST_SIDE = 64


def grouped(layer: nn.Conv2d, side: int) -> "Grouped | None":
    """Return the operator of a layer on maps of `side` pixels, or None if it is not for these."""
    channels, dtype = layer.in_channels, layer.weight.dtype
    width = channels // layer.groups
    fits = (
        layer.kernel_size == (3, 3)
        and layer.out_channels == channels
        and channels * dtype.itemsize >= REGISTER
        and width in WIDTHS
        and side <= MOST_SIDE
    )
    # The way back through a stride multiplies by zeros; with wide groups others are as quick.
    if not fits or (width == WIDTHS[-1] and layer.stride[0] > 1):
        return None
    there = kernel("convolve", dtype) is not None and kernel("correlate", dtype) is not None
    return Grouped(side, layer.stride[0], width) if there else None


@dataclass(frozen=True)
class Grouped:
    """A convolution from channels to as many, `width` of them in a group."""

    side: int
    stride: int
    width: int

    @property
    def out_side(self) -> int:
        return (self.side - 1) // self.stride + 1

    def forward(self, rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        by_tap = weight.permute(2, 3, 1, 0)
        return self._convolved(rows, by_tap, bias, False, self.side, 1, self.out_side, self.stride)

    def backward(
        self, gradient: Tensor, rows: Tensor, weight: Tensor, wanted: bool, into: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        to_weight = self._to_weight(gradient.contiguous(), rows.contiguous(), weight)
        if not wanted:
            return gradient.new_empty(0), to_weight
        apart = weight.unflatten(0, (-1, self.width))  # group, output, input, tap, tap
        by_tap = apart.permute(3, 4, 1, 0, 2)
        to_rows = self._convolved(
            gradient, by_tap, None, True, self.out_side, self.stride, self.side, 1
        )
        return (to_rows if into is None else into.add_(to_rows)), to_weight

    def _convolved(
        self,
        rows: Tensor,
        by_tap: Tensor,
        bias: Tensor | None,
        flipped: bool,
        side: int,
        apart: int,
        out_side: int,
        stride: int,
    ) -> Tensor:
        """See `convolve` in grouped.c; `by_tap` are the weights, lanes last."""
        rows, by_tap = rows.contiguous(), by_tap.contiguous()
        images, channels = len(rows) // side**2, rows.shape[1]
        result = rows.new_empty(images * out_side**2, channels)
        self._kernel("convolve", rows, by_tap)(
            rows.data_ptr(),
            by_tap.data_ptr(),
            None if bias is None else bias.data_ptr(),
            flipped,
            images,
            side,
            apart,
            out_side,
            stride,
            channels,
            self.width,
            result.data_ptr(),
        )
        return result

    def _to_weight(self, gradient: Tensor, rows: Tensor, weight: Tensor) -> Tensor:
        channels = rows.shape[1]
        by_tap = weight.new_zeros(3, 3, self.width, channels)
        self._kernel("correlate", rows, gradient)(
            rows.data_ptr(),
            gradient.data_ptr(),
            len(rows) // self.side**2,
            self.side,
            self.out_side,
            self.stride,
            channels,
            self.width,
            by_tap.data_ptr(),
        )
        return by_tap.permute(3, 2, 0, 1)

    def _kernel(self, name: str, rows: Tensor, other: Tensor) -> Kernel:
        """For tensors whose type may have changed since the operator was chosen."""
        found = kernel(name, rows.dtype)
        if found is None or rows.dtype != other.dtype:
            raise TypeError(f"no kernel convolves {rows.dtype} by {other.dtype}")
        return found
