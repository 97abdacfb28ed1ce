"""Maps in channels-last memory, and the same memory as rows of channels."""

import torch
from torch import Tensor


def as_maps(rows: Tensor, side: int) -> Tensor:
    """View rows as maps (n, channels, side, side) in channels-last memory."""
    count, channels = rows.shape
    pixels = side * side
    sizes = count // pixels, channels, side, side
    return rows.as_strided(sizes, (pixels * channels, 1, side * channels, channels))


def as_rows(maps: Tensor) -> Tensor:
    """Return maps (n, channels, height, width) as rows; no copy in channels-last memory."""
    n, channels, height, width = maps.shape
    if maps.is_contiguous(memory_format=torch.channels_last):
        return maps.as_strided((n * height * width, channels), (channels, 1))
    return maps.permute(0, 2, 3, 1).reshape(-1, channels)


def strided(rows: Tensor, side: int, stride: int) -> Tensor:
    """View every `stride`-th pixel, both ways, of maps of `side` pixels: (n, ..., channels)."""
    return rows.view(-1, side, side, rows.shape[1])[:, ::stride, ::stride]


def seen(rows: Tensor, side: int, stride: int) -> Tensor:
    """Return the rows that a 1x1 convolution with this stride sees; a copy if not all."""
    if stride == 1:
        return rows
    return strided(rows, side, stride).reshape(-1, rows.shape[1]).contiguous()
