"""Powerline: flat folders of infrared and visible light images, the label in the file name."""

import re
from pathlib import PurePosixPath

from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "Powerline"
#: Label by token, TV (line) or TY (none), in either order with the band.
LABELS = {"TY": 0, "TV": 1}
CLASSES = ("no powerline", "powerline")
NAME = re.compile(
    r"(?:(?:IR|VL)[ _-](?P<last>TV|TY)|(?P<first>TV|TY)[ _-](?:IR|VL))(?![A-Z])", re.I
)


def recognises(source: Source, root: Folder) -> bool:
    """Folders (or this folder) whose first image has such a name."""
    firsts = [folder.first_image() for folder in (root, *root.folders.values())]
    return any(image is not None and NAME.match(image) for image in firsts)


def read(source: Source, root: Folder) -> Listing:
    """Every image must carry its label; UserError names the first that does not."""
    examples = []
    prefix = len(root.join(""))
    for image in root.images():
        match = NAME.match(PurePosixPath(image).name)
        if match is None:
            where = source.where(image)
            raise UserError(f"{where}: no label (TV or TY, with IR or VL) in the file name")
        token = (match["first"] or match["last"]).upper()
        examples.append(Example(image[prefix:], LABELS[token]))
    return Listing(LAYOUT, root.path, CLASSES, examples, None, root.count() - len(examples))
