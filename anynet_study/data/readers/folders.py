"""Datasets of one folder per class, with or without split folders; some are known by the names."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath
from shlex import quote

from anynet_study.core.errors import UserError, counted, listed, some_of
from anynet_study.core.sheets import NO_WIDTH, letters_of
from anynet_study.data.readers.listing import Example, Listing, Reader
from anynet_study.data.readers.names import no_classes, not_read, part_of
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder

CLASS_IMAGE, SPLIT_CLASS_IMAGE = "class/image", "split/class/image"
#: Files named in a note.
SHOWN = 3
#: What words of a class's name may have between them: one name is written with any.
BETWEEN_WORDS = re.compile(r"(?<=\w)[\s_-]+(?=\w)|(?<=[^\W_])_+(?=[^\W_])|\s+")

#: Endings of files in folders beside that of the images.
BESIDE_IMAGES = (
    *(".txt", ".csv", ".tsv", ".json", ".jsonl", ".xml", ".yaml", ".yml", ".md", ".pdf", ".html"),
    *(".py", ".m", ".mat", ".xlsx", ".doc", ".docx", ".bib", ".names", ".parquet"),
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
    source: Source, folder: Folder, root: Folder
) -> tuple[tuple[str, ...], list[Example]]:
    """The classes of `folder` and their examples by name relative to `root`, sorted.

    UserError for a class folder without images, with what is in it instead.
    """
    found = tuple(unicodedata.normalize("NFC", name) for name in folder.folders)
    examples: list[Example] = []
    for label, inner in enumerate(folder.folders.values()):
        images = inner.images(root)
        if not images:
            raise UserError(
                f"{source.where(inner.path)}: the class folder {_without_images(inner)}"
            )
        examples += [Example(image, label) for image in images]
    return found, sorted(examples, key=lambda example: example.name)


def _without_images(folder: Folder) -> str:
    """Return what is in a folder that has no image: nothing, or files of a kind that is not
    read.
    """
    files = [name for _, _, name in folder.below()]
    if not files:
        return f"is empty; --ignore {quote(folder.name)} leaves it out"
    why = next((reason for name in files if (reason := not_read(name))), "no images by their names")
    return f"holds {counted(len(files), 'file')} such as {files[0]} ({why})"


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
    """Two folders or more, and in most of those with images these are directly in them.

    Or in one folder of no name of its own in each, such as `images`: a stray image elsewhere does
    not change what folders mean.
    """
    holding = [folder for folder in root.folders.values() if folder.holds_images()]
    direct = sum(map(_directly, holding))
    most = 0 < len(holding) <= 2 * direct
    return len(root.folders) >= 2 and (most or _in_one_folder_each(holding))


def _directly(folder: Folder) -> bool:
    """Tell whether most images of a folder are directly in it."""
    if folder.first_image() is None:
        return False
    if not any(map(Folder.holds_images, folder.folders.values())):
        return True
    images = sum(map(folder.is_image, folder.files))
    return 2 * images >= len(folder.images())


def _in_one_folder_each(folders: list[Folder]) -> bool:
    """Tell whether each has one folder, called alike in all and as no class, with images in it."""
    inner = {(*folder.folders,) for folder in folders}
    if len(inner) != 1 or len(names := next(iter(inner))) != 1 or not no_classes(names):
        return False
    return all(folder.folders[names[0]].first_image() is not None for folder in folders)


def class_folders(source: Source, root: Folder) -> Listing:
    """Every folder is a class; images may lie at any depth in it.

    Where all lie in several folders in it, as those of videos do, these are groups.
    """
    listing = read_as(CLASS_IMAGE, source, root, root)
    inside = [[f for f in c.folders.values() if f.holds_images()] for c in root.folders.values()]
    deep = all(len(folders) > 1 for folders in inside)
    if not deep or any(folder.first_image() for folder in root.folders.values()):
        return listing
    train = [replace(e, group="/".join(e.name.split("/")[:2])) for e in listing.train]
    return replace(listing, train=train, groups_from="folders in the class folders")


def _has_classes(folder: Folder) -> bool:
    """Tell whether `folder` holds class folders with images."""
    return any(map(Folder.holds_images, folder.folders.values()))


def hold_splits(root: Folder) -> bool:
    """A training folder with class folders."""
    return any(map(_has_classes, _named(root, "train")))


def split_folders(source: Source, root: Folder) -> Listing:
    """Train and test; validation is the test split where there is no labelled test.

    Without either, the training folder is read as `class/image`. Other folders (unlabelled
    images, a validation split beside a test split) are counted as ignored. UserError where the test
    split has a class that is no training class.
    """
    train = _split(source, root, "train")
    assert train is not None
    test = _test_split(source, root)
    if test is None:
        listing = class_folders(source, train)
        ignored = root.count() - len(listing.train)
        return replace(listing, ignored=ignored, notes=_unread(root, (train,)) + listing.notes)
    trained, training = read_classes(source, train, root)
    tested, testing = read_classes(source, test, root)
    known = {plain_name(name) for name in trained}
    if odd := [name for name in tested if plain_name(name) not in known]:
        none = "none of its classes has training images: " * (len(odd) == len(tested))
        told = f"{none}class {listed([*map(repr, odd[:SHOWN])])} is only in this split"
        letters = {letters_of(plain_name(name)): name for name in trained}
        likes = ((name, letters.get(letters_of(plain_name(name)))) for name in odd)
        told += "".join(f"; if {name} is {it}, rename its folder" for name, it in likes if it)
        paths = quote(",".join(test.join(name) for name in odd))
        raise UserError(f"{source.where(test.path)}: {told}; --ignore {paths} leaves it out")
    classes = tuple(dict.fromkeys((*trained, *tested)))
    testing = [replace(e, label=classes.index(tested[e.label])) for e in testing]
    notes = _unread(root, (train, test)) + _unread_in(train) + _unread_in(test)
    return Listing.found(SPLIT_CLASS_IMAGE, root, classes, training, testing, notes=notes)


def plain_name(name: str) -> str:
    """The name of a class without case, marks between words, and characters without width.

    >>> plain_name("Sea-Lake") == plain_name("sea lake")
    True
    """
    plain = unicodedata.normalize("NFKC", name).translate(NO_WIDTH).casefold().strip()
    return BETWEEN_WORDS.sub(" ", plain)


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
    train = _split(source, root, "train")
    one = train is not None and len(train.folders) > 1  # a test split of one class is a placeholder
    found = [folder for folder in found if folder and not (one and len(folder.folders) == 1)]
    labelled = split_parts(root)
    return next((f for f in found if f in labelled and f is not None and _has_classes(f)), None)


def require_labels(source: Source, root: Folder) -> None:
    """UserError where a validation split holds images, but no class folders."""
    for folder in _named(root, "validation"):
        if folder.holds_images():
            raise UserError(
                f"{source.where(folder.path)}: images without class folders, so without labels "
                "(ImageNet's needs LOC_val_solution.csv beside the folder ILSVRC, or its "
                "development kit and --layout imagenet-devkit)"
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


def eurosat_folders(root: Folder) -> list[Folder]:
    """Folders with its ten classes: this one, or one such as `2750` or `EuroSAT_MS`."""
    folders = (root, *(f for name, f in root.folders.items() if part_of(name) is None))
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


EUROSAT = Reader(
    "eurosat",
    "EuroSAT",
    lambda source, root: bool(eurosat_folders(root)),
    read_eurosat,
)
POWERLINE = Reader("powerline", "Powerline", _is_powerline, _read_powerline)
