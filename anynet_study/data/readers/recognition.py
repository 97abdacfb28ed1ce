"""Which layout a downloaded dataset has, and reading it.

Anybody's images are understood; the layout of a known dataset is asked for, by the name of the
dataset in the catalogue or by `--layout`, and never found because folders look like it.
"""

import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from shlex import quote

from anynet_study.core.errors import UserError, counted, some_of
from anynet_study.data.readers import (
    arrays,
    cifar,
    doubts,
    folders,
    generic,
    imagenet,
    imagenet_shifts,
    known_tables,
    mlc,
    names,
)
from anynet_study.data.readers.image_tables import find_tables
from anynet_study.data.readers.listing import Example, Listing, Reader
from anynet_study.data.source.archives import archive_stem
from anynet_study.data.source.source import OF_ALL_LAYOUTS, Source
from anynet_study.data.source.tree import IMAGE_SUFFIXES, Folder

#: Known layouts, by the datasets of the catalogue that come in them.
KNOWN: dict[Reader, tuple[str, ...]] = {
    cifar.BINARY: ("cifar10", "cifar100"),
    cifar.PYTHON: ("cifar10", "cifar100"),
    cifar.CIFAR10_1: ("cifar10.1",),
    imagenet.KAGGLE: ("imagenet",),
    imagenet.KIT: ("imagenet",),
    imagenet_shifts.IMAGENET_V2: ("imagenetv2",),
    imagenet_shifts.WNID_SHIFT: ("imagenetv2", "imagenet-sketch", "imagenet-a", "imagenet-r"),
    imagenet_shifts.OBJECTNET: ("objectnet",),
    **{reader: (reader.key,) for reader in known_tables.READERS},
    folders.POWERLINE: ("powerline",),
    mlc.MLC_POINTS: ("mlc2008",),
    mlc.MLC_PATCHES: ("mlc2008",),
    folders.EUROSAT: ("eurosat",),
}
#: Anybody's: the first that fits decides.
ANYBODYS: tuple[Reader, ...] = (arrays.ARRAYS, *generic.READERS)
READERS: tuple[Reader, ...] = (*KNOWN, *ANYBODYS)
#: What names of files have in common that differ in the random part of Roboflow's copies, in their
#: last number alone (frames of a video), or in a word at the end (copies that were turned).
OF_GROUPS = (
    r"([^/]+)\.rf\.",
    r"([^/]*\d[^/]*)[_. -][A-Za-z]*\d+\.\w+$",
    r"(.*?\d)(?:[_-]\d*[A-Za-z]\w*)?\.\w+$",
)


def read_source(source: Source, name: str = "") -> tuple[Source, Listing]:
    """Return what is in `source`, to be called `name`: as its choices say, or else as anybody's
    images.

    Archives in it are opened if it cannot be read without, or if one is called like a test split
    that is not there; the source returned is the one that the listing is of. UserError in one line,
    saying what was seen, if no reader recognises it.
    """
    source.prepare()
    try:
        listing = _read(source, name)
    except UserError as error:
        opened = source.with_archives_open()
        if opened is None:
            raise
        closed = error
    else:
        left = source.archives()
        parts = [path for path in left if names.part_of(archive_stem(path).rpartition("/")[2])]
        if listing.test is not None or not parts:
            return source, listing
        opened = source.with_archives_open()
        if opened is None:
            told = f"{', '.join(parts)}: not opened, though it is called like a split"
            return source, dataclasses.replace(listing, notes=(*listing.notes, told))
        return read_source(opened, name)
    try:
        return read_source(opened, name)
    except UnknownLayoutError as error:
        raise (error if opened.tree.holds_images() else closed) from None


class UnknownLayoutError(UserError):
    """No reader recognises the source."""


