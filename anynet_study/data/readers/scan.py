"""Looking into folders: what is junk, what is an image, always in the same order."""

import os
from collections.abc import Iterator
from pathlib import Path

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
JUNK = ("__MACOSX", "Thumbs.db", "desktop.ini")


def is_junk(name: str) -> bool:
    """Whether an entry is litter of an operating system or hidden, at any depth."""
    return name in JUNK or name.startswith(".")


def is_image(name: str) -> bool:
    """Whether a file is called like an image; what it holds is the decoder's to say."""
    return name.lower().endswith(IMAGE_SUFFIXES)


def children(folder: Path) -> list[Path]:
    """The entries of a folder without junk, by name."""
    return sorted(entry for entry in folder.iterdir() if not is_junk(entry.name))


def subfolders(folder: Path) -> list[Path]:
    """The folders in a folder without junk, by name."""
    return [entry for entry in children(folder) if entry.is_dir()]


def find_images(folder: Path, root: Path) -> tuple[list[str], int]:
    """All images at any depth below `folder`: names relative to `root`, sorted; other files."""
    images: list[str] = []
    others = 0
    prefix = len(str(root)) + 1
    for where, name in _walk(folder):
        if is_junk(name) or not is_image(name):
            others += 1
        else:
            images.append(f"{where}{os.sep}{name}"[prefix:].replace(os.sep, "/"))
    return sorted(images), others


def count_files(folder: Path) -> int:
    """Files at any depth below `folder`, junk folders left out."""
    return sum(1 for _ in _walk(folder))


def holds_image(folder: Path) -> bool:
    """Whether there is an image at any depth below `folder`."""
    return any(is_image(name) and not is_junk(name) for _, name in _walk(folder))


def first_image(folder: Path) -> Path | None:
    """Any image directly in `folder`, without listing it whole."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_image(entry.name) and not is_junk(entry.name) and entry.is_file():
                return folder / entry.name
    return None


def _walk(folder: Path) -> Iterator[tuple[str, str]]:
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not is_junk(name))
        for name in files:
            yield where, name
