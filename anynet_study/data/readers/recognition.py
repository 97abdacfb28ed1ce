"""Which layout a downloaded dataset has, and reading it."""

import dataclasses
from collections.abc import Sequence

from anynet_study.data.readers.known import READERS, Reader
from anynet_study.data.readers.listing import Listing
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder, is_image
from anynet_study.errors import UserError


def read_source(source: Source) -> tuple[Source, Listing]:
    """What is in `source`, by the reader that recognises it or that its choices name.

    Archives in it are opened if it cannot be read without; the source returned is the one that
    the listing is of. Where other readers recognise it too, a note says how to choose them.
    UserError in one line, saying what was seen and which layouts are known, if none does.
    """
    try:
        return source, _read(source)
    except UserError as error:
        opened = source.with_archives_open()
        if opened is None:
            raise
        closed = error
    try:
        return read_source(opened)
    except UnknownLayoutError:
        raise closed from None


class UnknownLayoutError(UserError):
    """No reader recognises the source."""


def _read(source: Source) -> Listing:
    readers = _chosen_readers(source.choices.layout)
    fitting, root = _recognise(source, readers)
    if not fitting:
        raise _unknown(source, root, readers)
    reader = fitting[0]
    source.choices.require_known(reader.layout, reader.choices)
    others = ", ".join(f"--layout {other.key} ({other.layout})" for other in fitting[1:])
    told = f"read as {reader.layout}; it could also be read by {others}"
    try:
        listing = reader.read(source, root)
    except UserError as error:
        raise UserError(f"{error} ({told})" if others else str(error)) from error
    if not others:
        return listing
    return dataclasses.replace(listing, notes=(*listing.notes, told))


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

    Folders that hold nothing but one folder are passed through.
    """
    root = source.tree
    while True:
        fitting = [reader for reader in readers if reader.recognises(source, root)]
        if fitting or len(root.folders) != 1 or root.first_image() is not None:
            return fitting, root
        root = next(iter(root.folders.values()))


def _unknown(source: Source, root: Folder, readers: Sequence[Reader]) -> UnknownLayoutError:
    where = source.where(root.path)
    if len(readers) == 1:
        return UnknownLayoutError(f"{where}: not of layout {readers[0].layout!r}: {_seen(root)}")
    known = ", ".join(reader.layout for reader in readers)
    packed = [name for name in root.files if name.lower().endswith((".rar", ".7z"))]
    extract = f"; extract {packed[0]} yourself" if packed else ""
    return UnknownLayoutError(
        f"{where}: layout not recognised: {_seen(root)}{extract}; known layouts: {known}"
    )


def _seen(root: Folder) -> str:
    names = list(root.folders)
    shown = f" ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})" if names else ""
    images = sum(map(is_image, root.files))
    return (
        f"saw {len(names)} folders{shown}, {images} images and "
        f"{len(root.files) - images} other files"
    )
