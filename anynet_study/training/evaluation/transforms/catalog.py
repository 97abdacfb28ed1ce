"""The 17 test-time transforms of paper 4 (appendix B.2) and their parameters.

The paper names the transforms, not their parameters. These are the defaults of the usual library
(torchvision) or, where it has none, moderate values of common use. Unlike there, each image is
transformed, none left as it is by chance: as the error of a mixture is the mean of the errors,
a mixture with the untouched images follows from these and the identity's.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

TransformName = Literal[
    "identity",
    "blur",
    "sharpness",
    "affine",
    "colour_jitter",
    "contrast",
    "equalise",
    "grayscale",
    "horizontal_flip",
    "invert",
    "perspective",
    "posterise",
    "resized_crop",
    "rotation",
    "sharpness_change",
    "solarise",
    "vertical_flip",
]
Parameters = Mapping[str, "float | list[float]"]

#: Raised whenever a transform gives other pixels than before.
VERSION = 1
#: Random numbers an image, used or not.
DRAWS = 8

#: Keyword arguments of the transform's function, documented there. Ranges are drawn from
#: uniformly, for each image anew.
PARAMETERS: Mapping[TransformName, Parameters] = MappingProxyType(
    {
        "identity": {},
        "blur": {"sigma": [0.1, 2.0]},
        "sharpness": {"factor": [2.0, 2.0]},
        "affine": {"degrees": 30.0, "shift": 0.1, "scale": [0.8, 1.2]},
        "colour_jitter": {"spread": 0.4, "hue": 0.1},
        "contrast": {"factor": [0.1, 1.9]},
        "equalise": {},
        "grayscale": {},
        "horizontal_flip": {},
        "invert": {},
        "perspective": {"distortion": 0.5},
        "posterise": {"bits": 2},
        "resized_crop": {"area": [0.08, 1.0], "ratio": [0.75, 4 / 3]},
        "rotation": {"degrees": 30.0},
        "sharpness_change": {"factor": [0.1, 1.9]},
        "solarise": {"threshold": 128},
        "vertical_flip": {},
    }
)
