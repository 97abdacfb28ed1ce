"""The boxes of random resized crops, drawn before an epoch."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from anynet_study.training.evaluation.transforms.draws import settled
from anynet_study.training.recipe import Recipe

#: Boxes are drawn until one lies in the image, at most so often (as is usual for ImageNet).
TRIES = 10


def with_boxes(draws: Tensor, recipe: Recipe, side: int, generator: torch.Generator) -> Tensor:
    """From `draws` (steps, 3, batch) in [0, 1) to top, left, flip, height and width of boxes.

    (steps, 5, batch) float32: whole pixels of images of `side`, the flip as it was. Area and ratio
    are drawn evenly from their ranges (the ratio in logarithms), again where the box is larger
    than the image; after `TRIES` the largest central box of a legal ratio is taken. The place is
    even among those possible.
    """
    height, width = _sizes(draws.shape[::2], recipe, side, generator)
    top, left, flip = (row.numpy().astype(np.float64) for row in draws.unbind(1))
    rows = (_place(top, side - height), _place(left, side - width), flip, height, width)
    return torch.from_numpy(np.stack(rows, axis=1).astype(np.float32))


def _sizes(
    shape: tuple[int, ...], recipe: Recipe, side: int, generator: torch.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Heights and widths, each of `shape`."""
    least, most = recipe.crop_ratio
    # The image, made narrower or lower as far as a ratio has to be.
    height = np.full(shape, np.rint(side / max(least, 1.0)))
    width = np.full(shape, np.rint(side * min(most, 1.0)))
    height, width = np.maximum(height, 1), np.maximum(width, 1)
    fits = np.zeros(shape, bool)
    for _ in range(TRIES):
        area, ratio = torch.rand(2, *shape, generator=generator, dtype=torch.float64).numpy()
        pixels = side**2 * (recipe.crop_area[0] + area * np.ptp(recipe.crop_area))
        ratio = settled(np.exp(np.log(least) + ratio * (np.log(most) - np.log(least))))
        high, wide = np.rint(np.sqrt(pixels / ratio)), np.rint(np.sqrt(pixels * ratio))
        good = ~fits & (np.minimum(high, wide) >= 1) & (np.maximum(high, wide) <= side)
        height[good], width[good] = high[good], wide[good]
        fits |= good
    return height, width


def _place(draw: NDArray[np.float64], room: NDArray[np.float64]) -> NDArray[np.float64]:
    """A whole number in 0..room."""
    return np.minimum(np.floor(draw * (room + 1)), room)
