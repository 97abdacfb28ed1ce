"""Exact rewrites of an AnyNet for speed: the same network, up to rounding.

On a CPU, stem and blocks work on rows of channels (`row_layers`), each as one step of autograd with
a backward pass of its own: a step of autograd costs as much as a small layer, and a block knows
which gradients it may add into. On a GPU, only convolutions of maps of one pixel are rewritten.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from anynet_study.engine.models.anynet import (
    AnyNet,
    Basic,
    Bottleneck,
    GeneralisedMean,
    SqueezeExcitation,
    Vanilla,
    layers_by_side,
)
from anynet_study.engine.models.backend import Backend
from anynet_study.engine.models.convolutions import as_maps, as_rows
from anynet_study.engine.models.row_layers import Gradients, RowExcitation, RowLayer, Tape

#: Kernel, stride, padding, dilation and ceil mode of the stem's pool.
POOL = [3, 3], [2, 2], [1, 1], [1, 1], False


def accelerate(network: AnyNet, resolution: int, backend: Backend) -> None:
    """Rewrite `network` in place for images (n, 3, resolution, resolution).

    Logits, gradients and running statistics stay the same up to rounding; parameters and buffers
    stay the same tensors under the same names, in the same order. The rewrites follow from shapes
    alone: what is repeatable stays so. For the CPU, maps are kept as rows of channels from the
    stem to the head, so images are best in channels-last memory; this is not for bfloat16. For
    CUDA only convolutions of maps of one pixel are rewritten: all taps but one see padding.
    """
    if backend.kind == "plain":
        return
    if backend.device_type != "cpu":
        use_middle_taps(network, resolution)
        return
    assert isinstance(network.stem, nn.Sequential)
    stem = RowStem(network.stem, resolution)
    network.stem, side = stem, stem.side
    for stage in network.stages:
        assert isinstance(stage, nn.Sequential)
        for place, block in enumerate(stage):
            stage[place] = rewritten = _on_rows(block, side)
            side = rewritten.side
    if isinstance(network.pool, GeneralisedMean):
        network.pool = RowGeneralisedMean(network.pool, side)
    else:
        network.pool = RowAverage(side)


def _on_rows(block: nn.Module, side: int) -> "RowBottleneck | RowBasic":
    if isinstance(block, Bottleneck):
        return RowBottleneck(block, side)
    assert isinstance(block, Basic | Vanilla)
    return RowBasic(block, side)


class RowModule(nn.Module):
    """A stem or a block on rows (n * side * side, channels)."""

    def __init__(self) -> None:
        super().__init__()
        self._names: list[tuple[nn.Module, str]] = []

    def forward_rows(self, rows: Tensor, tape: Tape | None) -> Tensor:
        """Return the output; what `backward_rows` needs is appended to the tape, if any."""
        raise NotImplementedError

    def backward_rows(
        self, gradient: Tensor, tape: Tape, gradients: Gradients, wanted: bool
    ) -> Tensor:
        """Return the gradient by the input, which may be left out unless `wanted`.

        Those by parameters go to `gradients`. The memory of `gradient` may be taken for others.
        """
        raise NotImplementedError

    def forward(self, rows: Tensor) -> Tensor:
        if not torch.is_grad_enabled():
            return self.forward_rows(rows, None)
        weights = [module._parameters[name] for module, name in self._parameter_names()]
        y: Tensor = _RowStep.apply(rows, self, *weights)  # type: ignore[no-untyped-call]
        return y

    def _parameter_names(self) -> list[tuple[nn.Module, str]]:
        """Module and name of each parameter; looked up once, which takes as long as a layer."""
        if not self._names:
            self._names = [
                (module, name)
                for module in self.modules()
                for name, weights in module._parameters.items()
                if weights is not None
            ]
        return self._names


class _RowStep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, module: RowModule, *parameters: Tensor) -> Tensor:
        tape: Tape = []
        y = module.forward_rows(rows, tape)
        ctx.save_for_backward(*tape)
        ctx.module = module
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        gradients: Gradients = {}
        wanted = ctx.needs_input_grad[0]
        to_rows = ctx.module.backward_rows(
            gradient.contiguous(), list(ctx.saved_tensors), gradients, wanted
        )
        names = ctx.module._parameter_names()
        return (to_rows if wanted else None, None, *(gradients[name] for name in names))


class RowStem(RowModule):
    """Images (n, 3, side, side) to rows."""

    def __init__(self, stem: nn.Sequential, side: int) -> None:
        super().__init__()
        layer = RowLayer(stem[0], side)
        self.add_module("0", layer)  # its name in the plain stem
        self.layers = (layer,)
        self.pools = len(stem) > 1
        self.side_in = side
        self.side = (layer.side - 1) // 2 + 1 if self.pools else layer.side

    def forward(self, images: Tensor) -> Tensor:
        if images.shape[2:] != (self.side_in, self.side_in):
            raise ValueError(
                f"images of {tuple(images.shape[2:])} pixels; accelerated for {self.side_in}"
            )
        return super().forward(as_rows(images))

    def forward_rows(self, rows: Tensor, tape: Tape | None) -> Tensor:
        (layer,) = self.layers
        rows = layer.forward(rows, tape, relu=not self.pools)
        if not self.pools:
            return rows
        pooled, places = torch.ops.aten.max_pool2d_with_indices(as_maps(rows, layer.side), *POOL)
        # The largest of a window is the same before and after the ReLU, and there are fewer.
        y = as_rows(pooled).relu_()
        if tape is not None:
            tape += (rows, places, y)
        return y

    def backward_rows(
        self, gradient: Tensor, tape: Tape, gradients: Gradients, wanted: bool
    ) -> Tensor:
        (layer,) = self.layers
        if self.pools:
            y, places, rows = (tape.pop() for _ in range(3))
            gradient = torch.ops.aten.threshold_backward(gradient, y, 0)
            maps = torch.ops.aten.max_pool2d_with_indices_backward(
                as_maps(gradient, self.side), as_maps(rows, layer.side), *POOL, places
            )
            gradient = as_rows(maps)
        return layer.backward(gradient, tape, gradients, relu=not self.pools, wanted=wanted)[1]


class RowBottleneck(RowModule):
    """`Bottleneck` on rows."""

    def __init__(self, block: Bottleneck, side: int) -> None:
        super().__init__()
        self.squeeze = RowLayer(block.squeeze, side)
        self.spatial = RowLayer(block.spatial, side)
        self.side = self.spatial.side
        excitation = block.excitation
        self.excitation = (
            RowExcitation(excitation, self.side)
            if isinstance(excitation, SqueezeExcitation)
            else None
        )
        self.expand = RowLayer(block.expand, self.side)
        self.shortcut = _shortcut(block.shortcut, side)

    def forward_rows(self, rows: Tensor, tape: Tape | None) -> Tensor:
        residual = rows if self.shortcut is None else self.shortcut.forward(rows, tape, relu=False)
        y = self.spatial.forward(self.squeeze.forward(rows, tape), tape)
        if self.excitation is not None:
            y = self.excitation.forward(y, tape)
        return self.expand.forward(y, tape, residual=residual)

    def backward_rows(
        self, gradient: Tensor, tape: Tape, gradients: Gradients, wanted: bool
    ) -> Tensor:
        to_residual, to_y = self.expand.backward(gradient, tape, gradients)
        if self.excitation is not None:
            to_y = self.excitation.backward(to_y, tape, gradients)
        _, to_y = self.spatial.backward(to_y, tape, gradients)
        if self.shortcut is None:
            return self.squeeze.backward(to_y, tape, gradients, into=to_residual)[1]
        _, to_rows = self.squeeze.backward(to_y, tape, gradients)
        return self.shortcut.backward(to_residual, tape, gradients, relu=False, into=to_rows)[1]


class RowBasic(RowModule):
    """`Basic` or `Vanilla` on rows."""

    def __init__(self, block: Basic | Vanilla, side: int) -> None:
        super().__init__()
        self.first = RowLayer(block.first, side)
        self.second = RowLayer(block.second, self.first.side)
        self.side = self.first.side
        self.residual = isinstance(block, Basic)
        self.shortcut = _shortcut(block.shortcut, side) if isinstance(block, Basic) else None

    def forward_rows(self, rows: Tensor, tape: Tape | None) -> Tensor:
        residual = rows if self.residual else None
        if self.shortcut is not None:
            residual = self.shortcut.forward(rows, tape, relu=False)
        return self.second.forward(self.first.forward(rows, tape), tape, residual=residual)

    def backward_rows(
        self, gradient: Tensor, tape: Tape, gradients: Gradients, wanted: bool
    ) -> Tensor:
        to_residual, to_y = self.second.backward(gradient, tape, gradients)
        into = to_residual if self.residual and self.shortcut is None else None
        _, to_rows = self.first.backward(to_y, tape, gradients, into=into)
        if self.shortcut is not None:
            self.shortcut.backward(to_residual, tape, gradients, relu=False, into=to_rows)
        return to_rows


def _shortcut(shortcut: nn.Module, side: int) -> RowLayer | None:
    return None if isinstance(shortcut, nn.Identity) else RowLayer(shortcut, side)


class RowAverage(nn.Module):
    """Rows to the mean of each map, (n, channels)."""

    def __init__(self, side: int) -> None:
        super().__init__()
        self.pixels = side * side

    def forward(self, rows: Tensor) -> Tensor:
        return rows if self.pixels == 1 else rows.view(-1, self.pixels, rows.shape[1]).mean(dim=1)


class RowGeneralisedMean(GeneralisedMean):
    """Rows to the p-mean of each map, (n, channels)."""

    def __init__(self, pool: GeneralisedMean, side: int) -> None:
        super().__init__()
        self.power, self.side = pool.power, side

    def forward(self, rows: Tensor) -> Tensor:
        return super().forward(as_maps(rows, self.side))


class MiddleTap(nn.Conv2d):
    """A padded 3x3 convolution of one pixel: a matrix product for each group.

    In plain autograd: it runs under autocast and in a CUDA graph.
    """

    #: Whether torch takes the result for channels last, so that the next layer need not copy it. On
    #: a CPU, that layer would then round otherwise in bfloat16.
    channels_last = False

    def __init__(self, layer: nn.Conv2d) -> None:
        widths = layer.in_channels, layer.out_channels
        super().__init__(
            *widths, 3, layer.stride[0], 1, groups=layer.groups, bias=False, device="meta"
        )
        self.weight = layer.weight

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Maps (n, groups * i, 1, 1) to (n, groups * o, 1, 1); there is no bias."""
        vectors = input.reshape(len(input), self.groups, -1).transpose(0, 1)
        matrices = weight[:, :, 1, 1].unflatten(0, (self.groups, -1)).transpose(1, 2)
        rows = torch.bmm(vectors, matrices).transpose(0, 1)
        if self.channels_last:
            return rows.reshape(len(input), 1, 1, -1).contiguous().permute(0, 3, 1, 2)
        return rows.reshape(len(input), -1, 1, 1)


def use_middle_taps(network: AnyNet, resolution: int) -> None:
    """Put a MiddleTap in the place of each convolution that sees one pixel only."""
    for layer, side in layers_by_side(network, resolution).items():
        convolution = layer[0]
        assert isinstance(convolution, nn.Conv2d)
        if side == 1 and convolution.kernel_size == (3, 3):
            layer[0] = MiddleTap(convolution)
