"""Images as the network sees them: uint8 batches, cropped, flipped and normalised in bulk."""

import torch
from torch import Tensor
from torch.nn import functional as F

from anynet_study.training.recipe import Recipe


class Preprocessor:
    """Turns uint8 batches (N, H, W, 3) into normalised float batches (N, 3, R, R).

    The result is laid out channels-last in memory. Padding has the value zero after
    normalisation, the dataset's mean colour. Offsets and flips are drawn on the CPU, so every
    device sees the same images.
    """

    def __init__(self, recipe: Recipe, mean: Tensor, std: Tensor) -> None:
        assert recipe.resolution is not None, "the recipe must be resolved for a dataset"
        self.resolution = recipe.resolution
        self.padding = recipe.padding
        self.crop = recipe.crop
        self.flip = recipe.flip
        self.scale = 1.0 / (255.0 * std)
        self.shift = -mean / std

    def train(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """A random crop and flip of each image; draws 3 numbers an image, used or not."""
        draws = torch.rand(3, len(images), generator=generator)
        margin = images.shape[1] + 2 * self.padding - self.resolution
        if self.crop == "none":
            top = left = torch.full((len(images),), margin // 2)
        else:
            top = (draws[0] * (margin + 1)).long().clamp_(max=margin)
            left = (draws[1] * (margin + 1)).long().clamp_(max=margin)
        mirrored = (draws[2] < 0.5) if self.flip else torch.zeros(len(images), dtype=torch.bool)
        return self._cut(images, top, left, mirrored)

    def test(self, images: Tensor) -> Tensor:
        """The central crop of each image."""
        margin = images.shape[1] + 2 * self.padding - self.resolution
        middle = torch.full((len(images),), margin // 2)
        return self._cut(images, middle, middle, torch.zeros(len(images), dtype=torch.bool))

    def _cut(self, images: Tensor, top: Tensor, left: Tensor, mirrored: Tensor) -> Tensor:
        device = images.device
        pixels = images.to(torch.float32) * self.scale + self.shift
        padded = F.pad(pixels, (0, 0, self.padding, self.padding, self.padding, self.padding))
        span = torch.arange(self.resolution)
        rows = top[:, None] + span
        columns = left[:, None] + torch.where(mirrored[:, None], span.flip(0), span)
        batch = torch.arange(len(images), device=device)[:, None, None]
        cut = padded[batch, rows.to(device)[:, :, None], columns.to(device)[:, None, :]]
        return cut.permute(0, 3, 1, 2)
