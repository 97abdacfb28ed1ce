"""HAM10000: images in part folders, labels and lesions in a metadata table, no official split."""

from anynet_study.data.readers.labelled_table import Columns, read_labelled
from anynet_study.data.readers.listing import Listing
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder

LAYOUT = "HAM10000"
#: The table has no suffix, .csv or .tab, depending on where it was downloaded.
TABLES = ("ham10000_metadata", "ham10000_metadata.csv", "ham10000_metadata.tab")
COLUMNS = Columns("image_id", "dx", "lesion_id")


def recognises(source: Source, root: Folder) -> bool:
    """A metadata table under one of its names."""
    return any(name.lower() in TABLES for name in root.files)


def read(source: Source, root: Folder) -> Listing:
    """Classes are the diagnoses; images of one lesion are one group.

    One download holds every image twice, in part folders of different case: the first is taken.
    """
    table = next(root.join(name) for name in root.files if name.lower() in TABLES)
    return read_labelled(source, root, table, COLUMNS, LAYOUT)
