"""Readers of datasets as they are downloaded, one module a layout."""

import dataclasses
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import NamedTuple

from anynet_study.data.readers import (
    aptos,
    cassava,
    cct20,
    cifar10_1,
    cifar_binary,
    cifar_python,
    class_folders,
    concrete,
    csv_table,
    eurosat,
    ham10000,
    hpa,
    imagenet_devkit,
    imagenet_kaggle,
    imagenet_v2,
    insects,
    mlc_patches,
    mlc_points,
    objectnet,
    powerline,
    siim_isic,
    split_folders,
    wnid_shift,
)
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.source import Source
from anynet_study.data.tree import Folder, is_image
from anynet_study.errors import UserError

__all__ = ["READERS", "Example", "Listing", "Reader", "read_source"]


class Reader(NamedTuple):
    """One layout: its name, whether a folder has it, and what is in such a folder."""

    #: What `--layout` calls it.
    key: str
    layout: str
    recognises: Callable[[Source, Folder], bool]
    read: Callable[[Source, Folder], Listing]
    #: Which of the source's choices it heeds.
    choices: tuple[str, ...] = ()


def _reader(module: ModuleType) -> Reader:
    key = module.__name__.rpartition(".")[2].replace("_", "-")
    choices = getattr(module, "CHOICES", ())
    return Reader(key, module.LAYOUT, module.recognises, module.read, choices)


#: From the most to the least specific: the first that recognises a folder reads it.
READERS = tuple(
    map(
        _reader,
        (
            cifar_binary,
            cifar_python,
            cifar10_1,
            imagenet_kaggle,
            imagenet_devkit,
            imagenet_v2,
            wnid_shift,
            objectnet,
            ham10000,
            siim_isic,
            cassava,
            aptos,
            hpa,
            cct20,
            powerline,
            mlc_points,
            mlc_patches,
            eurosat,
            concrete,
            insects,
            split_folders,
            csv_table,
            class_folders,
        ),
    )
)


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
