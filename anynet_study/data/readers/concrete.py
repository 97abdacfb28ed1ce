"""Concrete Crack Images for Classification: patches of concrete with and without a crack."""

from anynet_study.data.readers.listing import Listing
from anynet_study.data.readers.named_folders import read_as
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder

LAYOUT = "Concrete"
CLASSES = {"negative", "positive"}
NOTE = (
    "the patches were cut from 458 photos and do not say which: patches of one photo are on both "
    "sides of the split"
)


def recognises(source: Source, root: Folder) -> bool:
    """Folders `Negative` and `Positive` with images whose names are numbers."""
    folders = {name.lower(): folder for name, folder in root.folders.items()}
    return folders.keys() == CLASSES and all(
        (folder.first_image() or "x")[:5].isdigit() for folder in folders.values()
    )


def read(source: Source, root: Folder) -> Listing:
    """File names repeat across the classes, so an image is known by class and name."""
    return read_as(LAYOUT, source, root, root, (NOTE,))
