"""`class/image`: one folder a class, no official split."""

import re

from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder, is_image
from anynet_study.errors import UserError, counted

LAYOUT = "class/image"
#: Files named in a note.
SHOWN = 3
NOT_A_CLASS = re.compile(
    r"(train(ing)?|test(ing)?|val(id|idation)?)([ _-]?images?)?|.*_part_?\d+|ilsvrc2012_img_.*",
    re.IGNORECASE,
)


def recognises(source: Source, root: Folder) -> bool:
    """Two folders or more, one at least with images directly in it."""
    return len(root.folders) >= 2 and any(map(Folder.first_image, root.folders.values()))


def read(source: Source, root: Folder) -> Listing:
    """Every folder is a class; images may lie at any depth in it."""
    _refuse_unlabelled(source, root)
    classes, examples = read_classes(source, root, root)
    ignored = root.count() - len(examples)
    return Listing(LAYOUT, root.path, classes, examples, None, ignored, notes=unread_in(root))


def read_classes(
    source: Source, folder: Folder, root: Folder, classes: tuple[str, ...] | None = None
) -> tuple[tuple[str, ...], list[Example]]:
    """The classes of `folder` and their examples by name relative to `root`, sorted.

    `classes`, where given, are what the folders must be.
    """
    found = tuple(folder.folders)
    if classes is not None and found != classes:
        stray = min(set(found) ^ set(classes))
        side = "only" if stray in found else "not"
        raise UserError(f"{source.where(folder.path)}: class {stray!r} is {side} in this split")
    examples: list[Example] = []
    prefix = len(root.join(""))
    for label, inner in enumerate(folder.folders.values()):
        images = inner.images()
        if not images:
            raise UserError(f"{source.where(inner.path)}: the class folder is empty")
        examples += [Example(image[prefix:], label) for image in images]
    return found, sorted(examples, key=lambda example: example.name)


def unread_in(folder: Folder) -> tuple[str, ...]:
    """A note on the files in the class folders of `folder` that are no images by their names."""
    stray = [
        inner.join(name)
        for outer in folder.folders.values()
        for inner in outer.walk()
        for name in inner.files
        if not is_image(name)
    ]
    if not stray:
        return ()
    names = ", ".join(stray[:SHOWN]) + (", ..." if len(stray) > SHOWN else "")
    told = f"in class folders, but not called like images: {counted(len(stray), 'file')} ({names})"
    return (told,)


def has_classes(folder: Folder) -> bool:
    """Whether `folder` holds class folders with images."""
    return any(map(Folder.holds_images, folder.folders.values()))


def _refuse_unlabelled(source: Source, root: Folder) -> None:
    """Folders of unlabelled images are not classes, however much they look it."""
    for folder in root.folders.values():
        if NOT_A_CLASS.fullmatch(folder.name):
            raise UserError(
                f"{source.where(folder.path)}: its name says part of a dataset, not a class, so "
                f"its images have no labels; legal: {LAYOUT} or split/class/image"
            )
