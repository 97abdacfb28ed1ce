"""The stem, the blocks and the average of an AnyNet on rows (n * side * side, channels)."""

from torch import Tensor, nn
from torch.nn import functional as F

from anynet_study.models.blocks import Basic, Bottleneck, SqueezeExcitation, Vanilla
from anynet_study.models.rewrites.layer import RowLayer
from anynet_study.models.rewrites.operators import as_maps, as_rows


class RowStem(nn.Sequential):
    """Images (n, 3, side, side) to rows."""

    def __init__(self, stem: nn.Sequential, side: int) -> None:
        layer = RowLayer(stem[0], side)
        super().__init__(layer)
        #: Without parameters: not in the state, as in the plain stem.
        self.pool = stem[2] if len(stem) > 2 else None
        self.side_in = side
        self.side_inside = layer.side
        self.side = layer.side if self.pool is None else (layer.side - 1) // 2 + 1

    def forward(self, images: Tensor) -> Tensor:
        if images.shape[2:] != (self.side_in, self.side_in):
            raise ValueError(
                f"images of {tuple(images.shape[2:])} pixels; accelerated for {self.side_in}"
            )
        rows: Tensor = self[0](as_rows(images), relu=True)
        if self.pool is None:
            return rows
        return as_rows(self.pool(as_maps(rows, self.side_inside)))


class RowBottleneck(nn.Module):
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

    def forward(self, rows: Tensor) -> Tensor:
        y: Tensor = self.spatial(self.squeeze(rows, relu=True), relu=True)
        if self.excitation is not None:
            y = self.excitation(y)
        residual = rows if self.shortcut is None else self.shortcut(rows, relu=False)
        z: Tensor = self.expand(y, relu=True, residual=residual)
        return z


class RowBasic(nn.Module):
    """`Basic` or `Vanilla` on rows."""

    def __init__(self, block: Basic | Vanilla, side: int) -> None:
        super().__init__()
        self.first = RowLayer(block.first, side)
        self.second = RowLayer(block.second, self.first.side)
        self.side = self.first.side
        self.residual = isinstance(block, Basic)
        self.shortcut = _shortcut(block.shortcut, side) if isinstance(block, Basic) else None

    def forward(self, rows: Tensor) -> Tensor:
        residual = None
        if self.residual:
            residual = rows if self.shortcut is None else self.shortcut(rows, relu=False)
        z: Tensor = self.second(self.first(rows, relu=True), relu=True, residual=residual)
        return z


def _shortcut(shortcut: nn.Module, side: int) -> RowLayer | None:
    return None if isinstance(shortcut, nn.Identity) else RowLayer(shortcut, side)


class RowExcitation(nn.Module):
    """`SqueezeExcitation` on rows."""

    def __init__(self, layer: SqueezeExcitation, side: int) -> None:
        super().__init__()
        self.reduce = layer.reduce
        self.expand = layer.expand
        self.pixels = side * side

    def forward(self, rows: Tensor) -> Tensor:
        maps = rows.view(-1, self.pixels, rows.shape[1])
        inside = F.linear(maps.mean(dim=1), self.reduce.weight.flatten(1), self.reduce.bias)
        scale = F.linear(inside.relu_(), self.expand.weight.flatten(1), self.expand.bias)
        return (maps * scale.sigmoid_()[:, None]).view_as(rows)


class RowAverage(nn.Module):
    """Rows to the mean of each map, (n, channels)."""

    def __init__(self, side: int) -> None:
        super().__init__()
        self.pixels = side * side

    def forward(self, rows: Tensor) -> Tensor:
        return rows if self.pixels == 1 else rows.view(-1, self.pixels, rows.shape[1]).mean(dim=1)
