"""Splits of our own making: stratified by class, whole groups, a function of a seed."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from anynet_study.data.readers.listing import Example
from anynet_study.data.splits.mixed_groups import hold_out_mixed
from anynet_study.data.splits.ordering import seeded_order
from anynet_study.errors import UserError


def hold_out(
    examples: Sequence[Example], classes: Sequence[str], share: float, seed: int
) -> tuple[list[Example], list[Example]]:
    """Split sorted `examples` into train and test, about `share` of every class in test.

    Groups are kept whole; see `hold_out_mixed` for those of several classes. In every class at
    least one group falls on either side.
    """
    groups: dict[object, list[int]] = defaultdict(list)
    for position, example in enumerate(examples):
        groups[example.group or position].append(position)
    if any(len({examples[place].label for place in group}) > 1 for group in groups.values()):
        held_out = _mixed(examples, classes, list(groups.values()), share, seed)
    else:
        held_out = _pure(examples, classes, list(groups.values()), share, seed)
    train = [example for place, example in enumerate(examples) if place not in held_out]
    test = [example for place, example in enumerate(examples) if place in held_out]
    return train, test


def _mixed(
    examples: Sequence[Example],
    classes: Sequence[str],
    groups: list[list[int]],
    share: float,
    seed: int,
) -> set[int]:
    counts = np.zeros((len(groups), len(classes)), np.int64)
    for row, group in enumerate(groups):
        for place in group:
            counts[row, examples[place].label] += 1
    order = seeded_order(len(groups), "holdout of groups", seed).tolist()
    chosen = hold_out_mixed(counts, classes, share, order)
    return {place for row in chosen for place in groups[row]}


def _pure(
    examples: Sequence[Example],
    classes: Sequence[str],
    groups: list[list[int]],
    share: float,
    seed: int,
) -> set[int]:
    """Of groups of one class each."""
    by_class: dict[int, list[list[int]]] = defaultdict(list)
    for group in groups:
        by_class[examples[group[0]].label].append(group)
    held_out: set[int] = set()
    further = {label for example in examples for label in example.also}
    for label, name in enumerate(classes):
        members = by_class[label]
        if not members and label in further:
            continue  # its images are stratified by a rarer class that they have too
        if len(members) < 2:
            raise UserError(f"class {name!r} has too few images to hold out a test split: 2 needed")
        order = [members[place] for place in seeded_order(len(members), "holdout", seed, name)]
        held_out.update(position for group in _share_of(order, share) for position in group)
    return held_out


def _share_of(groups: list[list[int]], share: float) -> list[list[int]]:
    """Groups in order, each taken if that brings the number of images nearer to the share."""
    target = share * sum(map(len, groups))
    taken: list[list[int]] = []
    count = 0
    for group in groups:
        if len(group) <= 2 * (target - count):
            taken.append(group)
            count += len(group)
    if not taken:
        return [min(groups, key=len)]
    return taken if len(taken) < len(groups) else taken[:-1]


def limit(
    examples: Sequence[Example],
    classes: Sequence[str],
    per_class: int | None,
    fraction: float | None,
    seed: int,
) -> list[Example]:
    """Keep at most `per_class` and a `fraction` (at least one) of every class, in order."""
    by_class: dict[int, list[int]] = defaultdict(list)
    for position, example in enumerate(examples):
        by_class[example.label].append(position)
    kept: set[int] = set()
    for label, positions in by_class.items():
        count = len(positions) if per_class is None else min(per_class, len(positions))
        if fraction is not None:
            count = max(1, round(count * fraction))
        order = seeded_order(len(positions), "limit", seed, classes[label])
        kept.update(positions[place] for place in order[:count])
    return [example for place, example in enumerate(examples) if place in kept]
