"""ImageNet as its own site serves it: tars of images, and a development kit with the labels.

The validation images are flat. Their labels are ILSVRC2012_IDs, which count from 1 and are not in
the order of the wnids; the kit's `meta.mat` says which is which.
"""

import re
from pathlib import PurePosixPath

from anynet_study.data.readers.class_folders import read_classes
from anynet_study.data.readers.imagenet_meta import leaf_wnids
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "ImageNet (tars and development kit)"
TRUTH, META = "ILSVRC2012_validation_ground_truth.txt", "meta.mat"
TRAIN = ("ILSVRC2012_img_train", "train")
VALIDATION = ("ILSVRC2012_img_val", "val")
OFFICIAL = re.compile(r"ILSVRC2012_(img_(train|val)|devkit_t12)(\.tar(\.gz)?)?")
WNID = re.compile(r"n\d{8}")
NUMBERED = re.compile(r"ILSVRC2012_val_(\d{8})")
MAX_BYTES = 1 << 20


def recognises(source: Source, root: Folder) -> bool:
    """Files or folders with the names of the official archives, or the kit's labels."""
    if any(map(OFFICIAL.fullmatch, (*root.files, *root.folders))):
        return True
    return _find(root, TRUTH) is not None and any(map(root.folders.get, VALIDATION))


def read(source: Source, root: Folder) -> Listing:
    """Train from the wnid folders, test from the flat images and the kit's labels."""
    train, validation = _folder(source, root, TRAIN), _folder(source, root, VALIDATION)
    stray = next((name for name in train.folders if not WNID.fullmatch(name)), None)
    if stray is not None:
        raise UserError(f"{source.where(train.folders[stray].path)}: not named by a wnid")
    classes, training = read_classes(source, train, root)
    testing = _validation(source, root, validation, classes)
    ignored = root.count() - len(training) - len(testing)
    return Listing(LAYOUT, root.path, classes, training, testing, ignored)


def _validation(
    source: Source, root: Folder, folder: Folder, classes: tuple[str, ...]
) -> list[Example]:
    truth, meta = (_required(source, root, name) for name in (TRUTH, META))
    wnids = leaf_wnids(source, meta)
    where = source.where(truth)
    labels = source.member(truth).read(MAX_BYTES).decode("ascii", errors="replace").split()
    images = folder.images()
    if len(labels) != len(images):
        raise UserError(
            f"{where}: {len(labels)} labels for the {len(images)} images of "
            f"{source.where(folder.path)}"
        )
    number = {wnid: label for label, wnid in enumerate(classes)}
    prefix, examples = len(root.join("")), []
    for image in images:
        match = NUMBERED.fullmatch(PurePosixPath(image).stem)
        if match is None or not 1 <= int(match[1]) <= len(labels):
            raise UserError(f"{source.where(image)}: not named ILSVRC2012_val_NUMBER")
        label = labels[int(match[1]) - 1]
        wnid = wnids.get(label)
        if wnid is None:
            raise UserError(f"{where}: line {int(match[1])}: {label[:20]!r} is no leaf of {META}")
        if wnid not in number:
            raise UserError(f"{where}: class {wnid} is not in the training images")
        examples.append(Example(image[prefix:], number[wnid]))
    return examples


def _folder(source: Source, root: Folder, names: tuple[str, ...]) -> Folder:
    for name in names:
        if name in root.folders:
            inner = root.folders[name]
            return inner.folders.get(name, inner)
    raise UserError(
        f"{source.where(root.path)}: no {names[0]}.tar and no folder {names[0]} or {names[1]}; "
        f"needed: training and validation images, and the development kit"
    )


def _required(source: Source, root: Folder, name: str) -> str:
    path = _find(root, name)
    if path is None:
        raise UserError(
            f"{source.where(root.path)}: no {name}; the labels of the validation images are in the "
            "development kit, ILSVRC2012_devkit_t12.tar.gz (or in LOC_val_solution.csv)"
        )
    return path


def _find(root: Folder, name: str) -> str | None:
    """A file called `name`, at any depth but among images."""
    return next((folder.join(name) for folder in root.walk() if name in folder.files), None)
