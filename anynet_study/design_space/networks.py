"""Many networks of one frame as arrays: what candidates are and what complexity is computed of."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from anynet_study.design_space.frame import Frame

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
#: Whole numbers: int64, or float64, which is faster and exact below 2^53.
Counts = npt.NDArray[Any]


@dataclass(frozen=True)
class Networks:
    """n networks of S stages that share a frame; the arrays have shape (S, n)."""

    depths: Counts
    widths: Counts
    #: Channels inside the bottleneck; the widths, where there is none.
    bottleneck_widths: Counts
    #: Channels in each group of the 3x3 convolution; they divide the bottleneck widths.
    group_widths: Counts
    frame: Frame

    def __len__(self) -> int:
        return int(self.depths.shape[1])

    @property
    def bottleneck_ratios(self) -> Counts:
        """Widths over bottleneck widths, which divide them."""
        return self.widths // self.bottleneck_widths

    def rows(self) -> IntArray:
        """One row a network, shape (n, 4 S): its depths, widths, ratios, group widths."""
        parts = (self.depths, self.widths, self.bottleneck_ratios, self.group_widths)
        return np.ascontiguousarray(np.vstack(parts).T, dtype=np.int64)

    def chosen(self, which: npt.NDArray[Any]) -> "Networks":
        """Return the networks at the given positions, as int64."""
        parts = (self.depths, self.widths, self.bottleneck_widths, self.group_widths)
        d, w, v, g = (part[:, which].astype(np.int64) for part in parts)
        return Networks(d, w, v, g, self.frame)


def networks_of(rows: Any, frame: Frame) -> Networks:
    """Return the networks of `Networks.rows`, or of nested lists (n, 4, S)."""
    stages = np.array(rows, dtype=np.int64).reshape(-1, 4, frame.stages)
    d, w, b, g = np.ascontiguousarray(stages.transpose(1, 2, 0))
    return Networks(d, w, w // b, g, frame)


def realised(
    depths: FloatArray,
    widths: FloatArray,
    ratios: FloatArray,
    group_widths: FloatArray,
    frame: Frame,
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
    return Networks(depths, v * ratios, v, g, frame)
