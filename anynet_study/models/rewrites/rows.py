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
