"""Moorea Labeled Corals: as photos with annotated points, or as patches that are cut out.

A photo `X.jpg` has a file `X.jpg.txt` of lines `row; column; label` in a folder of its year.
"""

import re
from collections import Counter
from dataclasses import replace

from anynet_study.core.errors import UserError, some_of
from anynet_study.data.readers.folders import read_as
from anynet_study.data.readers.listing import Example, Listing, Reader
from anynet_study.data.source.encoded import Around
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder, is_image

POINTS_LAYOUT, PATCHES_LAYOUT = "MLC (photos with points)", "MLC (patches)"
#: The nine that the study keeps.
CLASSES = tuple("Acropora CCA Macroalgae Montipora Pavona Pocillopora Porites Sand Turf".split())  # noqa: SIM905
#: By the class in lower case, as the spelling varies, its number.
NUMBERS = {name.casefold(): number for number, name in enumerate(CLASSES)}
YEAR = "2008"
POINT = re.compile(r"(\d{1,6})(?:\.\d*)?\s*;\s*(\d{1,6})(?:\.\d*)?\s*;\s*(\S.*)")
#: Height and width in the study (paper 1, Table 1), in pixels of the photo.
PATCH_SIZE = 312
MAX_PATCH = 4096
POINTS_BYTES = 16 << 20
#: Labels named in a message.
LABELS_SHOWN = 10
#: Folders of patches: fewer could be anybody's folders Sand and Turf.
FEWEST_CLASSES = 5
#: The photo in the name of a patch: `PHOTO_ROW_COLUMN.png`.
PATCH = re.compile(r"[^/]+/(?:.*/)?(?P<photo>[^/]+)_\d+_\d+\.\w+")
GROUPED = "patches are named PHOTO_ROW_COLUMN: those of one photo stay on one side of the split"
UNGROUPED = (
    "the names of the patches (not PHOTO_ROW_COLUMN) do not say which photo they are from: patches "
    "of one photo are on both sides of the split"
)


def _photos(folder: Folder) -> list[str]:
    """The images of `folder` that have a file of points."""
    files = set(folder.files)
    return [name for name in folder.files if is_image(name) and f"{name}.txt" in files]


def _is_points(source: Source, root: Folder) -> bool:
    """Photos with `.txt` beside them, here or in folders."""
    return any(_photos(folder) for folder in (root, *root.folders.values()))


def _read_points(source: Source, root: Folder) -> Listing:
    """The points of the nine classes, case ignored, grouped by photo; of several years 2008.

    A patch that would leave its photo is moved inside. Points of other labels are left out and
    counted in a note; of several points at one place the first is taken.
    """
    chosen = source.choices.patch_size
    side = PATCH_SIZE if chosen is None else chosen
    if not 1 <= side <= MAX_PATCH:
        raise UserError(f"--patch-size {side}: legal are 1..{MAX_PATCH} pixels")
    years = [root.folders[YEAR]] if YEAR in root.folders else list(root.folders.values())
    photos = [folder.join(photo) for folder in (root, *years) for photo in _photos(folder)]
    prefix = len(root.join(""))
    examples: list[Example] = []
    others: Counter[str] = Counter()
    for photo in photos:
        points = _points(source, f"{photo}.txt")
        examples += _patches(photo[prefix:], points, side)
        others.update(label for label in points.values() if label.casefold() not in NUMBERS)
    if not examples:
        raise UserError(
            f"{source.where(root.path)}: no point of the classes {', '.join(CLASSES)}; there are "
            f"{_most_frequent(others)}"
        )
    notes = [f"patches of {side}x{side} px around the points of {len(photos)} photos"]
    if others:
        notes += [f"left out: {others.total()} points of other labels: {_most_frequent(others)}"]
    unread = [name for name in root.folders if root.folders[name] not in years]
    notes += [f"not read: {', '.join(unread)}; the study uses {YEAR}"] if unread else []
    present = sorted({example.label for example in examples})
    classes = tuple(CLASSES[label] for label in present)
    examples = [replace(example, label=present.index(example.label)) for example in examples]
    files = 2 * len(photos)
    return Listing.found(POINTS_LAYOUT, root, classes, examples, files=files, notes=tuple(notes))


def _most_frequent(labels: Counter[str]) -> str:
    """Labels with their numbers of points, so that one that is only spelled otherwise is seen."""
    told = (f"{label} ({count})" for label, count in labels.most_common())
    return ", ".join(some_of(told, LABELS_SHOWN)) or "none"


def _points(source: Source, name: str) -> dict[tuple[int, int], str]:
    """Labels by row and column; UserError naming file and line for what is no point."""
    where = source.where(name)
    try:
        lines = source.member(name).read(POINTS_BYTES).decode("utf-8-sig").splitlines()
    except ValueError as error:
        raise UserError(f"{where}: not a readable list of points ({error})") from error
    points: dict[tuple[int, int], str] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = POINT.fullmatch(line.strip())
        if match is None:
            raise UserError(f"{where}: line {number} is not 'row; column; label'")
        points.setdefault((int(match[1]), int(match[2])), match[3])
    return points


def _patches(photo: str, points: dict[tuple[int, int], str], side: int) -> list[Example]:
    """The points of `photo` that are of the nine classes."""
    return [
        Example(
            f"{photo}/{row:05d}_{column:05d}",
            NUMBERS[label.casefold()],
            group=photo,
            file=photo,
            area=Around(row, column, side),
        )
        for (row, column), label in points.items()
        if label.casefold() in NUMBERS
    ]


def _is_patches(source: Source, root: Folder) -> bool:
    """Folders of the nine classes only, case ignored, and five of them at least."""
    names = [name.casefold() for name in root.folders]
    return len(names) >= FEWEST_CLASSES and set(names) <= NUMBERS.keys()


def _read_patches(source: Source, root: Folder) -> Listing:
    """Patches of one photo are one group where all their names say which photo."""
    listing = read_as(PATCHES_LAYOUT, source, root, root)
    photos = [PATCH.fullmatch(example.name) for example in listing.train]
    named = [match["photo"] for match in photos if match is not None]
    if len(named) < len(photos):
        return replace(listing, notes=(UNGROUPED,))
    examples = [
        replace(example, group=photo) for example, photo in zip(listing.train, named, strict=True)
    ]
    return replace(listing, train=examples, notes=(GROUPED,))


MLC_POINTS = Reader("mlc-points", POINTS_LAYOUT, _is_points, _read_points, ("patch_size",))
MLC_PATCHES = Reader("mlc-patches", PATCHES_LAYOUT, _is_patches, _read_patches)
