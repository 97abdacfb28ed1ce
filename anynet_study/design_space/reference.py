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

from anynet_study.design_space.architecture import Architecture
from anynet_study.design_space.networks import Skeleton, compatible
from anynet_study.design_space.regnet import linear_stages
from anynet_study.design_space.validation import one_of

#: Image side and number of classes of ImageNet, and of CIFAR-10.
IMAGENET = (224, 1000)
CIFAR = (32, 10)

#: Blocks in all, w0, wa, wm and group width of RegNetX and RegNetY by their FLOPs (Radosavovic et
#: al. 2020, "Designing network design spaces", with the decimals of pycls's configurations).
#: Bottleneck ratio 1, simple stem of width 32, stride 2 in every stage; SE ratio 1/4 in RegNetY.
REGNETX = {
    "200mf": (13, 24, 36.44, 2.49, 8),
    "400mf": (22, 24, 24.48, 2.54, 16),
    "600mf": (16, 48, 36.97, 2.24, 24),
    "800mf": (16, 56, 35.73, 2.28, 16),
    "1.6gf": (18, 80, 34.01, 2.25, 24),
    "3.2gf": (25, 88, 26.31, 2.25, 48),
    "4.0gf": (23, 96, 38.65, 2.43, 40),
    "6.4gf": (17, 184, 60.83, 2.07, 56),
    "8.0gf": (23, 80, 49.56, 2.88, 120),
    "12gf": (19, 168, 73.36, 2.37, 112),
    "16gf": (22, 216, 55.59, 2.1, 128),
    "32gf": (23, 320, 69.86, 2.0, 168),
}
REGNETY = {
    "200mf": (13, 24, 36.44, 2.49, 8),
    "400mf": (16, 48, 27.89, 2.09, 8),
    "600mf": (15, 48, 32.54, 2.32, 16),
    "800mf": (14, 56, 38.84, 2.4, 16),
    "1.6gf": (27, 48, 20.71, 2.65, 24),
    "3.2gf": (21, 80, 42.63, 2.66, 24),
    "4.0gf": (22, 96, 31.41, 2.24, 64),
    "6.4gf": (25, 112, 33.22, 2.27, 72),
    "8.0gf": (17, 192, 76.82, 2.19, 56),
    "12gf": (19, 168, 73.36, 2.37, 112),
    "16gf": (18, 200, 106.23, 2.48, 112),
    "32gf": (20, 232, 115.89, 2.53, 232),
}
#: Blocks of each stage by the number of layers (He et al. 2016, "Deep residual learning for image
#: recognition", Table 1).
TWO_LAYER_DEPTHS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}
THREE_LAYER_DEPTHS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}

#: Layers, groups of the 3x3 and bottleneck width of the first stage. ResNeXt: Xie et al. 2017,
#: "Aggregated residual transformations"; wide: Zagoruyko and Komodakis 2016, "Wide residual
#: networks".
BOTTLENECK_RESNETS = {
    "resnet50": (50, 1, 64),
    "resnet101": (101, 1, 64),
    "resnet152": (152, 1, 64),
    "resnext50_32x4d": (50, 32, 128),
    "resnext101_32x4d": (101, 32, 128),
    "resnext152_32x4d": (152, 32, 128),
    "resnext101_32x8d": (101, 32, 256),
    "resnext101_64x4d": (101, 64, 256),
    "wide_resnet50_2": (50, 1, 128),
    "wide_resnet101_2": (101, 1, 128),
}

#: Blocks of each of the three stages for images of 32 pixels, by the number of layers, 6 n + 2
#: (He et al. 2016, section 4.2).
CIFAR_DEPTHS = {20: 3, 32: 5, 44: 7, 56: 9, 110: 18}


def reference(name: str) -> Architecture:
    """Return a published network; `REFERENCE_NAMES` lists them.

    Case, dashes and underscores do not matter; `1_6gf` is `1.6gf`, and timm's `regnetx_016` is
    `regnetx_1.6gf`. Raises UserError with the nearest and all legal names.

    >>> reference("ResNet-50").flops(resolution=224, classes=1000)
    4089184256
    """
    return _BUILDERS[canonical(name)]()


def canonical(name: str) -> str:
    """Return the name as in `REFERENCE_NAMES`. Raises UserError where there is no such network."""
    known = _NAMES_BY_KEY.get(_key(name))
    return known or one_of(name, "reference network", REFERENCE_NAMES)


def is_reference(name: str) -> bool:
    """Tell whether `reference` knows the name."""
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
    skeleton = Skeleton("simple", 32, strides, "bottleneck", se_ratio)
    networks = compatible(d, w, ones, ones * group_width, skeleton)
    rows = networks.rows().reshape(4, len(strides)).tolist()
    depths, widths, ratios, group_widths = map(tuple, rows)
    return Architecture(
        depths, widths, ratios, group_widths, strides, "simple", 32, se_ratio=se_ratio
    )


def _bottleneck_resnet(layers: int, groups: int, bottleneck_width: int) -> Architecture:
    bottlenecks = [bottleneck_width * 2**stage for stage in range(4)]
    return Architecture(
        THREE_LAYER_DEPTHS[layers],
        (256, 512, 1024, 2048),
        (256 // bottleneck_width,) * 4,
        tuple(width // groups for width in bottlenecks),
        stem_width=64,
    )


def _imagenet(block: str, layers: int) -> Architecture:
    depths = TWO_LAYER_DEPTHS[layers]
    return Architecture(depths, (64, 128, 256, 512), stem_width=64, block=block)


def _cifar(block: str, layers: int) -> Architecture:
    depths = (CIFAR_DEPTHS[layers],) * 3
    return Architecture(
        depths, (16, 32, 64), strides=(1, 2, 2), stem="cifar", stem_width=16, block=block
    )


def _key(name: str) -> str:
    """Return what all spellings of a name have in common."""
    key = re.sub(r"(?<=\d)[-_. ](?=\d)", ".", str(name).strip().lower())
    key = re.sub(r"[-_ ]", "", key)
    if timm := re.fullmatch(r"(regnet[xy])(\d{3})", key):  # FLOPs in units of 10^8
        flops = int(timm[2])
        key = timm[1] + (f"{flops}00mf" if flops < 10 else f"{flops / 10:g}gf")
    return key.replace(".0gf", "gf")


_BUILDERS: dict[str, Callable[[], Architecture]] = {
    **{f"regnetx_{flops}": partial(_regnet, *row, 0.0) for flops, row in REGNETX.items()},
    **{f"regnety_{flops}": partial(_regnet, *row, 0.25) for flops, row in REGNETY.items()},
    **{f"resnet{n}": partial(_imagenet, "basic", n) for n in TWO_LAYER_DEPTHS},
    **{name: partial(_bottleneck_resnet, *row) for name, row in BOTTLENECK_RESNETS.items()},
    **{f"plain{n}": partial(_imagenet, "vanilla", n) for n in TWO_LAYER_DEPTHS},
    **{f"resnet{n}": partial(_cifar, "basic", n) for n in CIFAR_DEPTHS},
    **{f"plain{n}": partial(_cifar, "vanilla", n) for n in CIFAR_DEPTHS},
}
#: The names of all reference networks.
REFERENCE_NAMES = tuple(_BUILDERS)
_NAMES_BY_KEY = {_key(name): name for name in REFERENCE_NAMES}
