"""HAM10000: images in part folders, labels and lesions in a metadata table, no official split."""

from pathlib import Path

from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.readers.scan import children, count_files, find_images
from anynet_study.data.readers.tables import checked_id, read_table
from anynet_study.errors import UserError

LAYOUT = "HAM10000"
#: The table has no suffix, .csv or .tab, depending on where it was downloaded.
TABLES = ("ham10000_metadata", "ham10000_metadata.csv", "ham10000_metadata.tab")


def recognises(root: Path) -> bool:
    """A metadata table under one of its names."""
    return any(_is_table(entry) for entry in children(root))


def read(root: Path) -> Listing:
    """Classes are the diagnoses; images of one lesion are one group.

    One download holds every image twice, in part folders of different case: the first is taken.
    """
    table = next(entry for entry in children(root) if _is_table(entry))
    rows = read_table(table, ("lesion_id", "image_id", "dx"))
    images: dict[str, str] = {}
    for name in find_images(root, root)[0]:
        images.setdefault(Path(name).stem, name)
    missing = [row["image_id"] for row in rows if checked_id(table, row["image_id"]) not in images]
    if missing:
        raise UserError(
            f"{table}: {len(missing)} of its {len(rows)} images are not below {root}, "
            f"the first is {missing[0]}"
        )
    classes = tuple(sorted({row["dx"] for row in rows}))
    examples = {
        row["image_id"]: Example(
            images[row["image_id"]], classes.index(row["dx"]), row["lesion_id"]
        )
        for row in rows
    }
    if len(examples) < len(rows):
        raise UserError(f"{table}: an image id occurs twice")
    ordered = sorted(examples.values(), key=lambda example: example.name)
    return Listing(LAYOUT, root, classes, ordered, None, count_files(root) - len(ordered))


def _is_table(path: Path) -> bool:
    return path.name.lower() in TABLES and path.is_file()
