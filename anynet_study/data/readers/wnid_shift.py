"""ImageNet-Sketch, ImageNet-A, ImageNet-R, and ImageNetV2 by wnid: test sets of wnid folders."""

import re

from anynet_study.data.readers.class_folders import read_classes
from anynet_study.data.readers.listing import Listing
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder

LAYOUT = "ImageNet shift (wnid folders, test only)"
WNID = re.compile(r"n\d{8}")
NAMES = re.compile(r"(imagenet[-_ ]?)?sketch|imagenet[-_ ]?[ar]|imagenet[-_ ]?v2.*", re.IGNORECASE)
#: Of ImageNet-A and of ImageNet-R.
SHIFT_CLASSES = 200


def recognises(source: Source, root: Folder) -> bool:
    """Wnid folders in a folder with such a name, or 200 of them."""
    wnids = len(root.folders) >= 2 and all(map(WNID.fullmatch, root.folders))
    named = NAMES.fullmatch(root.name) is not None
    return wnids and (named or len(root.folders) == SHIFT_CLASSES)


def read(source: Source, root: Folder) -> Listing:
    """Test images only, of the wnids that there are: an evaluation chooses among these."""
    classes, test = read_classes(source, root, root)
    return Listing(LAYOUT, root.path, classes, [], test, root.count() - len(test))
