"""CIFAR-10.1: a new test set for CIFAR-10, two versions of it, as arrays."""

import re

import numpy as np

from anynet_study.data.readers.cifar import SIDE
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.readers.npy_array import read_npy
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "CIFAR-10.1"
CHOICES = ("test_part",)
DATA = re.compile(r"cifar10\.1_(v\d+)_data\.npy")
#: In the order of CIFAR-10's labels.
CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)


def recognises(source: Source, root: Folder) -> bool:
    """`cifar10.1_v4_data.npy` or `cifar10.1_v6_data.npy`, here or in a folder."""
    return _folder(root) is not None


def read(source: Source, root: Folder) -> Listing:
    """Test images only, of the newest version there is unless another is chosen."""
    folder = _folder(root)
    assert folder is not None
    versions = sorted(match[1] for match in map(DATA.fullmatch, folder.files) if match)
    version = source.choices.test_part or versions[-1]
    if version not in versions:
        raise UserError(f"--test-part {version!r}: there are {', '.join(versions)}")
    data, labels = (f"cifar10.1_{version}_{part}.npy" for part in ("data", "labels"))
    if labels not in folder.files:
        raise UserError(f"{source.where(folder.join(labels))}: the file is missing")
    images = read_npy(source, folder.join(data), ("|u1",), (SIDE, SIDE, 3)).astype(np.uint8)
    numbers = read_npy(source, folder.join(labels), ("<i4", "<i8", "|u1"), ()).astype(np.int64)
    where = source.where(folder.join(labels))
    if len(numbers) != len(images):
        raise UserError(f"{where}: {len(numbers)} labels for {len(images)} images")
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(CLASSES):
        raise UserError(f"{where}: labels {numbers.min()} to {numbers.max()}; legal: 0 to 9")
    test = [
        Example(f"{version}/{row:05d}", int(label), pixels=image)
        for row, (image, label) in enumerate(zip(images, numbers, strict=True))
    ]
    notes = (f"version {version}; there are {', '.join(versions)} (--test-part)",)
    return Listing(LAYOUT, folder.path, CLASSES, [], test, root.count() - 2, notes=notes)


def _folder(root: Folder) -> Folder | None:
    folders = (folder for folder in root.walk() if any(map(DATA.fullmatch, folder.files)))
    return next(folders, None)
