"""Batch norm, the sum with a residual and the ReLU behind it, in two kernels each way.

In Triton, which comes with torch for CUDA. On maps in channels-last memory: rows (n * height *
width) of channels. One kernel sums over rows, in a fixed order and without atomics, so results are
repeatable; the other computes each element once. Shapes are arguments, so a kernel is compiled for
a few widths of a tile and not for each architecture (`MOST_VARIANTS`). Sums and statistics are
float32, maps of any precision. With TRITON_INTERPRET=1 the same code runs on a CPU.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

#: Parts into which rows are cut at most, each summed by one program.
SPLITS = 64
#: Rows and channels of a tile, at most.
TILE_ROWS, TILE_CHANNELS = 32, 64
#: Fewest channels of a tile.
FEWEST_CHANNELS = 16
#: Variants that are compiled at most, of all kernels for maps of one precision, whatever the
#: architectures and batches: tiles of 16, 32 and 64 channels, channels that are a multiple of 16 or
#: not, and 12 ways to leave out the residual, the ReLU or training. One channel is compiled apart.
MOST_VARIANTS = 3 * 2 * 12


@triton.jit
def _part(rows, channels, per_split, BC: tl.constexpr):
    """This program's channels, which of them there are, its split, and the split's rows."""
    column = tl.program_id(0) * BC + tl.arange(0, BC)
    split = tl.program_id(1)
    first = split * per_split
    return column, column < channels, split, first, tl.minimum(first + per_split, rows)


@triton.jit
def _tile(start, last, column, here, channels, BM: tl.constexpr):
    """Where a tile's numbers are, and which of them there are."""
    row = (start + tl.arange(0, BM)).to(tl.int64)
    return row[:, None] * channels + column[None, :], (row < last)[:, None] & here[None, :]


@triton.jit
def _behind_relu(gradient, y, place, mask, RELU: tl.constexpr):
    """The gradient by what enters the ReLU, if there is one."""
    value = tl.load(gradient + place, mask=mask, other=0.0).to(tl.float32)
    if RELU:
        above = tl.load(y + place, mask=mask, other=0.0).to(tl.float32)
        value = tl.where(above <= 0.0, 0.0, value)
    return value


@triton.jit(do_not_specialize=["rows", "per_split"])
def _batch_statistics(
    x, means, squares, rows, channels, per_split, BM: tl.constexpr, BC: tl.constexpr
):
    """Of each split and channel the mean, and the sum of squared distances from it."""
    column, here, split, first, last = _part(rows, channels, per_split, BC)
    mean = tl.zeros((BC,), tl.float32)
    square = tl.zeros((BC,), tl.float32)
    for start in range(first, last, BM):
        place, mask = _tile(start, last, column, here, channels, BM)
        value = tl.load(x + place, mask=mask, other=0.0).to(tl.float32)
        before = (start - first).to(tl.float32)
        count = tl.minimum(last - start, BM).to(tl.float32)
        own = tl.sum(value, 0) / count
        off = tl.where(mask, value - own[None, :], 0.0)
        # Two parts' sums of squares to that of both (Chan, Golub and LeVeque 1983).
        delta = own - mean
        share = count / (before + count)
        mean += delta * share
        square += tl.sum(off * off, 0) + delta * delta * before * share
    tl.store(means + split * channels + column, mean, mask=here)
    tl.store(squares + split * channels + column, square, mask=here)


