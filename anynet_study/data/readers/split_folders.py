"""`split/class/image`: official splits as folders, also doubled (`seg_train/seg_train/...`)."""

from dataclasses import replace

from anynet_study.data.readers import class_folders
from anynet_study.data.readers.listing import Listing
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "split/class/image"
TRAIN = ("train", "training", "seg_train")
TEST = ("test", "testing", "seg_test")
VALIDATION = ("val", "valid", "validation")


def recognises(source: Source, root: Folder) -> bool:
    """A training folder with class folders."""
    return any(map(class_folders.has_classes, _named(root, TRAIN)))


def read(source: Source, root: Folder) -> Listing:
    """Train and test; validation is the test split where there is no labelled test.

    Without either, the training folder is read as `class/image`. Other folders (unlabelled
    images, a validation split beside a test split) are counted as ignored.
    """
    train = _split(source, root, TRAIN)
    assert train is not None
    test = _test_split(source, root)
    if test is None:
        listing = class_folders.read(source, train)
        ignored = root.count() - len(listing.train)
        return replace(listing, ignored=ignored, notes=_unread(root, (train,)) + listing.notes)
    classes, training = class_folders.read_classes(source, train, root)
    _, testing = class_folders.read_classes(source, test, root, classes)
    ignored = root.count() - len(training) - len(testing)
    notes = _unread(root, (train, test))
    notes += tuple(note for split in (train, test) for note in class_folders.unread_in(split))
    return Listing(LAYOUT, root.path, classes, training, testing, ignored, notes=notes)


def _unread(root: Folder, read: tuple[Folder, ...]) -> tuple[str, ...]:
    """A note on each folder of images that is neither split."""
    outer = {folder.path.removeprefix(root.join("")).partition("/")[0] for folder in read}
    counts = {n: len(folder.images()) for n, folder in root.folders.items() if n not in outer}
    return tuple(
        f"{name}: {images} images not read, neither of train nor of test"
        for name, images in counts.items()
        if images
    )


def _test_split(source: Source, root: Folder) -> Folder | None:
    test, validation = _split(source, root, TEST), _split(source, root, VALIDATION)
    for folder in (test, validation):
        if folder is not None and class_folders.has_classes(folder):
            return folder
    if validation is not None and validation.holds_images():
        raise UserError(
            f"{source.where(validation.path)}: images without class folders, so without labels "
            "(ImageNet's needs LOC_val_solution.csv beside the folder ILSVRC)"
        )
    return None


def _split(source: Source, root: Folder, names: tuple[str, ...]) -> Folder | None:
    """The folder of one split."""
    found = _named(root, names)
    if len(found) > 1:
        both = " and ".join(repr(folder.name) for folder in found)
        raise UserError(f"{source.where(root.path)}: {both} are the same split; keep one of them")
    return found[0] if found else None


def _named(root: Folder, names: tuple[str, ...]) -> list[Folder]:
    """The folders of these names, whatever their case; the inner one where it is doubled."""
    return [
        folder.folders.get(name, folder)
        for name, folder in root.folders.items()
        if name.lower() in names
    ]
