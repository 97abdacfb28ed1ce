"""`split/class/image`: official splits as folders, also doubled (`seg_train/seg_train/...`)."""

from pathlib import Path

from anynet_study.data.readers import class_folders
from anynet_study.data.readers.listing import Listing
from anynet_study.data.readers.scan import count_files, find_images, subfolders
from anynet_study.errors import UserError

LAYOUT = "split/class/image"
TRAIN = ("train", "training", "seg_train")
TEST = ("test", "testing", "seg_test")
VALIDATION = ("val", "valid", "validation")


def recognises(root: Path) -> bool:
    """A training folder with class folders."""
    train = _split(root, TRAIN)
    return train is not None and class_folders.has_classes(train)


def read(root: Path) -> Listing:
    """Train and test; validation is the test split where there is no labelled test.

    Without either, the training folder is read as `class/image`. Other folders (unlabelled
    images, a validation split beside a test split) are counted as ignored.
    """
    train = _split(root, TRAIN)
    assert train is not None
    test = _test_split(root)
    if test is None:
        listing = class_folders.read(train)
        ignored = count_files(root) - len(listing.train)
        return Listing(class_folders.LAYOUT, train, listing.classes, listing.train, None, ignored)
    classes, train_examples, _ = class_folders.read_classes(train, root)
    _, test_examples, _ = class_folders.read_classes(test, root, classes)
    ignored = count_files(root) - len(train_examples) - len(test_examples)
    return Listing(LAYOUT, root, classes, train_examples, test_examples, ignored)


def _test_split(root: Path) -> Path | None:
    test, validation = _split(root, TEST), _split(root, VALIDATION)
    for folder in (test, validation):
        if folder is not None and class_folders.has_classes(folder):
            return folder
    if validation is not None and find_images(validation, root)[0]:
        raise UserError(
            f"{validation}: images without class folders, so without labels (ImageNet's needs "
            "LOC_val_solution.csv beside the folder ILSVRC)"
        )
    return None


def _split(root: Path, names: tuple[str, ...]) -> Path | None:
    """The folder of one split, whatever its case; the inner one where it is doubled."""
    found = [folder for folder in subfolders(root) if folder.name.lower() in names]
    if len(found) > 1:
        raise UserError(f"{root}: both {found[0].name!r} and {found[1].name!r}; keep one of them")
    if not found:
        return None
    inner = found[0] / found[0].name
    return inner if inner.is_dir() else found[0]
