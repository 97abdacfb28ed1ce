"""Many networks as arrays: the skeleton that they share, and what differs stage by stage."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from anynet_study.core.errors import UserError
from anynet_study.design_space.validation import fraction, one_of, whole_number, whole_numbers

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
#: Whole numbers: int64, or float64, which is faster and exact below 2^53.
Counts = npt.NDArray[Any]

MAX_STAGES = 8
#: Limits under which no complexity of any network leaves 64 bits: eight stages of 128 basic blocks
#: of width 8192 at 2048 x 2048 pixels, never downsampled, need 2^62.2 multiply-adds.
MAX_DEPTH = 128
MAX_WIDTH = 8192
MAX_RESOLUTION = 2048
MAX_CLASSES = 10_000_000
#: What differs between networks of one skeleton, one value per stage.
STAGE_FIELDS = ("depths", "widths", "bottleneck_ratios", "group_widths")


class Stem(NamedTuple):
    """A convolution (then batch norm and ReLU), with or without a 3x3 max pool behind it."""

    kernel: int
    stride: int
    pool_stride: int | None


#: `imagenet`: 7x7 stride 2 and a 3x3 max pool of stride 2; `simple`: 3x3 stride 2; `cifar`: 3x3.
STEMS = {"imagenet": Stem(7, 2, 2), "simple": Stem(3, 2, None), "cifar": Stem(3, 1, None)}

#: `bottleneck`: x + (1x1, 3x3 in groups, 1x1); `basic`: x + (3x3, 3x3); `vanilla`: 3x3, 3x3.
BLOCKS = ("bottleneck", "basic", "vanilla")


@dataclass(frozen=True)
class Skeleton:
    """Everything about a network but its stages' depths, widths, ratios and group widths."""

    #: What comes before the stages.
    stem: str = "imagenet"
    #: The channels that the stem puts out.
    stem_width: int = 32
    #: Stride of each stage's first block; as many as there are stages.
    strides: tuple[int, ...] = (1, 2, 2, 2)
    #: What stages are made of: bottleneck, basic or vanilla blocks.
    block: str = "bottleneck"
    #: Squeeze-and-excitation: channels of its inside over channels of the block's input; 0: none.
    se_ratio: float = 0.0

    @property
    def stages(self) -> int:
        """The number of stages."""
        return len(self.strides)

    @classmethod
    def checked(cls, owner: str, values: dict[str, Any]) -> "Skeleton":
        """Build from unchecked values. Raises UserError, whose message begins with `owner`."""
        given = {name: field.default for name, field in cls.__dataclass_fields__.items()}
        given.update(values)
        skeleton = cls(
            one_of(given["stem"], f"{owner}: stem", STEMS),
            whole_number(given["stem_width"], f"{owner}: stem_width", 1, MAX_WIDTH),
            whole_numbers(given["strides"], f"{owner}: strides", None, MAX_RESOLUTION),
            one_of(given["block"], f"{owner}: block", BLOCKS),
            fraction(given["se_ratio"], f"{owner}: se_ratio"),
        )
        if skeleton.stages > MAX_STAGES:
            raise UserError(
                f"{owner}: strides: {skeleton.stages} stages (one per stride) are more than "
                f"{MAX_STAGES}"
            )
        if skeleton.se_ratio and skeleton.block != "bottleneck":
            raise UserError(
                f"{owner}: se_ratio: squeeze-and-excitation is for bottleneck blocks, "
                f"not for {skeleton.block} ones"
            )
        return skeleton


@dataclass(frozen=True)
class Networks:
    """n networks of S stages that share a skeleton; the arrays have shape (S, n)."""

    depths: Counts
    widths: Counts
    #: Channels inside the bottleneck; the widths, where there is none.
    bottleneck_widths: Counts
    #: Channels in each group of the 3x3 convolution; they divide the bottleneck widths.
    group_widths: Counts
    skeleton: Skeleton

    def __len__(self) -> int:
        return int(self.depths.shape[1])

    @property
    def bottleneck_ratios(self) -> Counts:
        """Widths over bottleneck widths, which divide them."""
        return self.widths // self.bottleneck_widths

    def rows(self) -> IntArray:
        """One row per network, shape (n, 4 S): its depths, widths, ratios, group widths."""
        parts = [getattr(self, field) for field in STAGE_FIELDS]
        return np.ascontiguousarray(np.vstack(parts).T, dtype=np.int64)

    def select(self, which: npt.NDArray[Any]) -> "Networks":
        """Return the networks at the given positions, as int64."""
        parts = (self.depths, self.widths, self.bottleneck_widths, self.group_widths)
        d, w, v, g = (part[:, which].astype(np.int64) for part in parts)
        return Networks(d, w, v, g, self.skeleton)


def networks_of(rows: Any, skeleton: Skeleton) -> Networks:
    """Return the networks of `Networks.rows`, or of nested lists (n, 4, S)."""
    stages = np.array(rows, dtype=np.int64).reshape(-1, 4, skeleton.stages)
    d, w, b, g = np.ascontiguousarray(stages.transpose(1, 2, 0))
    return Networks(d, w, w // b, g, skeleton)


def compatible(
    depths: FloatArray,
    widths: FloatArray,
    ratios: FloatArray,
    group_widths: FloatArray,
    skeleton: Skeleton,
) -> Networks:
    """Make widths and group widths compatible, as the network that gets built has them.

    All have shape (S, n), float64. A group is never wider than the bottleneck: g becomes min(g, v)
    for v = w / b, rounded down. Then v becomes the nearest multiple of g (a tie goes to the even
    multiple; at least g, since v is at least g), and w = v b. The ratio stays what was drawn; w
    moves by at most g b / 2. (The published networks of Radosavovic et al. 2020 follow this rule.)
    """
    v = np.floor(widths / ratios)
    g = np.minimum(group_widths, v)
    v /= g
    np.rint(v, out=v)  # exact: no quotient of such small numbers is rounded to or from a tie
    v *= g
    return Networks(depths, v * ratios, v, g, skeleton)
