"""Training and test splits: drawn by class and group, or taken from a manifest."""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import UserError, printable
from anynet_study.data.packed.manifest import BETWEEN, Row, read_manifest
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.seeded import seeded_order

Counts = NDArray[np.int64]
Item = TypeVar("Item")


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
    mixed = any(len({examples[place].label for place in group}) > 1 for group in groups.values())
    if mixed or _have_rare(examples):
        held_out = _mixed(examples, classes, list(groups.values()), share, seed)
    else:
        held_out = _pure(examples, classes, list(groups.values()), share, seed)
    train = [example for place, example in enumerate(examples) if place not in held_out]
    test = [example for place, example in enumerate(examples) if place in held_out]
    return train, test


def _have_rare(examples: Sequence[Example]) -> bool:
    """Tell whether some class is the rarest one of a single image, and a further class of others.

    Then the side of that image would decide the side of the class, so all classes have to be placed
    at once.
    """
    first = Counter(example.label for example in examples)
    further = {label for example in examples for label in example.also}
    return any(first[label] == 1 for label in further)


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
            counts[row, [examples[place].label, *examples[place].also]] += 1
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
    """Hold out groups that have one class each."""
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
    """Take each group, in order, if that brings the number of images nearer to the share."""
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


def hold_out_mixed(
    counts: Counts, classes: Sequence[str], share: float, order: Sequence[int]
) -> list[int]:
    """Positions of the groups to hold out, ascending: about `share` of the images of every class.

    `counts` (groups, classes) are images; `order` is the order in which groups are looked at.
    Iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011): the class with the fewest
    images left to place is placed first, each group where most of that class are still wanted.
    UserError for a class that only one group has, and where no choice of groups leaves every class
    on both sides.
    """
    for label, name in enumerate(classes):
        if (counts[:, label] > 0).sum() < 2:
            raise UserError(
                f"class {name!r} is in one group of images only, so it cannot be on both sides of "
                "a split; leave it out, or make the split yourself as folders"
            )
    held = _placed(counts, share, order)
    for label in range(len(classes)):
        for side in (True, False):
            if not counts[held == side, label].any() and not _move_one(counts, held, label, side):
                return np.flatnonzero(_nearest_legal(counts, held)).tolist()
    return np.flatnonzero(held).tolist()


def _placed(counts: Counts, share: float, order: Sequence[int]) -> NDArray[np.bool_]:
    """Tell whether each group is held out."""
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


def _move_one(counts: Counts, held: NDArray[np.bool_], label: int, side: bool) -> bool:
    """Move the smallest group of a class to the side that has none, if no class is lost by that."""
    sizes = counts.sum(axis=1)
    for group in sorted(np.flatnonzero(counts[:, label]), key=lambda g: (sizes[g], g)):
        rest = (held != side) & (np.arange(len(counts)) != group)
        if (counts[rest].sum(axis=0) > 0)[counts[group] > 0].all():
            held[group] = side
            return True
    return False


def _nearest_legal(counts: Counts, held: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Move as few groups as it takes for every class to be on both sides; UserError for none."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # seldom needed, and slow

    has = (counts > 0).T.astype(float)
    both = LinearConstraint(has, 1, has.sum(axis=1) - 1)
    moved = np.where(held, -1, 1)  # to hold out a group, or no longer
    found = milp(moved, constraints=both, integrality=np.ones(len(held)), bounds=Bounds(0, 1))
    if found.x is None:
        raise UserError(
            "groups: no choice of them leaves images of every class on both sides of a split; "
            "make the split yourself as folders, or leave out classes that few groups have"
        )
    return np.asarray(found.x > 0.5)


def split_as(listing: Listing, path: Path) -> Listing:
    """`listing` with the splits of the manifest at `path`, its order and its groups.

    Images are found by their paths or, as downloads of a dataset differ in their folders, by
    class and file name where there is one such. Those that the manifest does not list are left
    out, and counted as ignored; and so are classes without images then.
    UserError, naming the first image, where one is missing or has another class. What the images
    hold is checked when they are decoded (`check_contents`).
    """
    rows = read_manifest(path)
    examples = _found(rows, listing)
    missing = [row.image for row in rows if row.image not in examples]
    if missing:
        raise UserError(
            f"{path}: {len(missing)} of its {len(rows)} images are not in the source, the first "
            f"is {printable(missing[0])}"
        )
    classes = listing.classes
    if not listing.multi_label:
        listed = {row.label for row in rows}
        classes = tuple(name for name in classes if name in listed)
    number = {name: label for label, name in enumerate(classes)}
    splits: dict[str, list[Example]] = {"train": [], "test": []}
    for row in rows:
        _check_class(path, row, examples[row.image], listing)
        splits[row.split].append(_as_in(row, examples[row.image], listing, number))
    left_out = len(listing.train) + len(listing.test or []) - len(rows)
    elsewhere = sum(example.name != image for image, example in examples.items())
    note = f"{elsewhere} images of {path.name} are in other folders here"
    return dataclasses.replace(
        listing,
        classes=classes,
        train=splits["train"],
        test=splits["test"],
        ignored=listing.ignored + left_out,
        notes=(*listing.notes, *([note] if elsewhere else [])),
    )


def _found(rows: Sequence[Row], listing: Listing) -> dict[str, Example]:
    """The example of each image of a manifest, as far as there is one."""
    examples = {example.name: example for example in (*listing.train, *(listing.test or []))}
    found = {row.image: examples[row.image] for row in rows if row.image in examples}
    lost = _once((row.label, row.image, row) for row in rows if row.image not in found)
    others = (example for name, example in examples.items() if name not in found)
    here = _once((BETWEEN.join(listing.class_names(e)), e.name, e) for e in others)
    found |= {row.image: here[key] for key, row in lost.items() if key in here}
    return found


def _once(items: Iterable[tuple[str, str, Item]]) -> dict[tuple[str, str], Item]:
    """By class and file name the items of (class, path, item) that no other shares these with."""
    by_key: dict[tuple[str, str], list[Item]] = {}
    for label, path, item in items:
        by_key.setdefault((label, path.rpartition("/")[2]), []).append(item)
    return {key: same[0] for key, same in by_key.items() if len(same) == 1}


def _check_class(path: Path, row: Row, example: Example, listing: Listing) -> None:
    found = BETWEEN.join(listing.class_names(example))
    if found != row.label:
        raise UserError(
            f"{path}: {printable(row.image)} is of class {row.label!r}, in the source of {found!r}"
        )


def _as_in(row: Row, example: Example, listing: Listing, number: dict[str, int]) -> Example:
    label, *also = (number[name] for name in listing.class_names(example))
    return dataclasses.replace(
        example, label=label, also=tuple(also), group=row.group, content=row.content
    )
