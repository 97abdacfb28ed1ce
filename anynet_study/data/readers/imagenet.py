"""ImageNet as its own site serves it, in tars with a development kit, and as Kaggle serves it.

The validation images are flat. In the kit their labels are ILSVRC2012_IDs, which count from 1 and
are not in the order of the wnids; its `meta.mat` says which is which. Kaggle has a CSV of wnids.
"""

import re
from pathlib import PurePosixPath

from anynet_study.core.errors import UserError, first_line
from anynet_study.data.readers.folders import read_classes
from anynet_study.data.readers.imagenet_kit import leaf_wnids
from anynet_study.data.readers.listing import Example, Listing, Reader
from anynet_study.data.readers.safe_files import read_table
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder

KIT_LAYOUT, KAGGLE_LAYOUT = "ImageNet (tars and development kit)", "ImageNet (Kaggle)"
TRUTH, META = "ILSVRC2012_validation_ground_truth.txt", "meta.mat"
TRAIN = ("ILSVRC2012_img_train", "train")
VALIDATION = ("ILSVRC2012_img_val", "val")
OFFICIAL = re.compile(r"ILSVRC2012_(img_(train|val)|devkit_t12)(\.tar(\.gz)?)?")
WNID = re.compile(r"n\d{8}")
#: Most bytes of the kit's labels, and of its `meta.mat`, which has 200 kB.
TRUTH_BYTES, META_BYTES = 1 << 20, 4 << 20
KAGGLE_IMAGES = ("ILSVRC", "Data", "CLS-LOC")
SOLUTION = "LOC_val_solution.csv"


def _is_kit(source: Source, root: Folder) -> bool:
    """Files or folders with the names of the official archives, or the kit's labels."""
    if any(map(OFFICIAL.fullmatch, (*root.files, *root.folders))):
        return True
    return root.find(TRUTH) is not None and any(map(root.folders.get, VALIDATION))


def _read_kit(source: Source, root: Folder) -> Listing:
    """Train from the wnid folders, test from the flat images and the kit's labels."""
    train, validation = _folder(source, root, TRAIN), _folder(source, root, VALIDATION)
    stray = next((name for name in train.folders if not WNID.fullmatch(name)), None)
    if stray is not None:
        raise UserError(f"{source.where(train.folders[stray].path)}: not named by a wnid")
    truth, meta = (_required(source, root, name) for name in (TRUTH, META))
    try:
        wnids = leaf_wnids(source.member(meta).read(META_BYTES))
    except ValueError as error:
        where, reason = source.where(meta), first_line(error)
        raise UserError(f"{where}: not the kit's table of classes ({reason})") from error
    wnid_of = {}
    labels = source.member(truth).read(TRUTH_BYTES).decode("ascii", errors="replace").split()
    for number, label in enumerate(labels, start=1):
        if label not in wnids:
            where = f"{source.where(truth)}: line {number}"
            raise UserError(f"{where}: {label[:20]!r} is no leaf of {META}")
        wnid_of[f"ILSVRC2012_val_{number:08d}"] = wnids[label]
    return _listing(KIT_LAYOUT, source, root, (train, validation), wnid_of, truth)


def _listing(
    layout: str,
    source: Source,
    root: Folder,
    splits: tuple[Folder, Folder],
    wnid_of: dict[str, str],
    table: str,
) -> Listing:
    """Train from wnid folders, test from flat images by their names, without suffix, in `table`."""
    train, validation = splits
    classes, training = read_classes(source, train, root)
    number = {wnid: label for label, wnid in enumerate(classes)}
    images = {PurePosixPath(name).stem: name for name in validation.images(root)}
    where, folder = source.where(table), source.where(validation.path)
    if images.keys() != wnid_of.keys():
        name = min(images.keys() ^ wnid_of.keys())
        lacks = f"not in {folder}" if name in wnid_of else f"in {folder}, but not listed"
        raise UserError(f"{where}: image {name} is {lacks}")
    unknown = next((wnid for wnid in wnid_of.values() if wnid not in number), None)
    if unknown is not None:
        raise UserError(f"{where}: class {unknown!r} is not in the training images")
    testing = [Example(image, number[wnid_of[name]]) for name, image in images.items()]
    return Listing.found(layout, root, classes, training, testing)


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
    path = root.find(name)
    if path is None:
        raise UserError(
            f"{source.where(root.path)}: no {name}; the labels of the validation images are in the "
            "development kit, ILSVRC2012_devkit_t12.tar.gz (or in LOC_val_solution.csv)"
        )
    return path


def _is_kaggle(source: Source, root: Folder) -> bool:
    """`ILSVRC/Data/CLS-LOC/{train,val}` with `LOC_val_solution.csv` beside or in `ILSVRC`.

    Also beside the archive of `ILSVRC`, which is opened as a folder with its name.
    """
    return SOLUTION in root.files and {"train", "val"} <= _kaggle_images(root).folders.keys()


def _read_kaggle(source: Source, root: Folder) -> Listing:
    """Train from its wnid folders, test from `val` with the labels of the CSV."""
    splits, table = _kaggle_images(root).folders, root.join(SOLUTION)
    rows = read_table(source, table, ("ImageId", "PredictionString"))
    wnid_of = {row["ImageId"]: row["PredictionString"].split(" ")[0] for row in rows}
    return _listing(KAGGLE_LAYOUT, source, root, (splits["train"], splits["val"]), wnid_of, table)


def _kaggle_images(root: Folder) -> Folder:
    """The folder of the splits; an empty one where it is not there."""
    for outer in (root, *root.folders.values()):
        for names in (KAGGLE_IMAGES, KAGGLE_IMAGES[1:]):
            folder = outer
            for name in names:
                folder = folder.folders.get(name, Folder(""))
            if folder.folders:
                return folder
    return Folder("")


KIT = Reader("imagenet-devkit", KIT_LAYOUT, _is_kit, _read_kit)
KAGGLE = Reader("imagenet-kaggle", KAGGLE_LAYOUT, _is_kaggle, _read_kaggle)
