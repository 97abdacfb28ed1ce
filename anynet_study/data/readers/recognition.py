"""Which layout a downloaded dataset has, and reading it."""

import dataclasses
from collections.abc import Sequence
from pathlib import PurePosixPath

from anynet_study.core.errors import UserError, counted, some_of
from anynet_study.data.readers import (
    arrays,
    cifar,
    folders,
    generic,
    imagenet,
    imagenet_shifts,
    known_tables,
    mlc,
)
from anynet_study.data.readers.image_tables import find_tables
from anynet_study.data.readers.listing import Listing, Reader
from anynet_study.data.readers.names import NOT_READ
from anynet_study.data.source.source import OF_ALL_LAYOUTS, Source
from anynet_study.data.source.tree import IMAGE_SUFFIXES, Folder

#: From the most to the least specific: the first that recognises a folder reads it.
READERS: tuple[Reader, ...] = (
    cifar.BINARY,
    cifar.PYTHON,
    cifar.CIFAR10_1,
    arrays.ARRAYS,
    imagenet.KAGGLE,
    imagenet.KIT,
    imagenet_shifts.IMAGENET_V2,
    imagenet_shifts.WNID_SHIFT,
    imagenet_shifts.OBJECTNET,
    *known_tables.TABLES,
    known_tables.HPA,
    known_tables.CCT20,
    folders.POWERLINE,
    mlc.MLC_POINTS,
    mlc.MLC_PATCHES,
    generic.EUROSAT,
    folders.CONCRETE,
    folders.INSECTS,
    *generic.READERS,
)


def read_source(source: Source) -> tuple[Source, Listing]:
    """What is in `source`, by the reader that recognises it or that its choices name.

    Archives in it are opened if it cannot be read without; the source returned is the one that
    the listing is of. Where other readers recognise it too, a note says how to choose them.
    UserError in one line, saying what was seen and which layouts are known, if none does.
    """
    try:
        source.prepare()
        return source, _read(source)
    except UserError as error:
        opened = source.with_archives_open()
        if opened is None:
            raise
        closed = error
    try:
        return read_source(opened)
    except UnknownLayoutError as error:
        raise (error if opened.tree.holds_images() else closed) from None


class UnknownLayoutError(UserError):
    """No reader recognises the source."""


def _read(source: Source) -> Listing:
    readers = _chosen_readers(source.choices.layout)
    fitting, root = _recognise(source, readers)
    if not fitting:
        raise _unknown(source, root, readers)
    chosen = source.choices.chosen().keys() - {*OF_ALL_LAYOUTS}
    # A reader that knows all that was chosen: `--label-column` makes a table of it.
    reader = next((reader for reader in fitting if chosen <= set(reader.choices)), fitting[0])
    source.choices.require_known(reader.layout, reader.choices)
    others = [f"--layout {other.key} ({other.layout})" for other in fitting if other != reader]
    others = others[:0] if reader in (*generic.READERS, generic.EUROSAT) else others
    told = f"read as {reader.layout}; it also looks like {', '.join(others)}"
    try:
        listing = reader.read(source, root)
    except UserError as error:
        raise UserError(f"{error} ({told})" if others else str(error)) from error
    if len(listing.classes) < 2 and listing.train:
        raise UserError(
            f"{source.where(root.path)}: one class alone, {', '.join(listing.classes)!r}, from "
            f"{listing.classes_from or listing.layout}; --layout, --table or --label-column choose "
            "where classes come from"
        )
    notes = [*listing.notes, *[told] * bool(others), *_divided(listing)]
    return dataclasses.replace(listing, notes=tuple(notes))


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


def _chosen_readers(layout: str | None) -> tuple[Reader, ...]:
    if layout is None:
        return READERS
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
    known = [reader for reader in readers if reader not in generic.READERS]
    anybodys = [reader for reader in readers if reader in generic.READERS]
    for group, others in ((known, anybodys), (anybodys, [])):
        root = source.tree
        while True:
            fitting = [reader for reader in group if reader.recognises(source, root)]
            if fitting:
                return fitting + [r for r in others if r.recognises(source, root)], root
            if len(root.folders) != 1 or root.first_image() is not None:
                break
            root = next(iter(root.folders.values()))
    return [], root


def _unknown(source: Source, root: Folder, readers: Sequence[Reader]) -> UnknownLayoutError:
    where, tables = source.where(root.path), _tables_told(source)
    if len(readers) == 1:
        told = f"not of layout {readers[0].layout!r}: {_seen(root)}{tables}"
        return UnknownLayoutError(f"{where}: {told}")
    known = ", ".join(reader.layout for reader in readers)
    unread = [
        f"{source.where(root.join(path))}: {reason}"
        for path, _, _ in root.below()
        if (reason := NOT_READ.get(PurePosixPath(path).suffix.lower())) is not None
    ]
    hint = f"; {unread[0]}" if unread and not root.holds_images() else ""
    inner = _recognised_folders(source, root, readers)
    if inner:
        hint += f"; give a folder in it: {', '.join(inner)}"
    elif not unread and not root.holds_images():
        hint = f"; no file below it is called like an image ({', '.join(IMAGE_SUFFIXES)})"
    return UnknownLayoutError(
        f"{where}: layout not recognised: {_seen(root)}{hint}{tables}; known layouts: {known}"
    )


def _tables_told(source: Source) -> str:
    """What the tables of a source that has images say, and how to say more."""
    if not source.tree.holds_images():
        return ""
    try:
        found, others = find_tables(source, source.tree)
    except UserError as error:
        return f"; {error}"
    return f"; {generic.tables_told(found, others)}" if found or others else ""


def _recognised_folders(source: Source, root: Folder, readers: Sequence[Reader]) -> list[str]:
    """Folders in `root` that are recognised, and as what: of a download of several datasets."""
    told = []
    for folder in root.folders.values():
        reader = next((reader for reader in readers if reader.recognises(source, folder)), None)
        told += [f"{folder.name} ({reader.layout})"] if reader is not None else []
    return told


def _seen(root: Folder) -> str:
    names = list(root.folders)
    shown = f" ({', '.join(some_of(names, 3))})" if names else ""
    images = sum(map(root.is_image, root.files))
    return (
        f"saw {counted(len(names), 'folder')}{shown}, {counted(images, 'image')} and "
        f"{counted(len(root.files) - images, 'other file')}"
    )
