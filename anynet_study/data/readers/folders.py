"""Datasets of one folder per class, with or without split folders; some are known by the names."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath

from anynet_study.core.errors import UserError, counted, some_of
from anynet_study.data.readers.listing import Example, Listing, Reader
from anynet_study.data.readers.names import no_classes, part_of
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder

CLASS_IMAGE, SPLIT_CLASS_IMAGE = "class/image", "split/class/image"
#: Files named in a note.
SHOWN = 3

#: Endings of files in folders beside that of the images.
BESIDE_IMAGES = (
    *(".txt", ".csv", ".tsv", ".json", ".jsonl", ".xml", ".yaml", ".yml", ".md", ".pdf", ".html"),
    *(".py", ".m", ".mat", ".xlsx", ".doc", ".docx", ".bib", ".names", ".parquet"),
)
CONCRETE_CLASSES = {"negative", "positive"}
CONCRETE_NOTE = (
    "the patches were cut from 458 photos and do not say which: patches of one photo are on both "
    "sides of the split"
)
#: Names of species by GBIF; shorter numbers are class indices of other datasets.
SPECIES_KEY = re.compile(r"\d{5,}")
INSECTS_NOTE = (
    "classes are species keys in the order of strings: label k is the k-th class listed here"
)
EUROSAT_CLASSES = {
    *("AnnualCrop", "Forest", "HerbaceousVegetation", "Highway", "Industrial", "Pasture"),
    *("PermanentCrop", "Residential", "River", "SeaLake"),
}
#: Powerline's label by token, TV (line) or TY (none), in either order with the band.
POWERLINE_LABELS = {"TY": 0, "TV": 1}
POWERLINE_NAME = re.compile(
    r"(?:(?:IR|VL)[ _-](?P<last>TV|TY)|(?P<first>TV|TY)[ _-](?:IR|VL))(?![A-Z])", re.I
)


def read_classes(
    source: Source, folder: Folder, root: Folder, classes: tuple[str, ...] | None = None
) -> tuple[tuple[str, ...], list[Example]]:
    """The classes of `folder` and their examples by name relative to `root`, sorted.

    `classes`, where given, are what the folders must be.
    """
    found = tuple(unicodedata.normalize("NFC", name) for name in folder.folders)
    if classes is not None and found != classes:
        stray = min(set(found) ^ set(classes))
        side = "only" if stray in found else "not"
        raise UserError(f"{source.where(folder.path)}: class {stray!r} is {side} in this split")
    examples: list[Example] = []
    for label, inner in enumerate(folder.folders.values()):
        images = inner.images(root)
        if not images:
            raise UserError(f"{source.where(inner.path)}: the class folder is empty")
        examples += [Example(image, label) for image in images]
    return found, sorted(examples, key=lambda example: example.name)


def read_as(
    layout: str, source: Source, folder: Folder, root: Folder, notes: tuple[str, ...] = ()
) -> Listing:
    """`folder`, which is `root` or in it, as `class/image`; other files are counted as ignored."""
    classes, examples = read_classes(source, folder, folder)
    ignored = root.count() - len(examples)
    notes += _unread_in(folder)
    return Listing(layout, folder.path, classes, examples, None, ignored, notes=notes)


def _unread_in(folder: Folder) -> tuple[str, ...]:
    """A note on the files in the class folders of `folder` that are no images by their names."""
    stray = [
        outer.join(path)
        for outer in folder.folders.values()
        for path, inner, name in outer.below()
        if not inner.is_image(name)
    ]
    told = f"{counted(len(stray), 'file')} ({', '.join(some_of(stray, SHOWN))})"
    return (f"in class folders, but not called like images: {told}",) if stray else ()


def inner_root(root: Folder, fits: Callable[[Folder], bool]) -> Folder | None:
    """The folder that fits, of those reached from `root` through the one that holds images.

    The folders beside it may hold what goes with images: tables and texts.
    """
    while not fits(root):
        holding = [folder for folder in root.folders.values() if folder.holds_images()]
        if len(holding) != 1 or root.first_image() is not None:
            return None
        others = (folder for folder in root.folders.values() if folder is not holding[0])
        files = (name for folder in others for _, _, name in folder.below())
        if not all(name.lower().endswith(BESIDE_IMAGES) for name in files):
            return None
        root = holding[0]
    return root


def hold_classes(root: Folder) -> bool:
    """Two folders or more, at least one of them with images directly in it."""
    return len(root.folders) >= 2 and any(map(Folder.first_image, root.folders.values()))


def class_folders(source: Source, root: Folder) -> Listing:
    """Every folder is a class; images may lie at any depth in it."""
    return read_as(CLASS_IMAGE, source, root, root)


def _has_classes(folder: Folder) -> bool:
    """Whether `folder` holds class folders with images."""
    return any(map(Folder.holds_images, folder.folders.values()))


def hold_splits(root: Folder) -> bool:
    """A training folder with class folders."""
    return any(map(_has_classes, _named(root, "train")))


def split_folders(source: Source, root: Folder) -> Listing:
    """Train and test; validation is the test split where there is no labelled test.

    Without either, the training folder is read as `class/image`. Other folders (unlabelled
    images, a validation split beside a test split) are counted as ignored.
    """
    train = _split(source, root, "train")
    assert train is not None
    test = _test_split(source, root)
    if test is None:
        listing = class_folders(source, train)
        ignored = root.count() - len(listing.train)
        return replace(listing, ignored=ignored, notes=_unread(root, (train,)) + listing.notes)
    classes, training = read_classes(source, train, root)
    _, testing = read_classes(source, test, root, classes)
    notes = _unread(root, (train, test)) + _unread_in(train) + _unread_in(test)
    return Listing.found(SPLIT_CLASS_IMAGE, root, classes, training, testing, notes=notes)


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
    found = [_split(source, root, part) for part in ("test", "validation")]
    labelled = split_parts(root)
    return next((f for f in found if f in labelled and f is not None and _has_classes(f)), None)


def require_labels(source: Source, root: Folder) -> None:
    """UserError where a validation split holds images, but no class folders."""
    for folder in _named(root, "validation"):
        if folder.holds_images():
            raise UserError(
                f"{source.where(folder.path)}: images without class folders, so without labels "
                "(ImageNet's needs LOC_val_solution.csv beside the folder ILSVRC)"
            )


def _split(source: Source, root: Folder, part: str) -> Folder | None:
    """The folder of one split."""
    found = _named(root, part)
    if len(found) > 1:
        both = " and ".join(repr(folder.name) for folder in found)
        raise UserError(f"{source.where(root.path)}: {both} are the same split; keep one of them")
    return found[0] if found else None


def split_parts(root: Folder) -> list[Folder]:
    """The folders of the splits, but for those of other folders than train's, none of a class."""
    train = _named(root, "train")
    classes = {name for folder in train for name in folder.folders}
    others = [folder for part in ("test", "validation") for folder in _named(root, part)]
    return train + [
        folder
        for folder in others
        if classes & folder.folders.keys()
        or len(no_classes([*folder.folders])) < len(folder.folders)
    ]


