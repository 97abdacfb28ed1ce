"""Transforms of colour and contrast: blends with a degenerate image, as in Pillow, and hue."""

import torch
from torch import Tensor

from anynet_study.training.evaluation.transforms.draws import Draws, between


def blend(degenerate: Tensor, images: Tensor, factor: Draws) -> Tensor:
    """From `degenerate` (factor 0) by way of `images` (factor 1) beyond; cut to 0..255.

    `factor` is (N,), one an image. In float32 and rounded down, equal to Pillow's to the bit: two
    operations an element, which every device rounds alike.
    """
    by_image = torch.from_numpy(factor).to(images.device, torch.float32)[:, None, None, None]
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
    by_image = torch.from_numpy(turns).to(images.device)[:, None, None, None]
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
    offsets = torch.tensor([5.0, 3.0, 1.0], dtype=torch.float64, device=images.device)
    place = (sextant + 6.0 * by_image + offsets) % 6.0
    share = torch.minimum(place, 4.0 - place).clamp(0.0, 1.0)
    return (value - chroma * share + 0.5).floor().to(torch.uint8)
