"""Cassava leaf diseases: a table of images and numbered labels, their names in a JSON file."""

from collections.abc import Sequence

from anynet_study.data.readers.json_files import read_json
from anynet_study.data.readers.labelled_table import Columns, read_labelled
from anynet_study.data.readers.listing import Listing
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "Cassava"
TABLE, NAMES = "train.csv", "label_num_to_disease_map.json"


def recognises(source: Source, root: Folder) -> bool:
    """`train.csv` beside `label_num_to_disease_map.json`."""
    return {TABLE, NAMES} <= set(root.files)


def read(source: Source, root: Folder) -> Listing:
    """Classes in the order of their numbers; the unlabelled test images are ignored."""
    where = source.where(root.join(NAMES))
    names = read_json(source, root.join(NAMES))
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise UserError(f"{where}: not an object of names by number")

    def class_names(labels: Sequence[str]) -> dict[str, str]:
        unknown = [label for label in labels if label not in names]
        if unknown:
            raise UserError(f"{where}: no name for label {unknown[0]!r} of {TABLE}")
        return {label: names[label] for label in sorted(labels, key=lambda n: (len(n), n))}

    images = root.folders.get("train_images")
    table = root.join(TABLE)
    return read_labelled(
        source, root, table, Columns("image_id", "label"), LAYOUT, class_names, images
    )
