"""CCT-20, camera traps: COCO annotations of five official parts, train and two pairs of tests."""

from anynet_study.data.readers.coco import CocoPart, read_coco
from anynet_study.data.readers.images_by_id import ImagesById
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "CCT-20"
CHOICES = ("test_part",)
ANNOTATIONS = "_annotations.json"
TRAIN = "train"
#: The test photos of the places that are trained on (as paper 3 uses), and those of other places.
TESTS = ("cis_test", "trans_test", "cis_val", "trans_val")
#: Photos without an animal.
EMPTY = 30


def recognises(source: Source, root: Folder) -> bool:
    """`train_annotations.json` and `cis_test_annotations.json`, at any depth."""
    return None not in (_annotations(root, TRAIN), _annotations(root, TESTS[0]))


def read(source: Source, root: Folder) -> Listing:
    """The official training photos, and one of the test parts: cis_test unless chosen otherwise.

    Left out, with a note: photos of nothing, of several classes, and of a class that is not
    trained on.
    """
    part = source.choices.test_part or TESTS[0]
    if part not in TESTS:
        raise UserError(f"--test-part {part!r}: legal: {', '.join(TESTS)}")
    train, test = (_part(source, root, name) for name in (TRAIN, part))
    classes = tuple(sorted({label for label in train.labels.values() if label is not None}))
    images = ImagesById(source, root, root)
    training, testing = (_examples(part, classes, images) for part in (train, test))
    left_out = len(train.labels) + len(test.labels) - len(training) - len(testing)
    notes = [f"test images are of the part {part}; --test-part takes {', '.join(TESTS)}"]
    notes += [f"left out: {left_out} photos that are empty or not of one trained class"]
    ignored = root.count() - len(training) - len(testing)
    return Listing(LAYOUT, root.path, classes, training, testing, ignored, notes=tuple(notes))


def _examples(part: CocoPart, classes: tuple[str, ...], images: ImagesById) -> list[Example]:
    number = {name: label for label, name in enumerate(classes)}
    named = [name for name, label in part.labels.items() if label in number]
    paths = images.require(named, part.where)
    examples = [
        Example(path, number[part.labels[name] or ""])
        for name, path in zip(named, paths, strict=True)
    ]
    return sorted(examples, key=lambda example: example.name)


def _part(source: Source, root: Folder, name: str) -> CocoPart:
    path = _annotations(root, name)
    if path is None:
        raise UserError(f"{source.where(root.path)}: no {name}{ANNOTATIONS}")
    return read_coco(source, path, dropped=EMPTY)


def _annotations(root: Folder, name: str) -> str | None:
    wanted = f"{name}{ANNOTATIONS}"
    return next((folder.join(wanted) for folder in root.walk() if wanted in folder.files), None)