def _read(source: Source, name: str) -> Listing:
    readers = _asked(source.choices.layout, name)
    fitting, root = _recognise(source, readers)
    if not fitting:
        raise _unknown(source, root, readers)
    chosen = source.choices.chosen().keys() - {*OF_ALL_LAYOUTS}
    # A reader that knows all that was chosen: `--label-column` makes a table of it.
    reader = next((reader for reader in fitting if chosen <= set(reader.choices)), fitting[0])
    source.choices.require_known(reader.layout, reader.choices)
    listing = _grouped(reader.read(source, root), source.choices.group_pattern)
    if len(listing.classes) < 2 and listing.train:
        raise UserError(
            f"{source.where(root.path)}: one class alone, {', '.join(listing.classes)!r}, from "
            f"{listing.classes_from or listing.layout}; --layout, --table or --label-column choose "
            "where classes come from"
        )
    notes = (*listing.notes, *_divided(listing), *_unsaid_groups(listing), *_rare(listing))
    if reader in ANYBODYS:
        notes += tuple(_of_one_side(source, root, listing))
    return dataclasses.replace(listing, notes=notes)


def _of_one_side(source: Source, root: Folder, listing: Listing) -> list[str]:
    """A note on classes without test images. UserError for classes without training images."""
    if listing.test is None or not listing.train:
        return []
    trained, tested = (
        {label for example in side for label in (example.label, *example.also)}
        for side in (listing.train, listing.test)
    )
    if untrained := [listing.classes[label] for label in sorted(tested - trained)]:
        told = ", ".join(map(repr, some_of(untrained)))
        raise UserError(
            f"{source.where(root.path)}: class {told} is not in the training images, in the test "
            f"images alone (splits from {listing.splits_from or listing.layout}; --ignore NAME "
            "leaves files and folders out)"
        )
    untested = [listing.classes[label] for label in sorted(trained - tested)]
    return [f"no test image of {', '.join(some_of(untested))}"] if untested else []


def _rare(listing: Listing) -> list[str]:
    """A note where most classes have one image: they may be numbers, or names of images."""
    examples = [*listing.train, *(listing.test or [])]
    images = Counter(label for it in examples for label in (it.label, *it.also))
    rare = [listing.classes[label] for label, count in images.items() if count == 1]
    if 2 * len(rare) <= len(images) or len(images) < 5:
        return []
    told = ", ".join(some_of(rare, 3))
    return [f"{len(rare)} of {len(images)} classes have one image ({told}): are these classes?"]


def looks_like(source: Source) -> list[str]:
    """Known layouts that a source seems to have, and how to ask for them."""
    found, _ = _recognise(source, [*KNOWN])
    return [f"looks like {reader.layout}: --layout {reader.key}" for reader in found]


def _grouped(listing: Listing, pattern: str | None) -> Listing:
    """The images in groups by what a pattern finds in their paths, where one is given."""
    if pattern in (None, names.NONE):
        return listing

    def group(example: Example) -> Example:
        match = re.search(str(pattern), example.name)
        if match is None:
            raise UserError(f"--group-pattern {pattern!r}: nothing of it in {example.name}")
        return dataclasses.replace(example, group="/".join(match.groups("")) or match[0])

    try:
        train = [group(example) for example in listing.train]
        test = None if listing.test is None else [group(example) for example in listing.test]
    except re.error as error:
        raise UserError(f"--group-pattern {pattern!r}: {error}") from None
    told = f"the pattern {pattern}"
    return dataclasses.replace(listing, train=train, test=test, groups_from=told)


def _unsaid_groups(listing: Listing) -> list[str]:
    """A note where names of images alone tell that several are of one thing."""
    examples = [*listing.train, *(listing.test or [])]
    if any(example.group or example.pixels is not None for example in examples):
        return []
    for pattern in OF_GROUPS:
        found: dict[str, list[Example]] = defaultdict(list)
        for example in examples:
            if match := re.search(pattern, example.name):
                found[match[1]].append(example)
        several = {stem: group for stem, group in found.items() if len(group) > 1}
        images, classes = sum(map(len, several.values())), len(listing.classes)
        if len(several) <= max(1, classes) or 2 * images < len(examples):
            continue
        stem = f"{next(iter(several))}{'.rf.' if '.rf' in pattern else ''}*"
        sides = [{it.name for it in side} for side in (listing.train, listing.test or [])]
        parted = sum(
            all(any(it.name in side for it in group) for side in sides)
            for group in several.values()
        )
        across = f", {parted:,} of them across the splits" if parted else ""
        return [
            f"{stem}: {counted(len(several), 'group')} of images whose names differ in the last "
            f"number or letters alone{across}: frames, crops or copies? --group-pattern "
            f"{quote(pattern)} keeps each on one side of a split"
        ]
    return []


