"""What the networks of a space share: stem, strides, kind of block; and the limits of it all."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from anynet_study.design_space.validation import fraction, one_of, whole_number, whole_numbers
from anynet_study.errors import UserError

MAX_STAGES = 8
#: Limits under which no complexity of any network leaves 64 bits: eight stages of 128 basic blocks
#: of width 8192 at 2048 x 2048 pixels, never downsampled, need 2^62.2 multiply-adds.
MAX_DEPTH = 128
MAX_WIDTH = 8192
MAX_RESOLUTION = 2048
MAX_CLASSES = 10_000_000


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
class Frame:
    """Everything about a network but its stages' depths, widths, ratios and group widths.

    Raises UserError for values that make no network; `owner` begins its messages.
    """

    #: One of STEMS, and the channels that it puts out.
    stem: str = "imagenet"
    stem_width: int = 32
    #: Stride of each stage's first block; as many as there are stages.
    strides: tuple[int, ...] = (1, 2, 2, 2)
    #: One of BLOCKS.
    block: str = "bottleneck"
    #: Squeeze-and-excitation: channels of its inside over channels of the block's input; 0: none.
    se_ratio: float = 0.0

    @property
    def stages(self) -> int:
        """The number of stages."""
        return len(self.strides)

    @classmethod
    def checked(cls, owner: str, values: dict[str, Any]) -> "Frame":
        """Build from unchecked values; UserErrors begin with `owner`."""
        given = {name: field.default for name, field in cls.__dataclass_fields__.items()}
        given.update(values)
        frame = cls(
            one_of(given["stem"], f"{owner}: stem", STEMS),
            whole_number(given["stem_width"], f"{owner}: stem_width", 1, MAX_WIDTH),
            whole_numbers(given["strides"], f"{owner}: strides", None, MAX_RESOLUTION),
            one_of(given["block"], f"{owner}: block", BLOCKS),
            fraction(given["se_ratio"], f"{owner}: se_ratio"),
        )
        if frame.stages > MAX_STAGES:
            raise UserError(
                f"{owner}: strides: {frame.stages} stages (one a stride) are more than {MAX_STAGES}"
            )
        if frame.se_ratio and frame.block != "bottleneck":
            raise UserError(
                f"{owner}: se_ratio: squeeze-and-excitation is for bottleneck blocks, "
                f"not for {frame.block} ones"
            )
        return frame
