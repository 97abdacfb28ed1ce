"""Many networks of one frame as arrays: what candidates are and what complexity is computed of."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from anynet_study.design_space.frame import Frame

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
#: Whole numbers: int64, or float64 where speed matters more than counts above 2^53.
Counts = IntArray | FloatArray


@dataclass(frozen=True)
class Networks:
    """n networks of S stages that share a frame; the arrays have shape (S, n)."""

    depths: Counts
    widths: Counts
    bottleneck_ratios: Counts
    #: Channels in each group of the 3x3 convolution.
    group_widths: Counts
    frame: Frame

    def __len__(self) -> int:
        return int(self.depths.shape[1])

    @property
    def bottleneck_widths(self) -> Counts:
        """Channels inside the bottleneck, v = w / b; realised networks leave no remainder."""
        v: Counts = self.widths / self.bottleneck_ratios
        return v if self.widths.dtype == np.float64 else v.astype(np.int64)

    def rows(self) -> IntArray:
        """One row a network, shape (n, 4 S): its depths, widths, ratios, group widths."""
        parts = (self.depths, self.widths, self.bottleneck_ratios, self.group_widths)
        return np.ascontiguousarray(np.vstack(parts).T, dtype=np.int64)

    def with_rows(self, rows: IntArray) -> "Networks":
        """Return networks of the same frame with other stages (see `rows`)."""
        d, w, b, g = np.split(np.ascontiguousarray(rows.T), 4)
        return Networks(d, w, b, g, self.frame)

    def chosen(self, which: npt.NDArray[Any]) -> "Networks":
        """Return the networks at the given positions, exactly (int64)."""
        parts = (self.depths, self.widths, self.bottleneck_ratios, self.group_widths)
        return Networks(*(part[:, which].astype(np.int64) for part in parts), self.frame)

    def realised(self) -> "Networks":
        """Make widths and group widths compatible, as the network that gets built has them.

        A group is never wider than the bottleneck: g becomes min(g, v) for v = w / b, rounded
        down. Then v becomes the nearest multiple of g (a tie goes to the even multiple; at least
        g, since v is at least g), and w = v b. The ratio stays what was drawn; w moves by at most
        g b / 2. (The published networks of Radosavovic et al. 2020 follow the same rule.)
        """
        v = np.floor(self.widths / self.bottleneck_ratios)
        g = np.minimum(self.group_widths, v)
        v /= g
        np.rint(v, out=v)  # exact: no quotient of such small numbers is rounded to or from a tie
        v *= g
        kind = self.widths.dtype
        widths = (v * self.bottleneck_ratios).astype(kind, copy=False)
        return replace(self, widths=widths, group_widths=g.astype(kind, copy=False))


def one_network(stages: Any, frame: Frame) -> Networks:
    """Return a batch of one network; `stages`: depths, widths, ratios and group widths."""
    d, w, b, g = np.array(stages, dtype=np.int64).reshape(4, frame.stages, 1)
    return Networks(d, w, b, g, frame)
