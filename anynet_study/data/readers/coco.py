"""CCT-20, camera traps: COCO annotations of five official parts, train and two pairs of tests."""

from collections import defaultdict
from typing import Any

from anynet_study.data.readers.image_finder import ImageFinder
from anynet_study.data.readers.listing import Example, Listing, Reader
from anynet_study.data.readers.safe_files import checked_id, read_json
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "CCT-20"
ANNOTATIONS = "_annotations.json"
TRAIN = "train"
#: The test photos of the places that are trained on (as paper 3 uses), and those of other places.
TESTS = ("cis_test", "trans_test", "cis_val", "trans_val")
#: Photos without an animal.
EMPTY = 30


def read_coco(source: Source, name: str, dropped: int) -> dict[str, str | None]:
    """By file name the class of each photo in the file `name`; None where it is not of exactly one.

    Annotations of category `dropped` are none. UserError if the file is not of this format, or a
    photo's name could lead to another folder.
    """
    where, content = source.where(name), read_json(source, name)
    try:
        categories = {_id(row): str(row["name"]) for row in content["categories"]}
        files = {row["id"]: str(row["file_name"]) for row in content["images"]}
        found: dict[Any, set[str]] = defaultdict(set)
        for row in content["annotations"]:
            if row["category_id"] != dropped:
                found[row["image_id"]].add(categories[row["category_id"]])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{where}: not annotations in COCO's format ({error})") from error
    return {
        checked_id(where, file): next(iter(found[number])) if len(found[number]) == 1 else None
        for number, file in files.items()
    }


def _id(row: dict[str, Any]) -> int:
    if type(row["id"]) is not int:
        raise ValueError(f"category id {row['id']!r} is not a number")
    return row["id"]


def _annotations(root: Folder, name: str) -> str | None:
    wanted = f"{name}{ANNOTATIONS}"
    return next((folder.join(wanted) for folder in root.walk() if wanted in folder.files), None)


def _recognises(source: Source, root: Folder) -> bool:
    """`train_annotations.json` and `cis_test_annotations.json`, at any depth."""
    return None not in (_annotations(root, TRAIN), _annotations(root, TESTS[0]))


def _read(source: Source, root: Folder) -> Listing:
    """The official training photos, and one of the test parts: cis_test unless chosen otherwise.

    Left out, with a note: photos of nothing, of several classes, and of a class that is not
    trained on.
    """
    part = source.choices.test_part or TESTS[0]
    if part not in TESTS:
        raise UserError(f"--test-part {part!r}: legal: {', '.join(TESTS)}")
    train, test = (_labels(source, root, name) for name in (TRAIN, part))
    classes = tuple(sorted({label for label in train.values() if label is not None}))
    images, where = ImageFinder(source, root), source.where(root.path)
    training, testing = (_examples(labels, classes, images, where) for labels in (train, test))
    left_out = len(train) + len(test) - len(training) - len(testing)
    notes = [f"test images are of the part {part}; --test-part takes {', '.join(TESTS)}"]
    notes += [f"left out: {left_out} photos that are empty or not of one trained class"]
    return Listing.found(LAYOUT, root, classes, training, testing, notes=tuple(notes))


def _labels(source: Source, root: Folder, name: str) -> dict[str, str | None]:
    path = _annotations(root, name)
    if path is None:
        raise UserError(f"{source.where(root.path)}: no {name}{ANNOTATIONS}")
    return read_coco(source, path, dropped=EMPTY)


def _examples(
    labels: dict[str, str | None], classes: tuple[str, ...], images: ImageFinder, where: str
) -> list[Example]:
    number = {name: label for name, label in labels.items() if label in classes}
    paths = images.require([*number], where)
    return [
        Example(path, classes.index(label or ""))
        for path, label in zip(paths, number.values(), strict=True)
    ]


CCT20 = Reader("cct20", LAYOUT, _recognises, _read, ("test_part",))
