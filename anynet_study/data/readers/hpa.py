"""Human Protein Atlas (2018): cells in four stains, a file each; several classes an image."""

from collections import Counter

from anynet_study.data.readers.images_by_id import ImagesById
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.readers.tables import checked_id, columns_of, read_table
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "HPA"
TABLE = "train.csv"
COLUMNS = ("Id", "Target")
STAINS = ("red", "green", "blue", "yellow")
CLASS_COUNT = 28


def recognises(source: Source, root: Folder) -> bool:
    """A `train.csv` with the columns Id and Target."""
    table = root.join(TABLE)
    return TABLE in root.files and set(COLUMNS) <= set(columns_of(source, table))


def read(source: Source, root: Folder) -> Listing:
    """Classes by number, 0 to 27; the rarest class of an image is the one it is stratified by.

    Red, green and blue are the channels of an image, half of yellow is added to red and green.
    """
    table = root.join(TABLE)
    where = source.where(table)
    targets: dict[str, list[int]] = {}
    for row in read_table(source, table, COLUMNS):
        name = checked_id(where, row["Id"])
        if name in targets:
            raise UserError(f"{where}: image id {name} occurs twice")
        targets[name] = _labels(where, name, row["Target"])
    files = [f"{name}_{stain}" for name in targets for stain in STAINS]
    paths = ImagesById(source, root.folders.get("train", root), root).require(files, where)
    images = Counter(label for labels in targets.values() for label in labels)
    present = sorted(images)
    examples = []
    for number, (name, labels) in enumerate(targets.items()):
        channels = tuple(paths[len(STAINS) * number :][: len(STAINS)])
        first, *others = sorted(labels, key=lambda label: (images[label], label))
        also = tuple(present.index(label) for label in sorted(others))
        examples.append(Example(name, present.index(first), also=also, channels=channels))
    examples.sort(key=lambda example: example.name)
    classes = tuple(map(str, present))
    ignored = root.count() - len(STAINS) * len(examples)
    return Listing(LAYOUT, root.path, classes, examples, None, ignored, multi_label=True)


def _labels(where: str, name: str, target: str) -> list[int]:
    """The distinct numbers in `target`, which has spaces between them."""
    words = target.split()
    legal = {str(number) for number in range(CLASS_COUNT)}
    if not words or not set(words) <= legal:
        raise UserError(f"{where}: target {target!r} of {name}: legal are numbers 0 to 27")
    return list(map(int, dict.fromkeys(words)))
