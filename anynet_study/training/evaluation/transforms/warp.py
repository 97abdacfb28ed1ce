"""Square images looked at through a projective map."""

import torch
from torch import Tensor

from anynet_study.training.evaluation.transforms.draws import Draws


def warp(images: Tensor, maps: Draws) -> Tensor:
    """Each pixel from where `maps` (N, 8) says, bilinearly; black where that is outside.

    A map (a, b, c, d, e, f, g, h) takes a place (x, y) of the result, in 0..1 from the left top,
    to (ax + by + c, dx + ey + f) / (gx + hy + 1) of the image. Rounded to nearest. Places are in
    float64, values in float32, an operation at a time, which every device rounds alike.
    """
    side = images.shape[1]
    across, down = _sources(maps, side, images.device)
    inside = (across >= 0) & (across < side) & (down >= 0) & (down < side)
    left, top = (across - 0.5).floor(), (down - 0.5).floor()
    to_right, to_bottom = (across - 0.5 - left).float(), (down - 0.5 - top).float()
    above = _between(images, top, left, to_right[..., None])
    below = _between(images, top + 1, left, to_right[..., None])
    mixed = above + to_bottom[..., None] * (below - above)
    # What is outside may be infinite or not a number before this.
    return torch.where(inside[..., None], (mixed + 0.5).floor(), 0.0).to(torch.uint8)


def _sources(maps: Draws, side: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """(N, side, side) each: from where, in pixels from the left and from the top."""
    a, b, c, d, e, f, g, h = torch.from_numpy(maps).to(device).T[:, :, None, None]
    # Divided on the host: a GPU multiplies by the reciprocal of a number, which rounds twice.
    centres = ((torch.arange(side).double() + 0.5) / side).to(device)
    x, y = centres[None, None, :], centres[None, :, None]
    depth = g * x + h * y + 1.0
    return side * ((a * x + b * y + c) / depth), side * ((d * x + e * y + f) / depth)


def _between(images: Tensor, row: Tensor, left: Tensor, share: Tensor) -> Tensor:
    """(N, S, S, 3) float32: in `row`, from the pixel at `left` by `share` to the next."""
    count, side = images.shape[:2]
    pixels = images.reshape(-1, 3)
    first = side * torch.arange(count, device=images.device)[:, None, None]
    start = side * (first + row.long().clamp(0, side - 1))
    column = left.long()
    ends = []
    for place in (column, column + 1):
        chosen = pixels.index_select(0, (start + place.clamp(0, side - 1)).flatten())
        ends.append(chosen.view(images.shape).float())
    return ends[0] + share * (ends[1] - ends[0])
