"""ImageNet as its Kaggle competition serves it: flat validation images with a CSV of labels."""

from pathlib import Path

from anynet_study.data.readers.class_folders import read_classes
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.readers.scan import count_files, find_images
from anynet_study.data.readers.tables import checked_id, read_table
from anynet_study.errors import UserError

LAYOUT = "ImageNet (Kaggle)"
IMAGES = Path("ILSVRC/Data/CLS-LOC")
SOLUTION = "LOC_val_solution.csv"


def recognises(root: Path) -> bool:
    """`ILSVRC/Data/CLS-LOC/train` with `LOC_val_solution.csv` beside `ILSVRC`."""
    return (root / IMAGES / "train").is_dir() and (root / SOLUTION).is_file()


def read(root: Path) -> Listing:
    """Train from its wnid folders, test from `val` with the labels of the CSV."""
    train_folder, val_folder = root / IMAGES / "train", root / IMAGES / "val"
    classes, train, ignored = read_classes(train_folder, root)
    labels = {wnid: label for label, wnid in enumerate(classes)}
    images = {Path(name).stem: name for name in find_images(val_folder, root)[0]}
    table = root / SOLUTION
    test = []
    for row in read_table(table, ("ImageId", "PredictionString")):
        image = checked_id(table, row["ImageId"])
        wnid = row["PredictionString"].split(" ")[0]
        if wnid not in labels:
            raise UserError(f"{table}: image {image} is of class {wnid!r}, which train/ lacks")
        if image not in images:
            raise UserError(f"{table}: image {image} is not in {val_folder}")
        test.append(Example(images.pop(image), labels[wnid]))
    test.sort(key=lambda example: example.name)
    ignored = count_files(root) - len(train) - len(test)
    return Listing(LAYOUT, root, classes, train, test, ignored)
