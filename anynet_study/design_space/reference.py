"""Published networks by name, as architectures of these spaces.

All are built as pycls builds them, and have its FLOPs, parameters and activations. That decides
where publications differ:

- Widths of RegNets that groups do not divide go to the nearest multiple, a tie to the even one.
  torchvision's `regnet_x_400mf`, `regnet_y_800mf` and `regnet_y_8gf` round otherwise (their last
  width is 400, not 384, and 784, not 768; their first 224, not 168): they are other networks.
- The stride of a bottleneck is in its 3x3, as in torchvision (He et al. 2016 have it in the 1x1).
- Shortcuts that change the shape are 1x1 convolutions, also in the residual networks for CIFAR,
  where He et al. 2016 pad with zeros: those have fewer parameters.

`plain` networks are residual networks without shortcuts, made of vanilla blocks. VGG networks are
no members: they pool between stages and end in three linear layers.
"""

import re
from collections.abc import Callable
from functools import partial

import numpy as np

from anynet_study.design_space import reference_data as data
from anynet_study.design_space.architecture import Architecture
from anynet_study.design_space.frame import Frame
from anynet_study.design_space.networks import realised
from anynet_study.design_space.regnet import linear_stages
from anynet_study.design_space.validation import one_of

#: Image side and number of classes of ImageNet, and of CIFAR-10.
IMAGENET = (224, 1000)
CIFAR = (32, 10)


def reference(name: str) -> Architecture:
    """Return a published network; `NAMES` lists them.

    Case, dashes and underscores do not matter; `1_6gf` is `1.6gf`, and timm's `regnetx_016` is
    `regnetx_1.6gf`. Raises UserError with the nearest and all legal names.
    """
    return _BUILDERS[canonical(name)]()


def canonical(name: str) -> str:
    """Return the name as it is in `NAMES`. Raises UserError where there is no such network."""
    key = _key(name)
    return _NAMES_BY_KEY[key] if key in _NAMES_BY_KEY else one_of(name, "reference network", NAMES)


def is_reference(name: str) -> bool:
    """Whether `reference` knows the name."""
    return _key(name) in _NAMES_BY_KEY


def published_at(name: str) -> tuple[int, int]:
    """Return the image side and the number of classes that the network is published for."""
    return CIFAR if reference(name).stem == "cifar" else IMAGENET


def _regnet(
    depth: int, w0: int, wa: float, wm: float, group_width: int, se_ratio: float
) -> Architecture:
    strides = (2, 2, 2, 2)
    numbers = np.array([[depth], [w0], [wa], [wm]], dtype=np.float64)
    d, w, _ = linear_stages(numbers[0], numbers[1], numbers[2], numbers[3], len(strides))
    ones = np.ones_like(w)
    frame = Frame("simple", 32, strides, "bottleneck", se_ratio)
    networks = realised(d, w, ones, ones * group_width, frame)
    rows = networks.rows().reshape(4, len(strides)).tolist()
    depths, widths, ratios, group_widths = map(tuple, rows)
    return Architecture(
        depths, widths, ratios, group_widths, strides, "simple", 32, se_ratio=se_ratio
    )


def _bottleneck_resnet(layers: int, groups: int, bottleneck_width: int) -> Architecture:
    bottlenecks = [bottleneck_width * 2**stage for stage in range(4)]
    return Architecture(
        data.THREE_LAYER_DEPTHS[layers],
        (256, 512, 1024, 2048),
        (256 // bottleneck_width,) * 4,
        tuple(width // groups for width in bottlenecks),
        stem_width=64,
    )


def _imagenet(block: str, layers: int) -> Architecture:
    depths = data.TWO_LAYER_DEPTHS[layers]
    return Architecture(depths, (64, 128, 256, 512), stem_width=64, block=block)


def _cifar(block: str, layers: int) -> Architecture:
    depths = (data.CIFAR_DEPTHS[layers],) * 3
    return Architecture(
        depths, (16, 32, 64), strides=(1, 2, 2), stem="cifar", stem_width=16, block=block
    )


def _key(name: str) -> str:
    """Return what all spellings of a name have in common."""
    key = re.sub(r"(?<=\d)[-_. ](?=\d)", ".", str(name).strip().lower())
    key = re.sub(r"[-_ ]", "", key)
    timm = re.fullmatch(r"(regnet[xy])(\d{3})", key)
    if timm and timm[2] in data.TIMM_REGNETS:
        key = timm[1] + data.TIMM_REGNETS[timm[2]]
    return key.replace(".0gf", "gf")


_BUILDERS: dict[str, Callable[[], Architecture]] = {
    **{f"regnetx_{flops}": partial(_regnet, *row, 0.0) for flops, row in data.REGNETX.items()},
    **{f"regnety_{flops}": partial(_regnet, *row, 0.25) for flops, row in data.REGNETY.items()},
    **{f"resnet{n}": partial(_imagenet, "basic", n) for n in data.TWO_LAYER_DEPTHS},
    **{name: partial(_bottleneck_resnet, *row) for name, row in data.BOTTLENECK_RESNETS.items()},
    **{f"plain{n}": partial(_imagenet, "vanilla", n) for n in data.TWO_LAYER_DEPTHS},
    **{f"resnet{n}": partial(_cifar, "basic", n) for n in data.CIFAR_DEPTHS},
    **{f"plain{n}": partial(_cifar, "vanilla", n) for n in data.CIFAR_DEPTHS},
}
#: The names of all reference networks.
NAMES = tuple(_BUILDERS)
_NAMES_BY_KEY = {_key(name): name for name in NAMES}
