"""Which image of a folder a cell of a table means."""

import unicodedata
from collections.abc import Sequence
from pathlib import PurePosixPath

from anynet_study.core.errors import UserError
from anynet_study.data.readers.safe_files import checked_id
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder


class ImageFinder:
    """The images below a folder by path, by the end of a path, and without their suffixes.

    Whatever a table says, only an image that was found below the folder is ever meant.
    """

    def __init__(self, source: Source, root: Folder, folder: Folder | None = None) -> None:
        """`folder`: where the images are, by default `root`, which their paths start from."""
        folder = folder or root
        self._where = source.where(folder.path)
        self._paths: dict[str, str] = {}
        self._alike: dict[str, str] = {}
        self._several: set[str] = set()
        for image in folder.images(root):
            for key in _keys(image):
                self._note(self._paths, key, image)
            self._note(self._alike, _alike(PurePosixPath(image).stem), image)
            self._note(self._alike, _alike(PurePosixPath(image).name), image)

    def _note(self, paths: dict[str, str], key: str, image: str) -> None:
        if paths.setdefault(key, image) != image and paths is self._paths:
            self._several.add(key)
        elif paths[key] != image:
            paths[key] = ""

    def find(self, value: str, exact: bool = False) -> str | None:
        """The path from the root of the image that a cell means; None where there is none.

        Paths of other machines count by their end: C:\\photos\\1.jpg, /kaggle/input/1.jpg. Unless
        `exact`, names that differ in case only, or by leading zeros that were lost, count too.
        UserError where it could be two images.
        """
        parts = [part for part in _plain(value).split("/") if part not in ("", ".", "..")]
        for start in range(len(parts)):
            key = "/".join(parts[start:])
            if key in self._several:
                raise UserError(f"there is more than one image {value!r} below {self._where}")
            if key in self._paths:
                return self._paths[key]
        if exact or not parts:
            return None
        return self._alike.get(_alike(parts[-1])) or None

    def require(self, values: Sequence[str], where: str) -> list[str]:
        """The images that the ids `values` mean.

        Of several images of one name the first in order is taken: some downloads hold images twice.
        UserError, naming the table `where`, for one that is missing, or leads elsewhere.
        """
        keys = [checked_id(where, value) for value in values]
        missing = [key for key in keys if key not in self._paths]
        if missing:
            raise UserError(
                f"{where}: {len(missing)} of its {len(values)} images are not below "
                f"{self._where}, the first is {missing[0]}"
            )
        return [self._paths[key] for key in keys]


def _plain(value: str) -> str:
    return unicodedata.normalize("NFC", value).replace("\\", "/")


def _alike(name: str) -> str:
    plain = _plain(name).casefold()
    number = plain.removesuffix(".0")  # as data frames write numbers where some are missing
    return number.lstrip("0") or "0" if number.isdigit() else plain


def _keys(image: str) -> set[str]:
    """The image by every end of its path, with and without suffix."""
    path = PurePosixPath(unicodedata.normalize("NFC", image))
    ends = ("/".join(path.parts[start:]) for start in range(len(path.parts)))
    return {key for end in ends for key in (end, str(PurePosixPath(end).with_suffix("")))}
