"""The 17 test-time transforms of paper 4 (appendix B.2), and JPEG, on uint8 images (N, S, S, 3).

Their parameters are in `operators`; training augments by them, too. What is random comes from
numbers in [0, 1) that are given for each image, and pixels are computed so that they are the same
on every machine and device.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from anynet_study.engine.training.augment import same_everywhere
from anynet_study.engine.training.operators import (
    TRANSFORMS,
    Done,
    Draws,
    Operator,
    Parameters,
    TransformName,
)

#: Pixels that are transformed at a time: intermediate results are floating-point.
PIXELS = 1 << 18
#: Of the blur, in pixels on each side: three times the largest standard deviation.
BLUR_RADIUS = 6


def transformed(
    images: Tensor, draws: Draws, name: TransformName, parameters: Parameters | None = None
) -> Tensor:
    """Transform `images` (N, S, S, 3) uint8; the result is like them, on the same device.

    `draws` (N, DRAWS_PER_IMAGE) in [0, 1) are each image's own: the result does not depend on the
    batch, the device or the machine. `parameters`: by default those of TRANSFORMS.
    """
    if name == "identity":
        return images
    parameters = TRANSFORMS[name] if parameters is None else parameters
    together = max(1, PIXELS // images[0, ..., 0].numel())
    changed = torch.empty_like(images)
    for start in range(0, len(images), together):
        part = slice(start, start + together)
        changed[part] = FUNCTIONS[name](images[part], draws[part], **parameters)
    return changed


def augmented(images: Tensor, operators: Sequence[Operator], draws: Sequence[Draws]) -> Tensor:
    """Apply `operators` to `images` (N, S, S, 3) uint8, one after the other, by chance.

    `draws`: for each operator (N, width) in [0, 1), each image's own. `images` may be changed.
    """
    for operator, its_draws in zip(operators, draws, strict=True):
        if operator.name == "augmix":
            images = augmix(images, operator, its_draws)
        else:
            _change(images, operator.chosen(its_draws))
    return images


def _change(images: Tensor, done: Iterable[Done]) -> None:
    """Apply transforms to some of `images`, in place."""
    for name, parameters, rows, own in done:
        if len(rows):
            places = on_device(rows, images.device)
            changed = transformed(images.index_select(0, places), own, name, parameters)
            images.index_copy_(0, places, changed)


def augmix(images: Tensor, operator: Operator, draws: Draws) -> Tensor:
    """Mix images with chains of transforms of them (Hendrycks et al. 2020, "AugMix", section 3).

    Without the consistency loss of that paper. A product and a sum at a time, which every device
    rounds alike; the result is rounded to nearest.
    """
    rows, shares, chains = operator.chains(draws)
    if not len(rows):
        return images
    places = on_device(rows, images.device)
    own = images.index_select(0, places)
    by_image = on_device(same_everywhere(shares), images.device).float()[..., None, None, None]
    total = by_image[:, 0] * own.float()
    for number, done in enumerate(chains):
        changed = own.clone()
        _change(changed, done)
        total = total + by_image[:, 1 + number] * changed.float()
    rounded = (total + 0.5).floor().clamp(0, 255).to(torch.uint8)
    return images.index_copy(0, places, rounded)


def on_device(numbers: NDArray[Any], device: torch.device) -> Tensor:
    """The numbers on a device, for which the host does not wait."""
    return torch.from_numpy(numbers).to(device, non_blocking=True)


def between(draws: Draws, low: float, high: float) -> Draws:
    """Uniform in [low, high)."""
    return low + draws * (high - low)


# Each pixel's value by itself, or by the image's histogram: exactly Pillow's.


def invert(images: Tensor, draws: Draws) -> Tensor:
    """The negative."""
    return 255 - images


def posterise(images: Tensor, draws: Draws, bits: int) -> Tensor:
    """Keep the first `bits` bits of each value."""
    return images & (256 - (1 << (8 - bits)))


def solarise(images: Tensor, draws: Draws, threshold: int) -> Tensor:
    """Invert the values from `threshold` on."""
    return torch.where(images < threshold, images, 255 - images)


def equalise(images: Tensor, draws: Draws) -> Tensor:
    """Spread the values of each channel evenly over 0..255.

    A value becomes the number of pixels below it over a 255th of all pixels but those of the
    largest value. Images with fewer than 255 such pixels stay as they are.
    """
    count, height, width, channels = images.shape
    planes = images.permute(0, 3, 1, 2).reshape(count * channels, height * width).long()
    # Not by bincount, for which the host waits on a GPU.
    histograms = torch.zeros(len(planes), 256, dtype=torch.int64, device=images.device)
    histograms.scatter_add_(1, planes, torch.ones_like(planes))
    of_largest = histograms.gather(1, planes.amax(1, keepdim=True))
    step = (height * width - of_largest) // 255
    below = histograms.cumsum(1) - histograms
    table = ((step // 2 + below) // step.clamp(min=1)).clamp(max=255)
    table = torch.where(step > 0, table, torch.arange(256, device=images.device))
    spread = table.gather(1, planes).to(torch.uint8)
    return spread.reshape(count, channels, height, width).permute(0, 2, 3, 1)


# Colour and contrast: blends with a degenerate image, as in Pillow, and hue.


def blend(degenerate: Tensor, images: Tensor, factor: Draws) -> Tensor:
    """From `degenerate` (factor 0) by way of `images` (factor 1) beyond; cut to 0..255.

    `factor` is (N,), one an image. In float32 and rounded down, equal to Pillow's to the bit: two
    operations an element, which every device rounds alike.
    """
    by_image = on_device(factor, images.device).float()[:, None, None, None]
    base = degenerate.float()
    mixed = base + by_image * (images.float() - base)
    return mixed.clamp(0, 255).to(torch.uint8)


def luminance(images: Tensor) -> Tensor:
    """(N, S, S, 1) uint8: ITU-R 601 luma, in the fixed-point arithmetic of Pillow."""
    red, green, blue = images.int().split(1, dim=3)
    luma: Tensor = (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16
    return luma.to(torch.uint8)


def grayscale(images: Tensor, draws: Draws) -> Tensor:
    """The luminance in all three channels."""
    return luminance(images).expand_as(images)


def contrast(images: Tensor, draws: Draws, factor: tuple[float, float]) -> Tensor:
    """Contrast times a number drawn from the range `factor`."""
    return _contrast(images, between(draws[:, 0], *factor))


def colour_jitter(images: Tensor, draws: Draws, spread: float, hue: float) -> Tensor:
    """Brightness, contrast and saturation, in this order, times 1 - spread .. 1 + spread each.

    Then the hue is turned by -hue .. hue, in turns.
    """
    factors = between(draws[:, :3], 1.0 - spread, 1.0 + spread)
    images = blend(torch.zeros_like(images), images, factors[:, 0])
    images = _contrast(images, factors[:, 1])
    images = blend(luminance(images), images, factors[:, 2])
    return turn_hue(images, between(draws[:, 3], -hue, hue))


def _contrast(images: Tensor, factor: Draws) -> Tensor:
    luma = luminance(images)
    pixels = luma[0].numel()
    total = luma.sum(dim=(1, 2, 3), dtype=torch.int64)[:, None, None, None]
    mean = (2 * total + pixels) // (2 * pixels)  # rounded, a half up
    return blend(mean, images, factor)


def turn_hue(images: Tensor, turns: Draws) -> Tensor:
    """Turn the hue of HSV by `turns` (N,), saturation and value kept; rounded to nearest."""
    by_image = on_device(turns, images.device)[:, None, None, None]
    colours = images.double()
    value, least = colours.amax(3, keepdim=True), colours.amin(3, keepdim=True)
    chroma = value - least
    red, green, blue = colours.split(1, dim=3)
    scale = chroma.clamp(min=1.0)
    sextant = torch.where(
        value == red,
        (green - blue) / scale,
        torch.where(value == green, 2.0 + (blue - red) / scale, 4.0 + (red - green) / scale),
    )
    # A channel is at `value` for 2 sextants around its own, at `least` for 2 opposite, and moves
    # linearly between.
    offsets = on_device(np.array([5.0, 3.0, 1.0]), images.device)
    place = (sextant + 6.0 * by_image + offsets) % 6.0
    share = torch.minimum(place, 4.0 - place).clamp(0.0, 1.0)
    return (value - chroma * share + 0.5).floor().to(torch.uint8)


# By a pixel's neighbours: blur and sharpness.


def blur(images: Tensor, draws: Draws, sigma: tuple[float, float]) -> Tensor:
    """Convolve with a Gaussian, its standard deviation in pixels drawn from the range `sigma`.

    Cut off at `BLUR_RADIUS`; beyond the border the image goes on as its outermost pixel.
    """
    weights = on_device(_gaussian(between(draws[:, 0], *sigma)), images.device)
    pixels = images.double()
    for axis in (1, 2):
        pixels = _convolve(pixels, weights, axis)
    return (pixels + 0.5).floor().to(torch.uint8)


def _gaussian(sigma: Draws) -> Draws:
    """(N, BLUR_RADIUS + 1) weights by distance; over both sides they sum to 1."""
    bell = np.exp(-0.5 * (np.arange(BLUR_RADIUS + 1) / sigma[:, None]) ** 2)
    return same_everywhere(bell / (2.0 * bell.sum(axis=1, keepdims=True) - 1.0))


def _convolve(pixels: Tensor, weights: Tensor, axis: int) -> Tensor:
    """Along one axis, tap by tap: in a fixed order, which a library's convolution has not."""
    length = pixels.shape[axis]
    places = torch.arange(-BLUR_RADIUS, length + BLUR_RADIUS, device=pixels.device).clamp(
        0, length - 1
    )
    wide = pixels.index_select(axis, places)
    by_image = weights[:, :, None, None, None]
    total = by_image[:, 0] * pixels
    for tap in range(1, BLUR_RADIUS + 1):
        before = wide.narrow(axis, BLUR_RADIUS - tap, length)
        total += by_image[:, tap] * (before + wide.narrow(axis, BLUR_RADIUS + tap, length))
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


