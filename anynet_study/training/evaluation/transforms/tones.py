"""Transforms of each pixel's value by itself, or by the image's histogram. Exactly Pillow's."""

import torch
from torch import Tensor

from anynet_study.training.evaluation.transforms.draws import Draws


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
    start = 256 * torch.arange(len(planes), device=images.device)[:, None]
    histograms = torch.bincount((planes + start).flatten(), minlength=256 * len(planes))
    histograms = histograms.reshape(-1, 256)
    of_largest = histograms.gather(1, planes.amax(1, keepdim=True))
    step = (height * width - of_largest) // 255
    below = histograms.cumsum(1) - histograms
    table = ((step // 2 + below) // step.clamp(min=1)).clamp(max=255)
    table = torch.where(step > 0, table, torch.arange(256, device=images.device))
    spread = table.gather(1, planes).to(torch.uint8)
    return spread.reshape(count, channels, height, width).permute(0, 2, 3, 1)
