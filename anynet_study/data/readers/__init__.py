"""Readers of datasets as they are downloaded, one module a layout."""

from collections.abc import Callable
from pathlib import Path
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
from anynet_study.data.readers.scan import children, is_image, subfolders
from anynet_study.errors import UserError

__all__ = ["READERS", "Example", "Listing", "Reader", "recognise"]


class Reader(NamedTuple):
    """One layout: its name, whether a folder has it, and what is in such a folder."""

    layout: str
    recognises: Callable[[Path], bool]
    read: Callable[[Path], Listing]


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


def recognise(source: Path) -> tuple[Reader, Path]:
    """The reader for what lies at `source`, and the folder it applies to.

    Folders that hold nothing but one folder are passed through. UserError in one line, saying
    what was seen and which layouts are known, if no reader recognises any of them.
    """
    root = source
    while True:
        for reader in READERS:
            if reader.recognises(root):
                return reader, root
        inner = subfolders(root)
        if len(inner) != 1 or any(is_image(entry.name) for entry in children(root)):
            break
        root = inner[0]
    known = ", ".join(reader.layout for reader in READERS)
    raise UserError(f"{source}: layout not recognised: {_seen(root)}; known layouts: {known}")


def _seen(root: Path) -> str:
    folders = [path.name for path in subfolders(root)]
    files = [path.name for path in children(root) if not path.is_dir()]
    images = sum(map(is_image, files))
    shown = f" ({', '.join(folders[:3])}{', ...' if len(folders) > 3 else ''})" if folders else ""
    return (
        f"saw {len(folders)} folders{shown}, {images} images and {len(files) - images} other files"
    )
