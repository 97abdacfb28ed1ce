"""Transforms by a pixel's neighbours: blur and sharpness."""

import numpy as np
import torch
from torch import Tensor

from anynet_study.training.evaluation.transforms.colour import blend
from anynet_study.training.evaluation.transforms.draws import Draws, between, settled

#: Of the blur, in pixels on each side: three times the largest standard deviation.
RADIUS = 6


def blur(images: Tensor, draws: Draws, sigma: tuple[float, float]) -> Tensor:
    """Convolve with a Gaussian, its standard deviation in pixels drawn from the range `sigma`.

    Cut off at `RADIUS`; beyond the border the image goes on as its outermost pixel.
    """
    weights = torch.from_numpy(_gaussian(between(draws[:, 0], *sigma))).to(images.device)
    pixels = images.double()
    for axis in (1, 2):
        pixels = _convolve(pixels, weights, axis)
    return (pixels + 0.5).floor().to(torch.uint8)


def _gaussian(sigma: Draws) -> Draws:
    """(N, RADIUS + 1) weights by distance; over both sides they sum to 1."""
    bell = np.exp(-0.5 * (np.arange(RADIUS + 1) / sigma[:, None]) ** 2)
    return settled(bell / (2.0 * bell.sum(axis=1, keepdims=True) - 1.0))


def _convolve(pixels: Tensor, weights: Tensor, axis: int) -> Tensor:
    """Along one axis, tap by tap: in a fixed order, which a library's convolution has not."""
    length = pixels.shape[axis]
    places = torch.arange(-RADIUS, length + RADIUS, device=pixels.device).clamp(0, length - 1)
    wide = pixels.index_select(axis, places)
    by_image = weights[:, :, None, None, None]
    total = by_image[:, 0] * pixels
    for tap in range(1, RADIUS + 1):
        before = wide.narrow(axis, RADIUS - tap, length)
        total += by_image[:, tap] * (before + wide.narrow(axis, RADIUS + tap, length))
    return total


def sharpness(images: Tensor, draws: Draws, factor: tuple[float, float]) -> Tensor:
    """Sharpness times a number drawn from the range `factor`; below 1 smooths. Exactly Pillow's."""
    return blend(_smooth(images), images, between(draws[:, 0], *factor))


def _smooth(images: Tensor) -> Tensor:
    """The mean of each pixel, five times, and its eight neighbours; the border stays."""
    rows = images.int()
    middle = rows[:, 1:-1, 1:-1]
    columns = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]
    total = columns[:, :, :-2] + columns[:, :, 1:-1] + columns[:, :, 2:] + 4 * middle
    smooth = images.clone()
    smooth[:, 1:-1, 1:-1] = ((total + 6) // 13).to(torch.uint8)
    return smooth
