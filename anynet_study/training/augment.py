"""Images as the network sees them: uint8 pixels, cropped, flipped and normalised in bulk."""

import numpy as np
import torch
from torch import Tensor

from anynet_study.training.recipe import ResolvedRecipe
from anynet_study.training.resized_crops import BoxResizer


class Preprocessor:
    """Turns uint8 images (N, H, W, 3) into normalised float batches (B, 3, R, R).

    The result is laid out channels-last in memory. Padding has the value zero after
    normalisation, the dataset's mean colour. Works on the device where the pixels are, without
    waiting for it.
    """

    def __init__(self, recipe: ResolvedRecipe, mean: Tensor, std: Tensor) -> None:
        self.resolution = recipe.resolution
        self.padding = recipe.padding
        self.crop = recipe.crop
        self.flip = recipe.flip
        #: Of the pixels of a line, (R * 3,): three by three they would be slow to multiply.
        self.scale = (1.0 / (255.0 * std)).repeat(self.resolution)
        self.shift = (-mean / std).repeat(self.resolution)
        #: Made for the first images, whose size it needs.
        self._resize: BoxResizer | None = None
        self._span = torch.arange(self.resolution, device=mean.device)

    def train(self, pixels: Tensor, rows: Tensor, draws: Tensor) -> Tensor:
        """A random crop and flip of the images at `rows` (B,) of `pixels`.

        `draws`: (3, B) in [0, 1) for top, left and flip; a flip is a draw below one half. Of
        resized crops (5, B), as in `EpochTables`.
        """
        flip = draws[2] < 0.5 if self.flip else None
        if self.crop == "none":
            return self.test(pixels, rows, flip)
        if self.crop == "resized":
            return self._resized(pixels, rows, draws, flip)
        margin = self._margin(pixels)
        top = (draws[0] * (margin + 1)).long().clamp_(max=margin)
        left = (draws[1] * (margin + 1)).long().clamp_(max=margin)
        return self._cut(pixels, rows, top, left, flip)

    def test(
        self, pixels: Tensor, rows: Tensor | None = None, flip: Tensor | None = None
    ) -> Tensor:
        """The central crop of the images at `rows` (B,), by default all; `flip` (B,) bool."""
        if rows is None:
            rows = torch.arange(len(pixels), device=pixels.device)
        middle = torch.full_like(rows, self._margin(pixels) // 2)
        return self._cut(pixels, rows, middle, middle, flip)

    def _margin(self, pixels: Tensor) -> int:
        return pixels.shape[1] + 2 * self.padding - self.resolution

    def _resized(self, pixels: Tensor, rows: Tensor, draws: Tensor, flip: Tensor | None) -> Tensor:
        if self._resize is None or self._resize.size != pixels.shape[1]:
            self._resize = BoxResizer(pixels.shape[1], self.resolution, pixels.device)
        top, left, _, height, width = draws
        cut = self._resize(pixels, rows, torch.stack([top, left, height, width]), flip)
        lines = cut.flatten(2).mul_(self.scale).add_(self.shift)
        return lines.view_as(cut).permute(0, 3, 1, 2)

    def _cut(
        self, pixels: Tensor, rows: Tensor, top: Tensor, left: Tensor, flip: Tensor | None
    ) -> Tensor:
        """One gather straight from the dataset: only the pixels of the crops are touched."""
        height, width = pixels.shape[1:3]
        y = top[:, None] - self.padding + self._span
        along = self._span
        if flip is not None:
            along = torch.where(flip[:, None], self._span.flip(0), self._span)
        x = left[:, None] - self.padding + along
        first = rows[:, None] * height + y.clamp(0, height - 1)
        places = first[:, :, None] * width + x.clamp(0, width - 1)[:, None, :]
        cut = pixels.reshape(-1, 3).index_select(0, places.view(-1)).view(*places.shape, 3)
        lines = cut.flatten(2).to(self.scale.dtype).mul_(self.scale).add_(self.shift)
        if self.padding:
            lines.mul_(_within(y, height)[:, :, None])
            beside = _within(x, width)[:, :, None].expand(-1, -1, 3)
            lines.mul_(beside.flatten(1)[:, None, :])
        return lines.view_as(cut).permute(0, 3, 1, 2)


def preprocessor(
    recipe: ResolvedRecipe, mean: np.ndarray, std: np.ndarray, device: torch.device
) -> Preprocessor:
    """The preprocessor of a view, whose `mean` and `std` (3,) are in units of 0..1."""
    as_there = {"dtype": torch.float32, "device": device}
    return Preprocessor(recipe, torch.tensor(mean, **as_there), torch.tensor(std, **as_there))  # type: ignore[arg-type]


def _within(place: Tensor, side: int) -> Tensor:
    return (place >= 0) & (place < side)
