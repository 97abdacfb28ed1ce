"""ImageNetV2: a test set whose folders are the numbers of ImageNet's classes."""

import re

from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.readers.reference_classes import reference_classes
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "ImageNetV2"
CHOICES = ("classes_of",)
INDEX = re.compile(r"0|[1-9]\d{0,2}")
ALL = {str(number) for number in range(1000)}


def recognises(source: Source, root: Folder) -> bool:
    """Folders `0` to `999`; fewer only where the folder's name says ImageNetV2."""
    if "imagenetv2" in root.name.lower():
        return len(root.folders) >= 2 and all(map(INDEX.fullmatch, root.folders))
    return root.folders.keys() == ALL


def read(source: Source, root: Folder) -> Listing:
    """Test images only. Folder k holds class k, counted as a number: 10 comes after 9."""
    classes = reference_classes(source, LAYOUT)
    if {int(name) for name in root.folders} != set(range(len(classes))):
        raise UserError(
            f"{source.where(root.path)}: {len(root.folders)} numbered folders, but the dataset "
            f"that numbers the classes has {len(classes)}; name another with --classes-of"
        )
    prefix = len(root.join(""))
    test = [
        Example(image[prefix:], int(name))
        for name, folder in root.folders.items()
        for image in folder.images()
    ]
    test.sort(key=lambda example: example.name)
    return Listing(LAYOUT, root.path, classes, [], test, root.count() - len(test))
