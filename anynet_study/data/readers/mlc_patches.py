"""MLC as patches that are already cut out: one folder for each of the nine classes."""

import dataclasses
import re

from anynet_study.data.readers.listing import Listing
from anynet_study.data.readers.mlc import NUMBERS
from anynet_study.data.readers.named_folders import read_as
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder

LAYOUT = "MLC (patches)"
#: Fewer could be anybody's folders Sand and Turf.
FEWEST_CLASSES = 5
#: The photo in the name of a patch: `PHOTO_ROW_COLUMN.png`.
PATCH = re.compile(r"[^/]+/(?:.*/)?(?P<photo>[^/]+)_\d+_\d+\.\w+")
GROUPED = "patches are named PHOTO_ROW_COLUMN: those of one photo stay on one side of the split"
UNGROUPED = (
    "the names of the patches (not PHOTO_ROW_COLUMN) do not say which photo they are from: patches "
    "of one photo are on both sides of the split"
)


def recognises(source: Source, root: Folder) -> bool:
    """Folders of the nine classes only, case ignored, and five of them at least."""
    names = [name.casefold() for name in root.folders]
    return len(names) >= FEWEST_CLASSES and set(names) <= NUMBERS.keys()


def read(source: Source, root: Folder) -> Listing:
    """Patches of one photo are one group where all their names say which photo."""
    listing = read_as(LAYOUT, source, root, root)
    photos = [PATCH.fullmatch(example.name) for example in listing.train]
    named = [match["photo"] for match in photos if match is not None]
    if len(named) < len(photos):
        return dataclasses.replace(listing, notes=(UNGROUPED,))
    examples = [
        dataclasses.replace(example, group=photo)
        for example, photo in zip(listing.train, named, strict=True)
    ]
    return dataclasses.replace(listing, train=examples, notes=(GROUPED,))
