"""The tree of a downloaded dataset: its folders and files by name, without litter, in order."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

IMAGE_SUFFIXES = (
    *(".jpg", ".jpeg", ".jfif", ".jpe", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff"),
    *(".ppm", ".pgm", ".pbm", ".pnm", ".avif"),
)
#: Of operating systems, network drives and photo programs, in lower case.
LITTER = {
    *("__macosx", "thumbs.db", "ehthumbs.db", "desktop.ini", "picasa.ini", "icon\r", "@eadir"),
    *("#recycle", "@recycle", "$recycle.bin", "system volume information", "lost+found"),
    *("__pycache__", "zbthumbnail.info"),
}
#: What programs that download put in the place of an image that is gone.
PLACEHOLDER = re.compile(r"(image|photo)[ _-]?not[ _-]?found\.\w+", re.IGNORECASE)


def is_litter(name: str) -> bool:
    """Tell whether a file or folder is something of an operating system, or hidden."""
    known = name.lower() in LITTER or PLACEHOLDER.fullmatch(name) is not None
    return known or name.startswith((".", "~$"))


def is_image(name: str) -> bool:
    """Tell whether a file is called like an image; what it holds is the decoder's to say."""
    return name.lower().endswith(IMAGE_SUFFIXES)


@dataclass
class Folder:
    """One folder. Folders of litter are left out; files of litter are only counted."""

    #: From the source, '/' between the parts; empty for the source itself.
    path: str
    folders: dict[str, "Folder"] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    litter: int = 0
    #: Those of `files` that are images by their content alone.
    unnamed: set[str] = field(default_factory=set)
    #: Of the source itself: what it is called, an archive without its suffix.
    called: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2] or self.called

    def join(self, name: str) -> str:
        """The path from the source of `name` in this folder."""
        return f"{self.path}/{name}" if self.path else name

    def walk(self) -> Iterator["Folder"]:
        """Yield this folder and all below it."""
        yield self
        for folder in self.folders.values():
            yield from folder.walk()

    def below(self) -> Iterator[tuple[str, "Folder", str]]:
        """Every file at any depth: its path from this folder, its own folder and its name."""
        prefix = len(self.join(""))
        for folder in self.walk():
            for name in folder.files:
                yield folder.join(name)[prefix:], folder, name

    def find(self, name: str) -> str | None:
        """The path from the source of the first file called so, at any depth."""
        return next((folder.join(file) for _, folder, file in self.below() if file == name), None)

    def is_image(self, name: str) -> bool:
        """Tell whether a file of this folder is an image, by its name or else its first bytes."""
        return is_image(name) or name in self.unnamed

    def images(self, root: "Folder | None" = None) -> list[str]:
        """Paths of all images at any depth, sorted: from the source, or from `root` above them."""
        prefix = len(root.join("")) if root is not None else 0
        return sorted(
            folder.join(name)[prefix:]
            for folder in self.walk()
            for name in folder.files
            if folder.is_image(name)
        )

    def first_image(self) -> str | None:
        """The first image directly in this folder."""
        return next(filter(self.is_image, self.files), None)

    def holds_images(self) -> bool:
        """Tell whether there is an image at any depth."""
        return any(folder.first_image() is not None for folder in self.walk())

    def count(self) -> int:
        """Files at any depth, litter included."""
        return sum(len(folder.files) + folder.litter for folder in self.walk())

    def leave_out(self, patterns: Sequence[str]) -> set[str]:
        """Count files and folders of these names or paths as litter; the patterns that matched."""
        used: set[str] = set()

        def matched(name: str, path: str) -> bool:
            found = {p for p in patterns if fnmatchcase(name, p) or fnmatchcase(path, p)}
            used.update(found)
            return bool(found)

        for name, inner in list(self.folders.items()):
            if matched(name, inner.path):
                self.litter += self.folders.pop(name).count()
            else:
                used |= inner.leave_out(patterns)
        kept = [name for name in self.files if not matched(name, self.join(name))]
        self.litter += len(self.files) - len(kept)
        self.files = kept
        return used

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


def _leads_nowhere(entry: "os.DirEntry[str]") -> bool:
    """Tell whether it is a link to a file that is not there: an image that was not fetched."""
    return entry.is_symlink() and not os.path.exists(entry.path)


def _second_name(entry: "os.DirEntry[str]") -> bool:
    """Tell whether it is a link to a file of its own folder: that file's second name."""
    return (
        entry.is_symlink() and os.sep not in os.readlink(entry.path) and os.path.isfile(entry.path)
    )


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
            elif (
                is_litter(entry.name)
                or _second_name(entry)
                or not (entry.is_file() or _leads_nowhere(entry))
            ):
                folder.litter += 1
            else:
                folder.files.append(entry.name)