# Of place. Images are square; places are in 0..1 from the left top.


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
    shape = same_everywhere(np.exp(between(draws[:, 1], *np.log(ratio))))
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
    cosine, sine = same_everywhere(np.cos(angle)) / scale, same_everywhere(np.sin(angle)) / scale
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
    above = _interpolated(images, top, left, to_right[..., None])
    below = _interpolated(images, top + 1, left, to_right[..., None])
    mixed = above + to_bottom[..., None] * (below - above)
    # What is outside may be infinite or not a number before this.
    return torch.where(inside[..., None], (mixed + 0.5).floor(), 0.0).to(torch.uint8)


def _sources(maps: Draws, side: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """(N, side, side) each: from where, in pixels from the left and from the top."""
    a, b, c, d, e, f, g, h = on_device(maps, device).T[:, :, None, None]
    # Divided on the host: a GPU multiplies by the reciprocal of a number, which rounds twice.
    centres = on_device((np.arange(side) + 0.5) / side, device)
    x, y = centres[None, None, :], centres[None, :, None]
    depth = g * x + h * y + 1.0
    return side * ((a * x + b * y + c) / depth), side * ((d * x + e * y + f) / depth)


def _interpolated(images: Tensor, row: Tensor, left: Tensor, share: Tensor) -> Tensor:
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


# Compression.

#: Quantisation of brightness and of colour: ITU-T T.81, Annex K.
QUANTISATION = np.array(
    [
        *([16, 11, 10, 16, 24, 40, 51, 61], [12, 12, 14, 19, 26, 58, 60, 55]),
        *([14, 13, 16, 24, 40, 57, 69, 56], [14, 17, 22, 29, 51, 87, 80, 62]),
        *([18, 22, 37, 56, 68, 109, 103, 77], [24, 35, 55, 64, 81, 104, 113, 92]),
        *([49, 64, 78, 87, 103, 121, 120, 101], [72, 92, 95, 98, 112, 100, 103, 99]),
        *([17, 18, 24, 47, 99, 99, 99, 99], [18, 21, 26, 66, 99, 99, 99, 99]),
        *([24, 26, 56, 99, 99, 99, 99, 99], [47, 66, 99, 99, 99, 99, 99, 99]),
        *([99] * 8, [99] * 8, [99] * 8, [99] * 8),
    ]
).reshape(2, 8, 8)[[0, 1, 1]]
#: Of the cosines, as whole numbers: products and sums of them are exact in float64.
COSINE_BITS = 18
#: A half is rounded up, and so is what is less than a half by this power of two: halves are common,
#: and the cosines are not exact.
NEARLY_BITS = 6
#: Brightness and colours of red, green and blue, in units of 2**-16 (JFIF); and back.
TO_YCC = np.array([[19595, 38470, 7471], [-11059, -21709, 32768], [32768, -27439, -5329]])
TO_RGB = np.array([[65536, 0, 91881], [65536, -22554, -46802], [65536, 116130, 0]])


def jpeg(images: Tensor, draws: Draws, quality: int) -> Tensor:
    """Compress as JPEG of this quality, 1 to 100, and read it again; colours are as fine as light.

    Tables are scaled by the quality as libjpeg does. All is in whole numbers, so that it is the
    same on every device.
    """
    device, side = images.device, images.shape[1]
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    steps = on_device(((QUANTISATION * scale + 50) // 100).clip(1, 255), device)[:, None, None]
    angle = np.outer(np.arange(8), 2 * np.arange(8) + 1) * (np.pi / 16)
    rows = np.cos(angle) * np.where(np.arange(8) > 0, 0.5, np.sqrt(0.125))[:, None]
    cosines = on_device(np.rint(rows * (1 << COSINE_BITS)), device)
    whole = torch.arange(-(-side // 8) * 8, device=device).clamp(max=side - 1)
    pixels = images.index_select(1, whole).index_select(2, whole)
    planes = _colours(pixels.long(), TO_YCC)
    planes[:, 0] -= 128
    blocks = planes.unflatten(3, (-1, 8)).unflatten(2, (-1, 8)).transpose(3, 4).double()
    waves = (cosines @ blocks @ cosines.T).long()
    unit = steps << (2 * COSINE_BITS)
    nearly = 1 << (2 * COSINE_BITS - NEARLY_BITS)
    kept = (waves + unit // 2 + nearly).div(unit, rounding_mode="floor") * steps
    found = (cosines.T @ kept.double() @ cosines).long() + (1 << (2 * COSINE_BITS - 1))
    planes = (found >> (2 * COSINE_BITS)).transpose(3, 4).flatten(4, 5).flatten(2, 3)
    planes[:, 0] += 128
    colours = _colours(planes.permute(0, 2, 3, 1), TO_RGB).clamp(0, 255).to(torch.uint8)
    return colours[:, :, :side, :side].permute(0, 2, 3, 1)


def _colours(pixels: Tensor, matrix: NDArray[np.int64]) -> Tensor:
    """(N, S, S, 3) int64 by a matrix in units of 2**-16, rounded: (N, 3, S, S)."""
    first, second, third = pixels.unbind(3)
    mixed = [(a * first + b * second + c * third + 32768) >> 16 for a, b, c in matrix.tolist()]
    return torch.stack(mixed, dim=1)


FUNCTIONS: Mapping[TransformName, Callable[..., Tensor]] = MappingProxyType(
    {
        "blur": blur,
        "sharpness": sharpness,
        "affine": affine,
        "colour_jitter": colour_jitter,
        "contrast": contrast,
        "equalise": equalise,
        "grayscale": grayscale,
        "horizontal_flip": horizontal_flip,
        "invert": invert,
        "perspective": perspective,
        "posterise": posterise,
        "resized_crop": resized_crop,
        "rotation": rotation,
        "sharpness_change": sharpness,
        "solarise": solarise,
        "vertical_flip": vertical_flip,
        "jpeg": jpeg,
    }
)
