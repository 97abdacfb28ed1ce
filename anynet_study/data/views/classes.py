"""Which classes a variant has, and which of a packed dataset's classes are in each."""

import difflib
from collections.abc import Mapping, Sequence

from anynet_study.data.packed.dataset import PackedDataset
from anynet_study.data.splits.ordering import seeded_order
from anynet_study.data.views.variants import Variant
from anynet_study.errors import UserError

#: By the name of each class of a view, in its order: the classes of the dataset that are in it.
Members = dict[str, tuple[str, ...]]


def view_classes(dataset: PackedDataset, variant: Variant) -> Members:
    """The classes of `variant`: groups first, then the choice among them.

    In the order of the dataset, a group's being that of its first class, whatever the order they
    are listed in. UserError for classes that do not exist, and for more than there are.
    """
    groups = _groups(dataset, variant)
    return {name: groups[name] for name in _chosen(list(groups), dataset.name, variant)}


def _groups(dataset: PackedDataset, variant: Variant) -> Members:
    if variant.groups is None:
        return {name: (name,) for name in dataset.classes}
    wanted: Mapping[str, tuple[str, ...]]
    if variant.groups == "superclasses":
        if not dataset.meta.superclasses:
            raise UserError(
                f"groups: {dataset.name!r} has no superclasses of its own; list the classes of "
                "each group: {animal: [cat, dog], vehicle: [car, truck]}"
            )
        wanted = dataset.meta.superclasses
    else:
        wanted = variant.groups
    place = {name: number for number, name in enumerate(dataset.classes)}
    groups = {}
    for group, members in wanted.items():
        for name in members:
            if name not in place:
                raise _no_such_class("groups", name, dataset.classes, dataset.name)
        groups[group] = tuple(sorted(members, key=place.__getitem__))
    return dict(sorted(groups.items(), key=lambda group: place[group[1][0]]))


def _chosen(names: Sequence[str], dataset: str, variant: Variant) -> list[str]:
    wanted = variant.classes
    if wanted is None:
        return list(names)
    if isinstance(wanted, int):
        if wanted > len(names):
            raise UserError(f"classes: {wanted}, but {dataset!r} has {len(names)}")
        order = seeded_order(len(names), "classes", variant.class_seed)
        return [names[number] for number in sorted(order[:wanted].tolist())]
    for name in wanted:
        if name not in names:
            raise _no_such_class("classes", name, names, dataset)
    return [name for name in names if name in wanted]


def _no_such_class(key: str, name: str, names: Sequence[str], dataset: str) -> UserError:
    near = difflib.get_close_matches(name, names, n=1) or list(names[:1])
    return UserError(
        f"{key}: {dataset!r} has no class {name!r}, did you mean {near[0]!r}? "
        f"(all of them: anynet-study data info {dataset})"
    )
