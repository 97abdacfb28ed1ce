"""Batch norm, the sum with a residual and the ReLU behind it, in one to three kernels each way.

In Triton, which comes with torch for CUDA. On maps in channels-last memory: rows (n * height *
width) of channels. One kernel sums over rows, in a fixed order and without atomics, so results are
repeatable; the other computes each element once. Of large maps a third adds up the parts of the
sums; of few rows the second makes them itself. Shapes are arguments, so a kernel is compiled for a
few kinds of layer and not for each architecture (`MOST_VARIANTS`). Sums and statistics are float32,
maps of any precision. With TRITON_INTERPRET=1 the same code runs on a CPU.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

#: Rows and columns of a tile, and the groups of 32 threads that work at it.
TILE_ROWS, TILE_COLUMNS, WARPS = 64, 64, 8
#: How often rows of few channels are folded in two, at most, and the share of a tile's columns that
#: are then used, at least.
MOST_FOLDS, LEAST_USED = 4, 0.75
#: Tiles of rows, at most, that each program of the second kernel sums by itself, without a first.
ALONE = 4
#: Parts of a channel's sums, at most, that each program of the second kernel adds up by itself.
FEW = 16
#: Tiles that a program sums one after another until more programs, and a kernel that adds up the
#: parts, are quicker; and how many programs there are then, at most. An H100 has 132 processors.
LONGEST, PROGRAMS = 4, 264
#: Parts that this kernel adds up at a time, and channels of each of its programs.
ADDED, CHANNELS = 256, 16
#: Variants that are compiled at most, of all kernels for maps of one precision, whatever the
#: architectures and batches: columns are a multiple of 16 or not; 3 ways to leave out the residual
#: or the ReLU; evaluation, or sums of one part, of few, or none yet. One column is compiled apart.
MOST_VARIANTS = 2 * (1 + 3 * 4 + 3 + 3 * 3) + 2
#: Arguments whose values make no variants.
UNSPECIALISED = ("rows", "per_split", "channels", "parts", "per_part", "folds")


@triton.jit
def _part(rows, columns, per_split, BC: tl.constexpr):
    """This program's columns, which of them there are, its split, and the split's rows."""
    column = tl.program_id(0) * BC + tl.arange(0, BC)
    split = tl.program_id(1)
    first = split * per_split
    return column, column < columns, split, first, tl.minimum(first + per_split, rows)


@triton.jit
def _tile(start, last, column, here, columns, BM: tl.constexpr):
    """Where a tile's numbers are, and which of them there are."""
    row = (start + tl.arange(0, BM)).to(tl.int64)
    return row[:, None] * columns + column[None, :], (row < last)[:, None] & here[None, :]


@triton.jit
def _behind_relu(gradient, y, normed, place, mask, RESIDUAL: tl.constexpr, RELU: tl.constexpr):
    """The gradient by what enters the ReLU, if there is one: without a residual, `normed`."""
    value = tl.load(gradient + place, mask=mask, other=0.0).to(tl.float32)
    if RELU:
        above = normed
        if RESIDUAL:
            above = tl.load(y + place, mask=mask, other=0.0).to(tl.float32)
        value = tl.where(above <= 0.0, 0.0, value)
    return value