@triton.jit(do_not_specialize=["rows", "per_split"])
def _normalise(
    x,
    residual,
    y,
    means,
    squares,
    mean_of,
    rstd_of,
    running_mean,
    running_var,
    weight,
    bias,
    rows,
    channels,
    per_split,
    momentum,
    eps,
    TRAINING: tl.constexpr,
    RESIDUAL: tl.constexpr,
    RELU: tl.constexpr,
    PARTS: tl.constexpr,
    BM: tl.constexpr,
    BC: tl.constexpr,
):
    """A split's rows of the result; the first split of each channel keeps its statistics."""
    column, here, split, first, last = _part(rows, channels, per_split, BC)
    if TRAINING:
        part = tl.arange(0, PARTS)
        count = tl.minimum(tl.maximum(rows - part * per_split, 0), per_split).to(tl.float32)
        some = (count > 0)[:, None] & here[None, :]
        sums = part[:, None] * channels + column[None, :]
        own = tl.load(means + sums, mask=some, other=0.0)
        square = tl.load(squares + sums, mask=some, other=0.0)
        total = rows.to(tl.float32)
        mean = tl.sum(count[:, None] * own, 0) / total
        off = own - mean[None, :]
        square = tl.sum(square + count[:, None] * off * off, 0)
        rstd = 1.0 / tl.sqrt(square / total + eps)
        if split == 0:
            tl.store(mean_of + column, mean, mask=here)
            tl.store(rstd_of + column, rstd, mask=here)
            old = tl.load(running_mean + column, mask=here, other=0.0)
            tl.store(running_mean + column, old + momentum * (mean - old), mask=here)
            old = tl.load(running_var + column, mask=here, other=0.0)
            new = square / (total - 1.0)
            tl.store(running_var + column, old + momentum * (new - old), mask=here)
    else:
        mean = tl.load(running_mean + column, mask=here, other=0.0)
        rstd = 1.0 / tl.sqrt(tl.load(running_var + column, mask=here, other=1.0) + eps)
    scale = rstd * tl.load(weight + column, mask=here, other=0.0)
    shift = tl.load(bias + column, mask=here, other=0.0)
    for start in range(first, last, BM):
        place, mask = _tile(start, last, column, here, channels, BM)
        value = tl.load(x + place, mask=mask, other=0.0).to(tl.float32)
        value = (value - mean[None, :]) * scale[None, :] + shift[None, :]
        if RESIDUAL:
            value += tl.load(residual + place, mask=mask, other=0.0).to(tl.float32)
        if RELU:  # what is not a number stays so: a maximum would make it zero
            value = tl.where(value < 0.0, 0.0, value)
        tl.store(y + place, value.to(y.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=["rows", "per_split"])
def _sum_gradients(
    gradient,
    x,
    y,
    mean_of,
    rstd_of,
    to_weight,
    to_bias,
    rows,
    channels,
    per_split,
    RELU: tl.constexpr,
    BM: tl.constexpr,
    BC: tl.constexpr,
):
    """Of each split and channel the gradients by the norm's weight and bias."""
    column, here, split, first, last = _part(rows, channels, per_split, BC)
    mean = tl.load(mean_of + column, mask=here, other=0.0)
    rstd = tl.load(rstd_of + column, mask=here, other=0.0)
    weight = tl.zeros((BC,), tl.float32)
    bias = tl.zeros((BC,), tl.float32)
    for start in range(first, last, BM):
        place, mask = _tile(start, last, column, here, channels, BM)
        value = _behind_relu(gradient, y, place, mask, RELU)
        off = tl.load(x + place, mask=mask, other=0.0).to(tl.float32) - mean[None, :]
        bias += tl.sum(value, 0)
        weight += tl.sum(value * off, 0) * rstd
    tl.store(to_weight + split * channels + column, weight, mask=here)
    tl.store(to_bias + split * channels + column, bias, mask=here)


@triton.jit(do_not_specialize=["rows", "per_split"])
def _gradients(
    gradient,
    x,
    y,
    to_x,
    to_residual,
    mean_of,
    rstd_of,
    weight,
    weights,
    biases,
    to_weight,
    to_bias,
    rows,
    channels,
    per_split,
    RESIDUAL: tl.constexpr,
    RELU: tl.constexpr,
    PARTS: tl.constexpr,
    BM: tl.constexpr,
    BC: tl.constexpr,
):
    """A split's rows of the gradients by `x` and residual; the first split sums up the others."""
    column, here, split, first, last = _part(rows, channels, per_split, BC)
    part = tl.arange(0, PARTS)
    some = (part * per_split < rows)[:, None] & here[None, :]
    sums = part[:, None] * channels + column[None, :]
    of_weight = tl.sum(tl.load(weights + sums, mask=some, other=0.0), 0)
    of_bias = tl.sum(tl.load(biases + sums, mask=some, other=0.0), 0)
    if split == 0:
        tl.store(to_weight + column, of_weight, mask=here)
        tl.store(to_bias + column, of_bias, mask=here)
    mean = tl.load(mean_of + column, mask=here, other=0.0)
    rstd = tl.load(rstd_of + column, mask=here, other=0.0)
    scale = rstd * tl.load(weight + column, mask=here, other=0.0)
    total = rows.to(tl.float32)
    constant = of_bias / total
    slope = of_weight / total * rstd
    for start in range(first, last, BM):
        place, mask = _tile(start, last, column, here, channels, BM)
        value = _behind_relu(gradient, y, place, mask, RELU)
        if RESIDUAL:
            tl.store(to_residual + place, value.to(to_residual.dtype.element_ty), mask=mask)
        off = tl.load(x + place, mask=mask, other=0.0).to(tl.float32) - mean[None, :]
        value = (value - constant[None, :] - off * slope[None, :]) * scale[None, :]
        tl.store(to_x + place, value.to(to_x.dtype.element_ty), mask=mask)


def norm_sum_relu(
    maps: Tensor, norm: nn.BatchNorm2d, residual: Tensor | None, relu: bool
) -> Tensor:
    """The batch norm of `maps` (n, channels, height, width) plus `residual`, or the ReLU of that.

    The result is of the precision of `maps`, channels last. In training the running statistics are
    updated, but not the counter of batches. In evaluation there are no gradients. Raises ValueError
    in training where a channel has one value only.
    """
    if norm.training and maps.numel() == maps.shape[1]:
        raise ValueError("expected more than 1 value per channel when training, got one")
    y: Tensor = _NormSumRelu.apply(maps, norm.weight, norm.bias, residual, norm, relu)  # type: ignore[no-untyped-call]
    return y


def try_out(device: str) -> None:
    """Compile and run the kernels on small maps there, for each width of a tile.

    Raises whatever Triton does, and ArithmeticError where results are not those of torch.
    """
    for channels in (FEWEST_CHANNELS - 4, TILE_CHANNELS // 2, TILE_CHANNELS + 1):
        norm = nn.BatchNorm2d(channels, device=device)
        maps = torch.linspace(-3, 3, channels * 96, device=device).view(2, channels, 6, 8).sin()
        given = [maps.to(torch.bfloat16).requires_grad_() for _ in range(2)]
        for own, theirs in zip(
            _with_gradient(norm_sum_relu(given[0], norm, given[0], True), given[0]),
            _with_gradient((norm(given[1].float()) + given[1].float()).relu(), given[1]),
            strict=True,
        ):
            if not (own - theirs).norm() < 0.05 * theirs.norm():
                raise ArithmeticError("kernels in Triton give other results than torch's")


def _with_gradient(y: Tensor, maps: Tensor) -> tuple[Tensor, Tensor]:
    return y, torch.autograd.grad(y.float().square().sum(), maps)[0]


class _NormSumRelu(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        maps: Tensor,
        weight: Tensor,
        bias: Tensor,
        residual: Tensor | None,
        norm: nn.BatchNorm2d,
        relu: bool,
    ) -> Tensor:
        maps = _channels_last(maps)
        residual = None if residual is None else _channels_last(residual)
        running = norm.running_mean, norm.running_var
        options = norm.momentum, norm.eps, norm.training, relu
        y: Tensor
        y, mean, rstd = _forward(maps, residual, weight, bias, *running, *options)
        ctx.save_for_backward(maps, y if relu else maps, mean, rstd, weight)
        ctx.relu, ctx.residual, ctx.training = relu, residual is not None, norm.training
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        assert ctx.training, "in evaluation there are no gradients"
        found = _backward(_channels_last(gradient), *ctx.saved_tensors, ctx.relu, ctx.residual)
        to_maps, to_weight, to_bias, to_residual = found
        return to_maps, to_weight, to_bias, to_residual if ctx.residual else None, None, None


# Torch sees each as one operator: its modes do not see into kernels.


@torch.library.custom_op(
    "anynet_study::norm_sum_relu", mutates_args=("running_mean", "running_var")
)
def _forward(
    maps: Tensor,
    residual: Tensor | None,
    weight: Tensor,
    bias: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
    training: bool,
    relu: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The result, and of the batch in training the means and 1 / sqrt(variance + eps)."""
    tiles = Tiles(maps)
    y = _maps_like(maps)
    mean, rstd = (maps.new_empty(tiles.channels, dtype=torch.float32) for _ in range(2))
    means, squares = tiles.parts(), tiles.parts()
    if training:
        _batch_statistics[tiles.grid](maps, means, squares, *tiles.shape, **tiles.sizes)
    _normalise[tiles.grid](
        maps,
        maps if residual is None else residual,
        y,
        means,
        squares,
        mean,
        rstd,
        running_mean,
        running_var,
        weight,
        bias,
        *tiles.shape,
        momentum,
        eps,
        TRAINING=training,
        RESIDUAL=residual is not None,
        RELU=relu,
        PARTS=SPLITS,
        **tiles.sizes,
    )
    return y, mean, rstd


@torch.library.custom_op("anynet_study::norm_sum_relu_backward", mutates_args=())
def _backward(
    gradient: Tensor,
    maps: Tensor,
    y: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor,
    relu: bool,
    summed: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients by maps, weight, bias and residual; the last is empty unless `summed`."""
    tiles = Tiles(maps)
    weights, biases = tiles.parts(), tiles.parts()
    _sum_gradients[tiles.grid](
        gradient, maps, y, mean, rstd, weights, biases, *tiles.shape, RELU=relu, **tiles.sizes
    )
    to_maps, to_residual = _maps_like(maps), _maps_like(maps if summed else maps[:0])
    to_weight, to_bias = torch.empty_like(weight), torch.empty_like(weight)
    _gradients[tiles.grid](
        gradient,
        maps,
        y,
        to_maps,
        to_residual if summed else to_maps,
        mean,
        rstd,
        weight,
        weights,
        biases,
        to_weight,
        to_bias,
        *tiles.shape,
        RESIDUAL=summed,
        RELU=relu,
        PARTS=SPLITS,
        **tiles.sizes,
    )
    return to_maps, to_weight, to_bias, to_residual


@_forward.register_fake
def _(maps: Tensor, residual: Tensor | None, weight: Tensor, *_: Any) -> tuple[Tensor, ...]:
    return _maps_like(maps), torch.empty_like(weight), torch.empty_like(weight)


@_backward.register_fake
def _(
    gradient: Tensor,
    maps: Tensor,
    y: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor,
    relu: bool,
    summed: bool,
) -> tuple[Tensor, ...]:
    gradients = torch.empty_like(weight), torch.empty_like(weight)
    return _maps_like(maps), *gradients, _maps_like(maps if summed else maps[:0])


class Tiles:
    """How the rows and channels of maps are divided among programs."""

    def __init__(self, maps: Tensor) -> None:
        self.channels = maps.shape[1]
        rows = maps.numel() // self.channels
        per_split = triton.cdiv(triton.cdiv(rows, SPLITS), TILE_ROWS) * TILE_ROWS
        width = max(FEWEST_CHANNELS, min(TILE_CHANNELS, triton.next_power_of_2(self.channels)))
        self.shape = rows, self.channels, per_split
        self.grid = triton.cdiv(self.channels, width), triton.cdiv(rows, per_split)
        # Stated, because releases of Triton differ in what they do by default (3.10).
        self.sizes = {"BM": TILE_ROWS, "BC": width, "enable_fp_fusion": True}
        self._like = maps

    def parts(self) -> Tensor:
        """Room for a number of each split and channel."""
        return self._like.new_empty(self.grid[1], self.channels, dtype=torch.float32)


def _channels_last(maps: Tensor) -> Tensor:
    """The maps in memory as rows of channels; a copy where they are not."""
    return maps.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)


def _maps_like(maps: Tensor) -> Tensor:
    """Room for maps as rows of channels; to torch, too, where they are of one pixel."""
    n, channels, *sides = maps.shape
    return maps.new_empty(n, *sides, channels).permute(0, 3, 1, 2)
