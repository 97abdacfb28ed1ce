"""`class/image`: one folder a class, no official split."""

import re
from pathlib import Path

from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.readers.scan import find_images, first_image, holds_image, subfolders
from anynet_study.errors import UserError

LAYOUT = "class/image"
NOT_A_CLASS = re.compile(
    r"(train(ing)?|test(ing)?|val(id|idation)?)([ _-]?images?)?|.*_part_?\d+", re.IGNORECASE
)


def recognises(root: Path) -> bool:
    """Two folders or more, one at least with images directly in it."""
    folders = subfolders(root)
    return len(folders) >= 2 and any(first_image(folder) for folder in folders)


def read(root: Path) -> Listing:
    """Every folder is a class; images may lie at any depth in it."""
    _refuse_unlabelled(root)
    loose = sum(not entry.is_dir() for entry in root.iterdir())
    classes, examples, ignored = read_classes(root, root)
    return Listing(LAYOUT, root, classes, examples, None, ignored + loose)


def read_classes(
    folder: Path, root: Path, classes: tuple[str, ...] | None = None
) -> tuple[tuple[str, ...], list[Example], int]:
    """The classes of `folder`, their examples by name relative to `root`, and other files.

    `classes`, where given, are what the folders must be.
    """
    found = tuple(path.name for path in subfolders(folder))
    if classes is not None and found != classes:
        stray = sorted(set(found) ^ set(classes))
        side = "only" if stray[0] in found else "not"
        raise UserError(f"{folder}: class {stray[0]!r} is {side} in this split")
    examples: list[Example] = []
    ignored = 0
    for label, name in enumerate(found):
        images, others = find_images(folder / name, root)
        if not images:
            raise UserError(f"{folder / name}: the class folder is empty")
        ignored += others
        examples += [Example(image, label) for image in images]
    return found, sorted(examples, key=lambda example: example.name), ignored


def has_classes(folder: Path) -> bool:
    """Whether `folder` holds class folders with images."""
    return any(holds_image(path) for path in subfolders(folder))


def _refuse_unlabelled(root: Path) -> None:
    """Folders of unlabelled images are not classes, however much they look it."""
    for folder in subfolders(root):
        if NOT_A_CLASS.fullmatch(folder.name):
            raise UserError(
                f"{folder}: its name says part of a dataset, not a class, so its images have no "
                f"labels; legal: {LAYOUT} or split/class/image"
            )
        image = first_image(folder)
        if image is not None and (note := image.with_name(f"{image.name}.txt")).exists():
            raise UserError(
                f"{note}: photos with annotated points; crop the points into one folder a class "
                "first"
            )
