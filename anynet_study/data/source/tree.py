"""What lies in a downloaded dataset: its folders and files by name, without litter, in order."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
LITTER = ("__MACOSX", "Thumbs.db", "desktop.ini")


def is_litter(name: str) -> bool:
    """Whether a file or folder is something of an operating system, or hidden."""
    return name in LITTER or name.startswith(".")


def is_image(name: str) -> bool:
    """Whether a file is called like an image; what it holds is the decoder's to say."""
    return name.lower().endswith(IMAGE_SUFFIXES)


@dataclass
class Folder:
    """One folder. Folders of litter are left out; files of litter are only counted."""

    #: From the source, '/' between the parts; empty for the source itself.
    path: str
    folders: dict[str, "Folder"] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    litter: int = 0
    #: Of the source itself: what it is called, an archive without its suffix.
    called: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2] or self.called

    def join(self, name: str) -> str:
        """The path from the source of `name` in this folder."""
        return f"{self.path}/{name}" if self.path else name

    def walk(self) -> Iterator["Folder"]:
        """This folder and all below it."""
        yield self
        for folder in self.folders.values():
            yield from folder.walk()

    def images(self, root: "Folder | None" = None) -> list[str]:
        """Paths of all images at any depth, sorted: from the source, or from `root` above them."""
        prefix = len(root.join("")) if root is not None else 0
        return sorted(
            folder.join(name)[prefix:]
            for folder in self.walk()
            for name in folder.files
            if is_image(name)
        )

    def first_image(self) -> str | None:
        """The first image directly in this folder."""
        return next(filter(is_image, self.files), None)

    def holds_images(self) -> bool:
        """Whether there is an image at any depth."""
        return any(folder.first_image() is not None for folder in self.walk())

    def count(self) -> int:
        """Files at any depth, litter included."""
        return sum(len(folder.files) + folder.litter for folder in self.walk())

    def sort(self) -> None:
        """Put folders and files in order of name, at all depths."""
        for folder in self.walk():
            folder.files.sort()
            folder.folders = dict(sorted(folder.folders.items()))


def tree_of_names(names: Iterable[str], called: str = "") -> Folder:
    """The tree of files with these paths in a source that is `called` so."""
    root = Folder("", called=called)
    for name in names:
        *parents, file = name.split("/")
        if any(map(is_litter, parents)):
            continue
        folder = root
        for parent in parents:
            if parent not in folder.folders:
                folder.folders[parent] = Folder(folder.join(parent))
            folder = folder.folders[parent]
        if is_litter(file):
            folder.litter += 1
        else:
            folder.files.append(file)
    root.sort()
    return root


def tree_of_folder(path: Path, called: str = "") -> Folder:
    """The tree of what is in the folder `path`; links are followed, but never in a circle."""
    root = Folder("", called=called)
    _scan(root, str(path), frozenset())
    root.sort()
    return root


def _scan(folder: Folder, path: str, above: frozenset[tuple[int, int]]) -> None:
    status = os.stat(path)
    here = (status.st_dev, status.st_ino)
    if here in above:
        return
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir():
                if not is_litter(entry.name):
                    inner = Folder(folder.join(entry.name))
                    folder.folders[entry.name] = inner
                    _scan(inner, entry.path, above | {here})
            elif is_litter(entry.name) or not entry.is_file():
                folder.litter += 1
            else:
                folder.files.append(entry.name)
