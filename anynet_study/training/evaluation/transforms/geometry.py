"""Transforms of place. Images are square; places are in 0..1 from the left top."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from anynet_study.training.evaluation.transforms.draws import Draws, between, settled
from anynet_study.training.evaluation.transforms.warp import warp


def horizontal_flip(images: Tensor, draws: Draws) -> Tensor:
    """Left to right."""
    return images.flip(2)


def vertical_flip(images: Tensor, draws: Draws) -> Tensor:
    """Top to bottom."""
    return images.flip(1)


def rotation(images: Tensor, draws: Draws, degrees: float) -> Tensor:
    """Turn counter-clockwise about the centre by -degrees .. degrees; black where nothing is."""
    still = np.zeros(len(draws))
    turn = between(draws[:, 0], -degrees, degrees)
    return warp(images, similarity(turn, still + 1.0, still, still))


def affine(
    images: Tensor, draws: Draws, degrees: float, shift: float, scale: tuple[float, float]
) -> Tensor:
    """Enlarge and turn about the centre, then shift right and down, by a draw each.

    By the range `scale`, -degrees .. degrees counter-clockwise, and -shift .. shift of the side.
    """
    turn = between(draws[:, 0], -degrees, degrees)
    right, down = between(draws[:, 1:3], -shift, shift).T
    return warp(images, similarity(turn, between(draws[:, 3], *scale), right, down))


def resized_crop(
    images: Tensor, draws: Draws, area: tuple[float, float], ratio: tuple[float, float]
) -> Tensor:
    """Cut a rectangle at a random place and enlarge it to the whole.

    Its share of the image is drawn from the range `area`, its width over its height from `ratio`
    (evenly in logarithms). A side longer than the image's is cut to it.
    """
    share = between(draws[:, 0], *area)
    shape = settled(np.exp(between(draws[:, 1], *np.log(ratio))))
    width, height = np.minimum(1.0, np.sqrt(share * shape)), np.minimum(1.0, np.sqrt(share / shape))
    left, top = draws[:, 2] * (1.0 - width), draws[:, 3] * (1.0 - height)
    zero = np.zeros(len(draws))
    return warp(images, np.stack([width, zero, left, zero, height, top, zero, zero], axis=1))


def perspective(images: Tensor, draws: Draws, distortion: float) -> Tensor:
    """Move each corner inwards by up to `distortion` half sides in x and in y; black outside."""
    inwards = (draws * (distortion / 2.0)).reshape(-1, 4, 2)
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    return warp(images, square_of(corners + (1.0 - 2.0 * corners) * inwards))


def similarity(turn: Draws, scale: Draws, right: Draws, down: Draws) -> Draws:
    """(N, 8) maps back from the result of scaling, turning (degrees) and shifting an image."""
    angle = np.deg2rad(turn)
    cosine, sine = settled(np.cos(angle)) / scale, settled(np.sin(angle)) / scale
    x, y, zero = 0.5 + right, 0.5 + down, np.zeros(len(turn))
    across = [cosine, -sine, 0.5 - cosine * x + sine * y]
    along = [sine, cosine, 0.5 - sine * x - cosine * y]
    return np.stack([*across, *along, zero, zero], axis=1)


def square_of(corners: NDArray[np.float64]) -> Draws:
    """(N, 8) maps that take quadrilaterals to the square 0..1.

    `corners` (N, 4, 2) are x and y of what becomes the left top, right top, right bottom and left
    bottom. In closed form, hence alike on every machine: the inverse of the map from the square.
    """
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = corners.transpose(1, 2, 0)
    right_x, right_y, left_x, left_y = x1 - x2, y1 - y2, x3 - x2, y3 - y2
    skew_x, skew_y = x0 - x1 + x2 - x3, y0 - y1 + y2 - y3
    area = right_x * left_y - left_x * right_y
    g = (skew_x * left_y - left_x * skew_y) / area
    h = (right_x * skew_y - skew_x * right_y) / area
    a, b, c = x1 - x0 + g * x1, x3 - x0 + h * x3, x0
    d, e, f = y1 - y0 + g * y1, y3 - y0 + h * y3, y0
    inverse = [e - f * h, c * h - b, b * f - c * e, f * g - d, a - c * g, c * d - a * f]
    maps: Draws = np.stack([*inverse, d * h - e * g, b * g - a * h]) / (a * e - b * d)
    return maps.T
