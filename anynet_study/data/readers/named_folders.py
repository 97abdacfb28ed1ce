"""Datasets of one folder a class that are known by the names of the folders."""

from anynet_study.data.readers import class_folders
from anynet_study.data.readers.listing import Listing
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder


def read_as(
    layout: str, source: Source, folder: Folder, root: Folder, notes: tuple[str, ...] = ()
) -> Listing:
    """`folder`, which is `root` or in it, as `class/image`; other files are counted as ignored."""
    classes, examples = class_folders.read_classes(source, folder, folder)
    ignored = root.count() - len(examples)
    notes += class_folders.unread_in(folder)
    return Listing(layout, folder.path, classes, examples, None, ignored, notes=notes)
