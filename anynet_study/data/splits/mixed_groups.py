"""Holding out whole groups that have images of several classes, as photos or patients do."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anynet_study.errors import UserError

Counts = NDArray[np.int64]


def hold_out_mixed(
    counts: Counts, classes: Sequence[str], share: float, order: Sequence[int]
) -> list[int]:
    """Which groups to hold out, so that about `share` of every class is: positions, ascending.

    `counts` (groups, classes) are images; `order` is the order in which groups are looked at.
    Iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011): the class with the fewest
    images left to place is placed first, each group where most of that class are still wanted.
    UserError for a class that all groups but one lack.
    """
    for label, name in enumerate(classes):
        if (counts[:, label] > 0).sum() < 2:
            raise UserError(
                f"class {name!r} is in one group of images only, so it cannot be on both sides of "
                "a split; leave it out, or make the split yourself as folders"
            )
    held = _placed(counts, share, order)
    for label, name in enumerate(classes):
        for side in (True, False):
            if not counts[held == side, label].any():
                _move_one(counts, held, label, side, name)
    return np.flatnonzero(held).tolist()


def _placed(counts: Counts, share: float, order: Sequence[int]) -> NDArray[np.bool_]:
    """Whether each group is held out."""
    total = counts.sum(axis=0)
    #: Images still wanted of each class, in train and in test.
    wanted = np.stack([(1 - share) * total, share * total])
    held = np.zeros(len(counts), bool)
    open_groups = list(order)
    while open_groups:
        left = counts[open_groups].sum(axis=0)
        label = min(np.flatnonzero(left), key=lambda place: (left[place], place))
        having = [group for group in open_groups if counts[group, label]]
        for group in having:
            train, test = ((wanted[side, label], wanted[side].sum()) for side in (0, 1))
            side = int(test > train)
            held[group] = bool(side)
            wanted[side] -= counts[group]
        open_groups = [group for group in open_groups if not counts[group, label]]
    return held


def _move_one(counts: Counts, held: NDArray[np.bool_], label: int, side: bool, name: str) -> None:
    """Move the smallest group of a class to the side that has none, if no class is lost by that."""
    sizes = counts.sum(axis=1)
    for group in sorted(np.flatnonzero(counts[:, label]), key=lambda g: (sizes[g], g)):
        rest = (held != side) & (np.arange(len(counts)) != group)
        if (counts[rest].sum(axis=0) > 0)[counts[group] > 0].all():
            held[group] = side
            return
    raise UserError(f"class {name!r} is in too few groups of images to be on both sides of a split")