def _divided(listing: Listing) -> list[str]:
    """A note where an official split has images of one group on both sides."""
    sides = (listing.train, listing.test or [])
    of_train, of_test = ({it.group for it in side if it.group} for side in sides)
    if not of_train & of_test:
        return []
    return [
        f"{len(of_train & of_test):,} of {counted(len(of_train | of_test), 'group')} have both "
        "training and test images; --split-column none holds out whole groups instead"
    ]


def _asked(layout: str | None, name: str) -> tuple[Reader, ...]:
    """The readers that are asked for: by `--layout`, by the dataset's name, or anybody's."""
    if layout is None:
        return (*(reader for reader, known in KNOWN.items() if name in known), *ANYBODYS)
    chosen = [reader for reader in READERS if layout.lower() in (reader.key, reader.layout.lower())]
    if not chosen:
        legal = ", ".join(reader.key for reader in READERS)
        raise UserError(f"--layout {layout!r}: no such layout; legal: {legal}")
    return tuple(chosen)


def _recognise(source: Source, readers: Sequence[Reader]) -> tuple[list[Reader], Folder]:
    """The readers that recognise `source`, and the folder in it that they apply to.

    Folders that hold nothing but one folder are passed through. Known layouts go before anybody's,
    wherever they are.
    """
    for group in ([r for r in readers if r in KNOWN], [r for r in readers if r not in KNOWN]):
        root = source.tree
        while True:
            fitting = [reader for reader in group if reader.recognises(source, root)]
            if fitting:
                return fitting, root
            if len(root.folders) != 1 or root.first_image() is not None:
                break
            root = next(iter(root.folders.values()))
    return [], root


def _unknown(source: Source, root: Folder, readers: Sequence[Reader]) -> UnknownLayoutError:
    """Why nothing can be read: what was seen, which files are not read, and what may be tried."""
    where, likely = source.where(root.path), looks_like(source)
    hints = _unread(source) + likely
    if source.tree.holds_images():
        hints.append(_tables_told(source))
        hints += [*doubts.deeper(root), *doubts.classes_in_names(root)]
    elif not hints:
        hints.append(f"no file below it is called like an image ({', '.join(IMAGE_SUFFIXES)})")
    if inner := _recognised_folders(source, root):
        hints.append(f"give a folder in it: {', '.join(inner)}")
    told = "".join(f"; {hint}" for hint in dict.fromkeys(hints) if hint)
    what = f"not of layout {readers[0].layout!r}" if len(readers) == 1 else "layout not recognised"
    legal = ", ".join(reader.layout for reader in ANYBODYS)
    known = f"; read are {legal}, and --layout NAME of a known dataset" if len(readers) > 1 else ""
    return UnknownLayoutError(f"{where}: {what}: {_seen(root)}{told}{known}")


def _unread(source: Source) -> list[str]:
    """The first file of each kind that may hold what is missing and is not read, and why."""
    found: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for path, _, name in source.tree.below():
        if (reason := names.not_read(name)) is not None:
            counts[reason] += 1
            found.setdefault(reason, path)
    return [
        source.where(path)
        + (f" and {counts[why] - 1} more" if counts[why] > 1 else "")
        + f": {why}"
        for why, path in list(found.items())[:3]
    ]


def _tables_told(source: Source) -> str:
    """Return what the tables of a source that has images say, and how to say more."""
    try:
        found, others = find_tables(source, source.tree, all_of_them=True)
    except UserError as error:
        return str(error)
    return generic.tables_told(found, others) if found or others else ""


def _recognised_folders(source: Source, root: Folder) -> list[str]:
    """Folders in `root` that are recognised, and as what: of a download of several datasets."""
    told = []
    for folder in root.folders.values():
        reader = next((r for r in ANYBODYS if r.recognises(source, folder)), None)
        told += [f"{folder.name} ({reader.layout})"] if reader is not None else []
    return some_of(told, 4)


def _seen(root: Folder) -> str:
    listed = list(root.folders)
    shown = f" ({', '.join(some_of(listed, 3))})" if listed else ""
    images = sum(map(root.is_image, root.files))
    return (
        f"saw {counted(len(listed), 'folder')}{shown}, {counted(images, 'image')} and "
        f"{counted(len(root.files) - images, 'other file')}"
    )
