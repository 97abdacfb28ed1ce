"""Finding the image that a table or an annotation file names."""

from pathlib import PurePosixPath

from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError


class ImagesById:
    """The images below a folder, by their names with and without suffix.

    Of two images of one name the first in order is taken: some downloads hold images twice.
    """

    def __init__(self, source: Source, folder: Folder, root: Folder) -> None:
        self._where = source.where(folder.path)
        self._by_name: dict[str, str] = {}
        prefix = len(root.join(""))
        for path in folder.images():
            name = PurePosixPath(path)
            for key in (name.name, name.stem):
                self._by_name.setdefault(key, path[prefix:])

    def find(self, identifier: str) -> str | None:
        """The path from the listing's root of the image so named."""
        return self._by_name.get(identifier)

    def require(self, identifiers: list[str], table: str) -> list[str]:
        """The paths of all images that `table` names; UserError if there is one that is missing."""
        missing = [name for name in identifiers if name not in self._by_name]
        if missing:
            raise UserError(
                f"{table}: {len(missing)} of its {len(identifiers)} images are not below "
                f"{self._where}, the first is {missing[0]}"
            )
        return [self._by_name[name] for name in identifiers]
