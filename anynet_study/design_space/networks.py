"""Many networks of one stem as arrays: what candidates are and what complexity is computed of."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

STAGES = 4
#: Limits under which no complexity of any network leaves 64 bits: four stages of 128 blocks of
#: width 8192 at 4096 x 4096 pixels, never downsampled, need 2^62.5 multiply-adds.
MAX_DEPTH = 128
MAX_WIDTH = 8192
MAX_RESOLUTION = 4096
MAX_CLASSES = 10_000_000


class Stem(NamedTuple):
    """A convolution (then batch norm and ReLU), with or without a 3x3 max pool behind it."""

    kernel: int
    stride: int
    pool_stride: int | None


#: `imagenet`: 7x7 stride 2 and a 3x3 max pool of stride 2. `cifar`: 3x3 stride 1.
STEMS = {"imagenet": Stem(7, 2, 2), "cifar": Stem(3, 1, None)}


@dataclass(frozen=True)
class Networks:
    """n networks that differ in their stages only; the arrays have shape (n, 4), int64."""

    depths: IntArray
    widths: IntArray
    bottleneck_ratios: IntArray
    #: Channels in each group of the 3x3 convolution.
    group_widths: IntArray
    stem: str
    stem_width: int
    strides: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.depths)

    @property
    def bottleneck_widths(self) -> IntArray:
        """Channels inside the bottleneck, v = w / b."""
        return self.widths // self.bottleneck_ratios

    def rows(self) -> IntArray:
        """One row a network, shape (n, 16): its depths, widths, ratios, group widths."""
        return np.hstack([self.depths, self.widths, self.bottleneck_ratios, self.group_widths])

    def with_rows(self, rows: IntArray) -> "Networks":
        """Return networks of the same stem and strides with other stages (see `rows`)."""
        d, w, b, g = np.split(rows, 4, axis=1)
        return replace(self, depths=d, widths=w, bottleneck_ratios=b, group_widths=g)

    def realised(self) -> "Networks":
        """Make widths and group widths compatible, as the network that gets built has them.

        A group is never wider than the bottleneck: g becomes min(g, v) for v = w / b. Then v
        becomes the nearest multiple of g (a tie goes to the even multiple; at least g, since v
        is at least g), and w = v b. The ratio stays what was drawn; w moves by at most g b / 2.
        """
        v = self.bottleneck_widths
        g = np.minimum(self.group_widths, v)
        groups = np.rint(v / g).astype(np.int64)
        return replace(self, widths=groups * g * self.bottleneck_ratios, group_widths=g)


def one_network(stages: Any, stem: str, stem_width: int, strides: tuple[int, ...]) -> Networks:
    """Return a batch of one network; `stages`: depths, widths, ratios and group widths."""
    d, w, b, g = np.array(stages, dtype=np.int64).reshape(4, 1, STAGES)
    return Networks(d, w, b, g, stem, stem_width, strides)
