"""Boxes of images, resized in bulk: bilinear, with antialiasing where they are made smaller."""

import math

import torch
from torch import Tensor

#: Numbers in an intermediate result that stay in a CPU's cache: images are taken so many at a time.
CACHED = 1 << 19


class BoxResizer:
    """Cuts boxes out of uint8 images (N, S, S, 3) and resizes them to (R, R).

    The rule is that of `torch.nn.functional.interpolate` with `mode="bilinear"`, `antialias=True`
    and without aligned corners, on the box alone: a pixel of the result is the mean of those under
    a triangle that is as wide as two pixels, of the box or of the result, whichever are larger.
    Shapes do not depend on the boxes, and sums are taken in a fixed order, a tap at a time.
    """

    def __init__(self, size: int, resolution: int, device: torch.device) -> None:
        """`size`: S; `resolution`: R."""
        self.size, self.resolution = size, resolution
        #: Pixels under the triangle, at most: for the largest box, the whole image.
        self.taps = math.ceil(2 * max(1.0, size / resolution))
        self._middles = torch.arange(resolution, device=device).double() + 0.5
        self._tap = torch.arange(self.taps, device=device)

    def __call__(self, pixels: Tensor, rows: Tensor, boxes: Tensor, flip: Tensor | None) -> Tensor:
        """The images at `rows` (B,) of `pixels`, (B, R, R, 3) float32 in 0..255.

        `boxes` (4, B): top, left, height and width in pixels, whole numbers within the image.
        `flip` (B,) bool: which are mirrored left to right.
        """
        together = len(rows)
        if pixels.device.type == "cpu":
            together = max(1, CACHED // (3 * self.size * self.resolution))
        cut = torch.empty(len(rows), self.resolution, self.resolution, 3, device=pixels.device)
        for start in range(0, len(rows), together):
            part = slice(start, start + together)
            flips = None if flip is None else flip[part]
            cut[part] = self._resized(pixels, rows[part], boxes[:, part], flips)
        return cut

    def _resized(self, pixels: Tensor, rows: Tensor, boxes: Tensor, flip: Tensor | None) -> Tensor:
        # In float64, as places are differences of large numbers.
        top, left, height, width = boxes.double()
        lines = pixels.view(-1, self.size * 3)
        places, weights = self._weights(top, height)
        squeezed = self._mixed(lines, rows[:, None, None] * self.size + places, weights)
        places, weights = self._weights(left, width)
        if flip is not None:
            mirrored = flip[:, None, None]
            places = torch.where(mirrored, places.flip(1), places)
            weights = torch.where(mirrored, weights.flip(1), weights)
        # Columns as rows: whole ones are faster to pick than single pixels.
        turned = squeezed.view(len(rows), self.resolution, self.size, 3).transpose(1, 2)
        lines = turned.reshape(-1, self.resolution * 3)
        first = torch.arange(len(rows), device=rows.device)[:, None, None] * self.size
        resized = self._mixed(lines, first + places, weights)
        return resized.view(len(rows), self.resolution, self.resolution, 3).transpose(1, 2)

    def _weights(self, first: Tensor, length: Tensor) -> tuple[Tensor, Tensor]:
        """(B, R, taps) each: the pixels of the image that a row (column) is made of, and shares."""
        scale = length[:, None] / self.resolution
        reach = scale.clamp(min=1.0)
        middle = self._middles * scale
        start = (middle - reach + 0.5).clamp(min=0.0).floor()
        place = start[..., None] + self._tap
        share = 1.0 - ((place + 0.5 - middle[..., None]) / reach[..., None]).abs()
        share = share.clamp(min=0.0) * (place < length[:, None, None])
        share = (share / share.sum(dim=2, keepdim=True)).float()
        place = torch.minimum(place, length[:, None, None] - 1.0)
        return (first[:, None, None] + place).long(), share

    def _mixed(self, lines: Tensor, places: Tensor, weights: Tensor) -> Tensor:
        """(B * R, ...) float32: sums over taps of `lines` at `places`, both (B, R, taps)."""
        places, weights = places.flatten(0, 1), weights.flatten(0, 1)
        total: Tensor | None = None
        for tap in range(self.taps):
            part = lines.index_select(0, places[:, tap]) * weights[:, tap, None]
            total = part if total is None else total.add_(part)
        assert total is not None
        return total