def _named(root: Folder, part: str) -> list[Folder]:
    """The folders that are called like this part; the inner one where it is doubled."""
    return [
        folder.folders[name] if [*folder.folders] == [name] else folder
        for name, folder in root.folders.items()
        if part_of(name) == part
    ]


def _is_concrete(source: Source, root: Folder) -> bool:
    """Folders `Negative` and `Positive` with images whose names are numbers."""
    folders = {name.lower(): folder for name, folder in root.folders.items()}
    return folders.keys() == CONCRETE_CLASSES and all(
        (folder.first_image() or "x")[:5].isdigit() for folder in folders.values()
    )


def _is_insects(source: Source, root: Folder) -> bool:
    """Two folders or more with images in them, all named by numbers of five digits or more."""
    named = len(root.folders) >= 2 and all(map(SPECIES_KEY.fullmatch, root.folders))
    return named and any(map(Folder.first_image, root.folders.values()))


def eurosat_folders(root: Folder) -> list[Folder]:
    """Folders with its ten classes: this one, or one such as `2750` or `EuroSAT_MS`."""
    folders = (root, *root.folders.values())
    return [folder for folder in folders if folder.folders.keys() == EUROSAT_CLASSES]


def read_eurosat(source: Source, root: Folder) -> Listing:
    """The RGB images; UserError where there are only the TIFFs of 13 bands."""
    candidates = eurosat_folders(root)
    for folder in candidates:
        images = (inner.first_image() or "" for inner in folder.folders.values())
        if not any(image.lower().endswith((".tif", ".tiff")) for image in images):
            return read_as("EuroSAT", source, folder, root)
    raise UserError(
        f"{source.where(candidates[0].path)}: the TIFFs of 13 bands are not read; get the RGB "
        "images of EuroSAT (2750/ or EuroSAT_RGB/)"
    )


def _is_powerline(source: Source, root: Folder) -> bool:
    """Folders (or this folder) whose first image has a name with a label."""
    firsts = [folder.first_image() for folder in (root, *root.folders.values())]
    return any(image is not None and POWERLINE_NAME.match(image) for image in firsts)


def _read_powerline(source: Source, root: Folder) -> Listing:
    """Flat folders by band; every image must carry its label, UserError names one that does not."""
    examples = []
    for image in root.images(root):
        match = POWERLINE_NAME.match(PurePosixPath(image).name)
        if match is None:
            where = source.where(root.join(image))
            raise UserError(f"{where}: no label (TV or TY, with IR or VL) in the file name")
        token = (match["first"] or match["last"]).upper()
        examples.append(Example(image, POWERLINE_LABELS[token]))
    return Listing.found("Powerline", root, ("no powerline", "powerline"), examples)


#: File names repeat across its classes, so an image is known by class and name.
CONCRETE = Reader(
    "concrete",
    "Concrete",
    _is_concrete,
    lambda source, root: read_as("Concrete", source, root, root, (CONCRETE_NOTE,)),
)
#: The keys are the classes; sorted as strings, 10001 comes before 2001.
INSECTS = Reader(
    "insects",
    "Insects",
    _is_insects,
    lambda source, root: read_as("Insects", source, root, root, (INSECTS_NOTE,)),
)
POWERLINE = Reader("powerline", "Powerline", _is_powerline, _read_powerline)
