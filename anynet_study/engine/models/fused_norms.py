"""Batch norm, the sum with a residual and the ReLU behind it, in one to three kernels each way.

In Triton, which comes with torch for CUDA, on maps in channels-last memory. One kernel sums over
rows, in a fixed order and without atomics, so results are repeatable; the other computes each
element once. Of large maps a third adds up the parts of the sums; of few rows the second makes them
itself. Shapes are arguments, so a kernel is compiled for a few kinds of layer and not for each
architecture (`MOST_VARIANTS`).
"""

from typing import Any

import torch
import triton
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from anynet_study.engine.models import norm_kernels as kernels

#: Rows and columns of a tile, and the groups of 32 threads that work at it.
TILE_ROWS, TILE_COLUMNS, WARPS = 64, 64, 8
#: Rows of few channels are folded until this share of a tile's columns is used.
LEAST_USED = 0.75
#: Tiles of rows, at most, that each program of the second kernel sums by itself, without a first.
ALONE = 4
#: Parts of a channel's sums, at most, that each program of the second kernel adds up by itself; a
#: power of 2. No more rows are folded to one.
FEW = 16
#: Tiles that a program sums one after another until more programs, and a kernel that adds up the
#: parts, are quicker; and how many programs there are then, at most. An H100 has 132 processors.
LONGEST, PROGRAMS = 4, 264
#: Parts that this kernel adds up at a time, and channels of each of its programs.
ADDED, CHANNELS = 256, 16
#: Channels and sides of maps that are tried out: sums of which a program makes, adds or takes.
TRIED = ((12, 6), (12, 20), (TILE_COLUMNS + 1, 48))
#: Variants that are compiled at most, of all kernels for maps of one precision, whatever the
#: architectures and batches: columns are a multiple of 16 or not; 3 ways to leave out the residual
#: or the ReLU; evaluation, or sums of one part, of few, or none yet. One column is compiled apart.
MOST_VARIANTS = 2 * (1 + 3 * 4 + 3 + 3 * 3) + 2


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
    """Compile and run the kernels there, on maps that are divided in each way.

    Raises whatever Triton does, and ArithmeticError where results are not those of torch.
    """
    for channels, side in TRIED:
        norm = nn.BatchNorm2d(channels, device=device)
        maps = torch.linspace(-3, 3, 2 * channels * side**2, device=device).sin()
        maps = maps.view(2, channels, side, side)
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
        kernels.batch_statistics[tiles.grid](maps, means, squares, *tiles.shape, **tiles.sizes)
        means, squares = tiles.added(means, squares, statistics=True)
    kernels.normalise[tiles.grid](
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
        kernels.sum_gradients[tiles.grid](
            gradient, maps, y, *given, weights, biases, *tiles.shape, tiles.channels, **kind
        )
        weights, biases = tiles.added(weights, biases, statistics=False)
    to_maps, to_residual = _maps_like(maps), _maps_like(maps if summed else maps[:0])
    to_weight, to_bias = torch.empty_like(weight), torch.empty_like(weight)
    kernels.gradients[tiles.grid](
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
def _(gradient: Tensor, maps: Tensor, *others: Any) -> tuple[Tensor, ...]:
    *_, weight, _, _, summed = others
    gradients = torch.empty_like(weight), torch.empty_like(weight)
    return _maps_like(maps), *gradients, _maps_like(maps if summed else maps[:0])


class Tiles:
    """The division of maps among programs.

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
        few = FEW >> folds
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
        kernels.add_parts[(triton.cdiv(self.channels, CHANNELS),)](
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
    """Tell how often rows of memory are folded in two.

    As few times as it takes for a row to be a multiple of 16 and to fill `LEAST_USED` of its tiles.
    """
    fullness = dict[int, float]()
    for folds in range(FEW.bit_length()):
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