@triton.jit
def _moments(x, first, last, column, here, columns, BM: tl.constexpr, BC: tl.constexpr):
    """Of each column over these rows the mean, and the sum of squared distances from it.

    Of each row of the tile first (Welford 1962), and then of all (Chan, Golub and LeVeque 1983).
    """
    mean = tl.zeros((BM, BC), tl.float32)
    square = tl.zeros((BM, BC), tl.float32)
    for start in range(first, last, BM):
        place, mask = _tile(start, last, column, here, columns, BM)
        value = tl.load(x + place, mask=mask, other=0.0).to(tl.float32)
        off = tl.where(mask, value - mean, 0.0)
        mean += off * (1.0 / ((start - first) // BM + 1).to(tl.float32))
        square += tl.where(mask, off * (value - mean), 0.0)
    count = tl.maximum((last - first - tl.arange(0, BM) + BM - 1) // BM, 0).to(tl.float32)[:, None]
    whole = tl.sum(count * mean, 0) * (1.0 / (last - first).to(tl.float32))
    off = mean - whole[None, :]
    return whole, tl.sum(square + count * off * off, 0)


@triton.jit
def _by_norm(
    maps,
    mean,
    scale,
    shift,
    first,
    last,
    column,
    here,
    columns,
    RESIDUAL: tl.constexpr,
    RELU: tl.constexpr,
    BM: tl.constexpr,
    BC: tl.constexpr,
):
    """Of each column over these rows the gradients by the norm's weight, over rstd, and bias."""
    gradient, x, y = maps
    of_weight = tl.zeros((BM, BC), tl.float32)
    of_bias = tl.zeros((BM, BC), tl.float32)
    for start in range(first, last, BM):
        place, mask = _tile(start, last, column, here, columns, BM)
        off = tl.load(x + place, mask=mask, other=0.0).to(tl.float32) - mean[None, :]
        normed = off * scale[None, :] + shift[None, :]
        value = _behind_relu(gradient, y, normed, place, mask, RESIDUAL, RELU)
        of_bias += value
        of_weight += value * off
    return tl.sum(of_weight, 0), tl.sum(of_bias, 0)


@triton.jit
def _channel_of(column, columns, channels):
    channel = column
    if columns != channels:  # rows are folded
        channel = column % channels
    return channel


@triton.jit
def _of_parts(numbers, part, channel, here, rows, per_part, folds, channels):
    """Numbers of these parts and channels, and of how many rows each part is."""
    count = tl.minimum(tl.maximum(rows - (part >> folds) * per_part, 0), per_part)[:, None]
    place = part[:, None] * channels + channel[None, :]
    return tl.load(numbers + place, mask=(count > 0) & here[None, :], other=0.0), count


@triton.jit(do_not_specialize=UNSPECIALISED)
def _batch_statistics(
    x, means, squares, rows, columns, per_split, BM: tl.constexpr, BC: tl.constexpr
):
    """Of each split and column the mean, and the sum of squared distances from it."""
    column, here, split, first, last = _part(rows, columns, per_split, BC)
    mean, square = _moments(x, first, last, column, here, columns, BM, BC)
    tl.store(means + split * columns + column, mean, mask=here)
    tl.store(squares + split * columns + column, square, mask=here)


@triton.jit(do_not_specialize=UNSPECIALISED)
def _add_parts(
    first,
    second,
    to_first,
    to_second,
    channels,
    parts,
    rows,
    per_part,
    folds,
    STATISTICS: tl.constexpr,
    BM: tl.constexpr,
    BC: tl.constexpr,
):
    """One part in the place of many: of means and squares, or of two sums."""
    channel = tl.program_id(0) * BC + tl.arange(0, BC)
    here = channel < channels
    one = tl.zeros((BM, BC), tl.float32)
    other = tl.zeros((BM, BC), tl.float32)
    for start in range(0, parts, BM):
        part = start + tl.arange(0, BM)
        value, count = _of_parts(first, part, channel, here, rows, per_part, folds, channels)
        if STATISTICS:
            one += count.to(tl.float32) * value
        else:
            one += value
            value, count = _of_parts(second, part, channel, here, rows, per_part, folds, channels)
            other += value
    whole = tl.sum(one, 0)
    if STATISTICS:
        whole = whole / (rows << folds).to(tl.float32)
        for start in range(0, parts, BM):
            part = start + tl.arange(0, BM)
            value, count = _of_parts(first, part, channel, here, rows, per_part, folds, channels)
            off = value - whole[None, :]
            value, count = _of_parts(second, part, channel, here, rows, per_part, folds, channels)
            other += value + count.to(tl.float32) * off * off
    tl.store(to_first + channel, whole, mask=here)
    tl.store(to_second + channel, tl.sum(other, 0), mask=here)


@triton.jit(do_not_specialize=UNSPECIALISED)
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
    columns,
    per_split,
    channels,
    per_part,
    folds,
    momentum,
    eps,
    TRAINING: tl.constexpr,
    RESIDUAL: tl.constexpr,
    RELU: tl.constexpr,
    PARTS: tl.constexpr,
    BM: tl.constexpr,
    BC: tl.constexpr,
):
    """A split's rows of the result; the first programs of each channel keep its statistics.

    Of `PARTS` parts each program makes statistics by itself; 0: there are none yet.
    """
    column, here, split, first, last = _part(rows, columns, per_split, BC)
    channel = _channel_of(column, columns, channels)
    factor = tl.load(
        weight + channel, mask=here, other=0.0
    )  # before sums that have to be waited for
    shift = tl.load(bias + channel, mask=here, other=0.0)
    if TRAINING:
        total = (rows << folds).to(tl.float32)
        if PARTS == 0:
            mean, square = _moments(x, first, last, column, here, columns, BM, BC)
        elif PARTS == 1:
            mean = tl.load(means + channel, mask=here, other=0.0)
            square = tl.load(squares + channel, mask=here, other=0.0)
        else:
            part = tl.arange(0, PARTS)
            own, count = _of_parts(means, part, channel, here, rows, per_part, folds, channels)
            mean = tl.sum(count.to(tl.float32) * own, 0) / total
            off = own - mean[None, :]
            own, count = _of_parts(squares, part, channel, here, rows, per_part, folds, channels)
            square = tl.sum(own + count.to(tl.float32) * off * off, 0)
        rstd = 1.0 / tl.sqrt(square / total + eps)
        if split == 0:
            once = column < channels
            tl.store(mean_of + column, mean, mask=once)
            tl.store(rstd_of + column, rstd, mask=once)
            old = tl.load(running_mean + column, mask=once, other=0.0)
            tl.store(running_mean + column, old + momentum * (mean - old), mask=once)
            old = tl.load(running_var + column, mask=once, other=0.0)
            new = square / (total - 1.0)
            tl.store(running_var + column, old + momentum * (new - old), mask=once)
    else:
        mean = tl.load(running_mean + channel, mask=here, other=0.0)
        rstd = 1.0 / tl.sqrt(tl.load(running_var + channel, mask=here, other=1.0) + eps)
    scale = rstd * factor
    for start in range(first, last, BM):
        place, mask = _tile(start, last, column, here, columns, BM)
        value = tl.load(x + place, mask=mask, other=0.0).to(tl.float32)
        value = (value - mean[None, :]) * scale[None, :] + shift[None, :]
        if RESIDUAL:
            value += tl.load(residual + place, mask=mask, other=0.0).to(tl.float32)
        if RELU:  # what is not a number stays so: a maximum would make it zero
            value = tl.where(value < 0.0, 0.0, value)
        tl.store(y + place, value.to(y.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=UNSPECIALISED)
def _sum_gradients(
    gradient,
    x,
    y,
    mean_of,
    rstd_of,
    weight,
    bias,
    weights,
    biases,
    rows,
    columns,
    per_split,
    channels,
    RESIDUAL: tl.constexpr,
    RELU: tl.constexpr,
    BM: tl.constexpr,
    BC: tl.constexpr,
):
    """Of each split and column the gradients by the norm's weight and bias."""
    column, here, split, first, last = _part(rows, columns, per_split, BC)
    channel = _channel_of(column, columns, channels)
    mean = tl.load(mean_of + channel, mask=here, other=0.0)
    rstd = tl.load(rstd_of + channel, mask=here, other=0.0)
    scale = rstd * tl.load(weight + channel, mask=here, other=0.0)
    shift = tl.load(bias + channel, mask=here, other=0.0)
    maps = (gradient, x, y)
    of_weight, of_bias = _by_norm(
        maps, mean, scale, shift, first, last, column, here, columns, RESIDUAL, RELU, BM, BC
    )
    place = split * columns + column
    tl.store(weights + place, of_weight * rstd, mask=here)
    tl.store(biases + place, of_bias, mask=here)


@triton.jit(do_not_specialize=UNSPECIALISED)
def _gradients(
    gradient,
    x,
    y,
    to_x,
    to_residual,
    mean_of,
    rstd_of,
    weight,
    bias,
    weights,
    biases,
    to_weight,
    to_bias,
    rows,
    columns,
    per_split,
    channels,
    per_part,
    folds,
    RESIDUAL: tl.constexpr,
    RELU: tl.constexpr,
    PARTS: tl.constexpr,
    BM: tl.constexpr,
    BC: tl.constexpr,
):
    """A split's rows of the gradients by `x` and residual; the first programs keep the others.

    `PARTS` as in `_normalise`.
    """
    column, here, split, first, last = _part(rows, columns, per_split, BC)
    channel = _channel_of(column, columns, channels)
    mean = tl.load(mean_of + channel, mask=here, other=0.0)
    rstd = tl.load(rstd_of + channel, mask=here, other=0.0)
    scale = rstd * tl.load(weight + channel, mask=here, other=0.0)
    shift = tl.load(bias + channel, mask=here, other=0.0)
    if PARTS == 0:
        maps = (gradient, x, y)
        of_weight, of_bias = _by_norm(
            maps, mean, scale, shift, first, last, column, here, columns, RESIDUAL, RELU, BM, BC
        )
        of_weight = of_weight * rstd
    elif PARTS == 1:
        of_weight = tl.load(weights + channel, mask=here, other=0.0)
        of_bias = tl.load(biases + channel, mask=here, other=0.0)
    else:
        part = tl.arange(0, PARTS)
        own, _ = _of_parts(weights, part, channel, here, rows, per_part, folds, channels)
        of_weight = tl.sum(own, 0)
        own, _ = _of_parts(biases, part, channel, here, rows, per_part, folds, channels)
        of_bias = tl.sum(own, 0)
    if split == 0:
        once = column < channels
        tl.store(to_weight + column, of_weight, mask=once)
        tl.store(to_bias + column, of_bias, mask=once)
    total = (rows << folds).to(tl.float32)
    constant = of_bias / total
    slope = of_weight / total * rstd
    for start in range(first, last, BM):
        place, mask = _tile(start, last, column, here, columns, BM)
        off = tl.load(x + place, mask=mask, other=0.0).to(tl.float32) - mean[None, :]
        normed = off * scale[None, :] + shift[None, :]
        value = _behind_relu(gradient, y, normed, place, mask, RESIDUAL, RELU)
        if RESIDUAL:
            tl.store(to_residual + place, value.to(to_residual.dtype.element_ty), mask=mask)
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
    """Compile and run the kernels on small maps there, of channels of each kind.

    Raises whatever Triton does, and ArithmeticError where results are not those of torch.
    """
    for channels in (12, TILE_COLUMNS // 2, TILE_COLUMNS + 1):
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
        # Without a residual, the sign of the result is computed again: it need not be read.
        signs = y if relu and residual is not None else maps
        ctx.save_for_backward(maps, signs, mean, rstd, weight, bias)
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
    mean, rstd = torch.empty_like(weight), torch.empty_like(weight)
    means, squares = tiles.room()
    if training and tiles.parts:
        _batch_statistics[tiles.grid](maps, means, squares, *tiles.shape, **tiles.sizes)
        means, squares = tiles.added(means, squares, statistics=True)
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
        *tiles.of_parts,
        momentum,
        eps,
        TRAINING=training,
        RESIDUAL=residual is not None,
        RELU=relu,
        PARTS=tiles.parts if training else 0,
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
    bias: Tensor,
    relu: bool,
    summed: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients by maps, weight, bias and residual; the last is empty unless `summed`."""
    tiles = Tiles(maps)
    given = mean, rstd, weight, bias
    kind = {"RESIDUAL": summed, "RELU": relu, **tiles.sizes}
    weights, biases = tiles.room()
    if tiles.parts:
        _sum_gradients[tiles.grid](
            gradient, maps, y, *given, weights, biases, *tiles.shape, tiles.channels, **kind
        )
        weights, biases = tiles.added(weights, biases, statistics=False)
    to_maps, to_residual = _maps_like(maps), _maps_like(maps if summed else maps[:0])
    to_weight, to_bias = torch.empty_like(weight), torch.empty_like(weight)
    _gradients[tiles.grid](
        gradient,
        maps,
        y,
        to_maps,
        to_residual if summed else to_maps,
        *given,
        weights,
        biases,
        to_weight,
        to_bias,
        *tiles.shape,
        *tiles.of_parts,
        PARTS=tiles.parts,
        **kind,
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
    bias: Tensor,
    relu: bool,
    summed: bool,
) -> tuple[Tensor, ...]:
    gradients = torch.empty_like(weight), torch.empty_like(weight)
    return _maps_like(maps), *gradients, _maps_like(maps if summed else maps[:0])


class Tiles:
    """How maps are divided among programs.

    In memory, rows of few channels are folded: `2**folds` of them are one row of a tile, so that
    tiles of few channels are full, too. A program sums one split of the rows of its columns. Of a
    channel there are then `2**folds` parts of each split; where these are too many, they are added
    up by a kernel of their own. Of few rows, each program of the second kernel makes all sums.
    """

    def __init__(self, maps: Tensor) -> None:
        self.channels = maps.shape[1]
        values = maps.numel() // self.channels
        alone = values <= ALONE * TILE_ROWS
        folds = 0 if alone else folds_of(values, self.channels)
        rows, columns = values >> folds, self.channels << folds
        across, down = triton.cdiv(columns, TILE_COLUMNS), triton.cdiv(rows, TILE_ROWS)
        few = max(1, FEW >> folds)
        many = down > LONGEST * few
        splits = min(down, triton.cdiv(PROGRAMS, across) if many else 1 if alone else few)
        per_split = triton.cdiv(down, splits) * TILE_ROWS
        self.grid = across, triton.cdiv(rows, per_split)
        self.shape = rows, columns, per_split
        self.of_parts = self.channels, per_split, folds
        #: Of a channel's sums, that a program of the second kernel adds up; 0: it makes them.
        self.parts = 0 if alone else 1 if many else FEW
        # Stated, because releases of Triton differ in what they do by default (3.10).
        self._how = {"num_warps": WARPS, "enable_fp_fusion": True}
        self.sizes = {"BM": TILE_ROWS, "BC": TILE_COLUMNS, **self._how}
        self._like = maps

    def room(self) -> tuple[Tensor, Tensor]:
        """For two numbers of each part and channel."""
        return self._room((self.grid[1] << self.of_parts[2]) if self.parts else 0)

    def _room(self, parts: int) -> tuple[Tensor, Tensor]:
        # Two tensors: half of one would not begin at a multiple of 16 bytes.
        one, other = (
            self._like.new_empty(parts, self.channels, dtype=torch.float32) for _ in range(2)
        )
        return one, other

    def added(self, first: Tensor, second: Tensor, *, statistics: bool) -> tuple[Tensor, Tensor]:
        """Means and squares, or two sums, as the second kernel takes them."""
        if self.parts > 1:
            return first, second
        rows, _, per_part = self.shape
        found = self._room(1)
        _add_parts[(triton.cdiv(self.channels, CHANNELS),)](
            first,
            second,
            *found,
            self.channels,
            len(first),
            rows,
            per_part,
            self.of_parts[2],
            STATISTICS=statistics,
            BM=ADDED,
            BC=CHANNELS,
            **self._how,
        )
        return found


def folds_of(values: int, channels: int) -> int:
    """How often rows of memory are folded in two.

    As few times as it takes for a row to be a multiple of 16 and to fill `LEAST_USED` of its tiles.
    """
    fullness = dict[int, float]()
    for folds in range(MOST_FOLDS + 1):
        if values % (1 << folds) == 0:
            columns = channels << folds
            used = columns / (triton.cdiv(columns, TILE_COLUMNS) * TILE_COLUMNS)
            fullness[folds] = min(used, LEAST_USED) - (columns % 16 > 0)
    return max(fullness, key=lambda it: fullness[it])


def _channels_last(maps: Tensor) -> Tensor:
    """The maps in memory as rows of channels; a copy where they are not."""
    return maps.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)


def _maps_like(maps: Tensor) -> Tensor:
    """Room for maps as rows of channels; to torch, too, where they are of one pixel."""
    n, channels, *sides = maps.shape
    return maps.new_empty(n, *sides, channels).permute(0, 3, 1, 2)
