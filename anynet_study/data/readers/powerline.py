"""Powerline: flat folders of infrared and visible light images, the label in the file name."""

import re
from pathlib import Path, PurePosixPath

from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.readers.scan import count_files, find_images, first_image, subfolders
from anynet_study.errors import UserError

LAYOUT = "Powerline"
#: Label by token, TV (line) or TY (none), in either order with the band.
LABELS = {"TY": 0, "TV": 1}
CLASSES = ("no powerline", "powerline")
NAME = re.compile(
    r"(?:(?:IR|VL)[ _-](?P<last>TV|TY)|(?P<first>TV|TY)[ _-](?:IR|VL))(?![A-Z])", re.I
)


def recognises(root: Path) -> bool:
    """Folders (or this folder) with an image of such a name in it."""
    return any(_holds_label(folder) for folder in [root, *subfolders(root)])


def read(root: Path) -> Listing:
    """Every image must carry its label; UserError names the first that does not."""
    images, _ = find_images(root, root)
    examples = []
    for image in images:
        match = NAME.match(PurePosixPath(image).name)
        if match is None:
            raise UserError(f"{root / image}: no label (TV or TY, with IR or VL) in the file name")
        token = (match["first"] or match["last"]).upper()
        examples.append(Example(image, LABELS[token]))
    return Listing(LAYOUT, root, CLASSES, examples, None, count_files(root) - len(images))


def _holds_label(folder: Path) -> bool:
    image = first_image(folder)
    return image is not None and NAME.match(image.name) is not None
