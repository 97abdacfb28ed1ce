"""ImageNet as its Kaggle competition serves it: flat validation images with a CSV of labels."""

from pathlib import PurePosixPath

from anynet_study.data.readers.class_folders import read_classes
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.readers.tables import checked_id, read_table
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "ImageNet (Kaggle)"
IMAGES = ("ILSVRC", "Data", "CLS-LOC")
SOLUTION = "LOC_val_solution.csv"


def recognises(source: Source, root: Folder) -> bool:
    """`ILSVRC/Data/CLS-LOC/{train,val}` with `LOC_val_solution.csv` beside or in `ILSVRC`.

    Also beside the archive of `ILSVRC`, which is opened as a folder with its name.
    """
    return SOLUTION in root.files and {"train", "val"} <= _images(root).folders.keys()


def read(source: Source, root: Folder) -> Listing:
    """Train from its wnid folders, test from `val` with the labels of the CSV."""
    splits = _images(root).folders
    classes, train = read_classes(source, splits["train"], root)
    labels = {wnid: label for label, wnid in enumerate(classes)}
    prefix = len(root.join(""))
    images = {PurePosixPath(name).stem: name[prefix:] for name in splits["val"].images()}
    table = source.where(root.join(SOLUTION))
    test = []
    for row in read_table(source, root.join(SOLUTION), ("ImageId", "PredictionString")):
        image = checked_id(table, row["ImageId"])
        wnid = row["PredictionString"].split(" ")[0]
        if wnid not in labels:
            raise UserError(f"{table}: image {image} is of class {wnid!r}, which train/ lacks")
        if image not in images:
            raise UserError(f"{table}: image {image} is not in {source.where(splits['val'].path)}")
        test.append(Example(images.pop(image), labels[wnid]))
    test.sort(key=lambda example: example.name)
    ignored = root.count() - len(train) - len(test)
    return Listing(LAYOUT, root.path, classes, train, test, ignored)


def _images(root: Folder) -> Folder:
    """The folder of the splits; an empty one where it is not there."""
    for outer in (root, *root.folders.values()):
        for names in (IMAGES, IMAGES[1:]):
            folder = outer
            for name in names:
                folder = folder.folders.get(name, Folder(""))
            if folder.folders:
                return folder
    return Folder("")
