"""Readers of datasets as they are downloaded, one module a layout."""

from collections.abc import Callable
from typing import NamedTuple

from anynet_study.data.readers import (
    cifar_binary,
    cifar_python,
    class_folders,
    ham10000,
    imagenet_kaggle,
    powerline,
    split_folders,
)
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.source import Source
from anynet_study.data.tree import Folder, is_image
from anynet_study.errors import UserError

__all__ = ["READERS", "Example", "Listing", "Reader", "recognise"]


class Reader(NamedTuple):
    """One layout: its name, whether a folder has it, and what is in such a folder."""

    layout: str
    recognises: Callable[[Folder], bool]
    read: Callable[[Source, Folder], Listing]


#: From the most to the least specific: the first that recognises a folder reads it.
READERS = tuple(
    Reader(module.LAYOUT, module.recognises, module.read)
    for module in (
        cifar_binary,
        cifar_python,
        imagenet_kaggle,
        ham10000,
        powerline,
        split_folders,
        class_folders,
    )
)


def recognise(source: Source) -> tuple[Reader, Folder]:
    """The reader for `source`, and the folder in it that the reader applies to.

    Folders that hold nothing but one folder are passed through. UserError in one line, saying
    what was seen and which layouts are known, if no reader recognises any of them.
    """
    root = source.tree
    while True:
        for reader in READERS:
            if reader.recognises(root):
                return reader, root
        if len(root.folders) != 1 or root.first_image() is not None:
            break
        root = next(iter(root.folders.values()))
    known = ", ".join(reader.layout for reader in READERS)
    raise UserError(
        f"{source.where(root.path)}: layout not recognised: {_seen(root)}; known layouts: {known}"
    )


def _seen(root: Folder) -> str:
    names = list(root.folders)
    shown = f" ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})" if names else ""
    images = sum(map(is_image, root.files))
    return (
        f"saw {len(names)} folders{shown}, {images} images and "
        f"{len(root.files) - images} other files"
    )
