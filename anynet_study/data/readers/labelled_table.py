"""Listings of a table with an image id, a label and perhaps a group in every row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anynet_study.data.readers.images_by_id import ImagesById
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.readers.tables import checked_id, read_table
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError


@dataclass(frozen=True)
class Columns:
    """Which columns of a table say what."""

    image: str
    label: str
    #: None: no groups.
    group: str | None = None

    def names(self) -> tuple[str, ...]:
        """Those that there must be."""
        return (self.image, self.label, *([self.group] if self.group else []))


def read_labelled(
    source: Source,
    root: Folder,
    table: str,
    columns: Columns,
    layout: str,
    class_names: Callable[[Sequence[str]], dict[str, str]] | None = None,
    images: Folder | None = None,
) -> Listing:
    """The images that the file `table`, a path from the source, lists; no official test split.

    `class_names` gives the class of each label that occurs, in the order of the classes; the
    default is the label itself, sorted. `images`: where they are; default: below `root`.
    UserError for a missing image, an id that occurs twice or could name another folder.
    """
    where = source.where(table)
    rows = read_table(source, table, columns.names())
    ids = [checked_id(where, row[columns.image]) for row in rows]
    if len(set(ids)) < len(ids):
        raise UserError(f"{where}: an image id occurs twice")
    names = (class_names or _themselves)(sorted({row[columns.label] for row in rows}))
    classes = tuple(dict.fromkeys(names.values()))
    number = {label: classes.index(name) for label, name in names.items()}
    paths = ImagesById(source, images or root, root).require(ids, where)
    examples = [
        Example(path, number[row[columns.label]], row[columns.group] if columns.group else "")
        for path, row in zip(paths, rows, strict=True)
    ]
    examples.sort(key=lambda example: example.name)
    return Listing(layout, root.path, classes, examples, None, root.count() - len(examples))


def _themselves(labels: Sequence[str]) -> dict[str, str]:
    return {label: label for label in labels}
