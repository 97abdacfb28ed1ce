"""Finding the image that somebody's table means by a path or by a name."""

from collections import defaultdict
from pathlib import PurePosixPath

from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError


class ImageFinder:
    """The images below a folder by path, by name, and by either without its suffix."""

    def __init__(self, source: Source, root: Folder) -> None:
        self._where = source.where(root.path)
        self._found: dict[str, set[str]] = defaultdict(set)
        prefix = len(root.join(""))
        for path in root.images():
            image = PurePosixPath(path[prefix:])
            for key in (image, image.with_suffix(""), image.name, image.stem):
                self._found[str(key)].add(str(image))

    def find(self, table: str, value: str) -> str:
        """The path from the root of the one image that `value` can mean."""
        path = PurePosixPath(value)
        if not value or path.is_absolute() or ".." in path.parts or set(value) & set("\\\0"):
            raise UserError(f"{self._where}/{table}: {value!r} is not an image of this folder")
        found = self._found.get(str(path), set())
        if len(found) != 1:
            many = "more than one image" if found else "no image"
            raise UserError(f"{self._where}/{table}: there is {many} {value!r} below the folder")
        return next(iter(found))
