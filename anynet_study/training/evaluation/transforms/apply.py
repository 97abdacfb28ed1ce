"""A transform by its name, on a batch."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
from torch import Tensor

from anynet_study.training.evaluation.transforms import colour, filters, geometry, tones
from anynet_study.training.evaluation.transforms.catalog import PARAMETERS, TransformName
from anynet_study.training.evaluation.transforms.draws import Draws

#: Pixels that are transformed at a time: intermediate results are floating-point.
PIXELS = 1 << 18

FUNCTIONS: Mapping[TransformName, Callable[..., Tensor]] = MappingProxyType(
    {
        "blur": filters.blur,
        "sharpness": filters.sharpness,
        "affine": geometry.affine,
        "colour_jitter": colour.colour_jitter,
        "contrast": colour.contrast,
        "equalise": tones.equalise,
        "grayscale": colour.grayscale,
        "horizontal_flip": geometry.horizontal_flip,
        "invert": tones.invert,
        "perspective": geometry.perspective,
        "posterise": tones.posterise,
        "resized_crop": geometry.resized_crop,
        "rotation": geometry.rotation,
        "sharpness_change": filters.sharpness,
        "solarise": tones.solarise,
        "vertical_flip": geometry.vertical_flip,
    }
)


def transformed(images: Tensor, draws: Draws, name: TransformName) -> Tensor:
    """Transform `images` (N, S, S, 3) uint8; the result is like them, on the same device.

    `draws` (N, DRAWS) in [0, 1) are each image's own: the result does not depend on the batch,
    the device or the machine.
    """
    if name == "identity":
        return images
    together = max(1, PIXELS // images[0, ..., 0].numel())
    changed = torch.empty_like(images)
    for start in range(0, len(images), together):
        part = slice(start, start + together)
        changed[part] = FUNCTIONS[name](images[part], draws[part], **PARAMETERS[name])
    return changed
