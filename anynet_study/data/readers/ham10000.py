"""HAM10000: images in part folders, labels and lesions in a metadata table, no official split."""

from pathlib import PurePosixPath

from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.readers.tables import checked_id, read_table
from anynet_study.data.source import Source
from anynet_study.data.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "HAM10000"
#: The table has no suffix, .csv or .tab, depending on where it was downloaded.
TABLES = ("ham10000_metadata", "ham10000_metadata.csv", "ham10000_metadata.tab")


def recognises(root: Folder) -> bool:
    """A metadata table under one of its names."""
    return any(name.lower() in TABLES for name in root.files)


def read(source: Source, root: Folder) -> Listing:
    """Classes are the diagnoses; images of one lesion are one group.

    One download holds every image twice, in part folders of different case: the first is taken.
    """
    table = next(root.join(name) for name in root.files if name.lower() in TABLES)
    where = source.where(table)
    rows = read_table(source, table, ("lesion_id", "image_id", "dx"))
    images: dict[str, str] = {}
    for name in root.images():
        images.setdefault(PurePosixPath(name).stem, name[len(root.join("")) :])
    missing = [row["image_id"] for row in rows if checked_id(where, row["image_id"]) not in images]
    if missing:
        raise UserError(
            f"{where}: {len(missing)} of its {len(rows)} images are not below "
            f"{source.where(root.path)}, the first is {missing[0]}"
        )
    classes = tuple(sorted({row["dx"] for row in rows}))
    examples = {
        row["image_id"]: Example(
            images[row["image_id"]], classes.index(row["dx"]), row["lesion_id"]
        )
        for row in rows
    }
    if len(examples) < len(rows):
        raise UserError(f"{where}: an image id occurs twice")
    ordered = sorted(examples.values(), key=lambda example: example.name)
    return Listing(LAYOUT, root.path, classes, ordered, None, root.count() - len(ordered))
