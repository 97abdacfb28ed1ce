"""APTOS 2019: retina photos with the severity of retinopathy, 0 to 4."""

from anynet_study.data.readers.labelled_table import Columns, read_labelled
from anynet_study.data.readers.listing import Listing
from anynet_study.data.readers.tables import columns_of
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder

LAYOUT = "APTOS 2019"
TABLE, IMAGES = "train.csv", "train_images"
COLUMNS = Columns("id_code", "diagnosis")


def recognises(source: Source, root: Folder) -> bool:
    """`train_images` beside a `train.csv` with these columns."""
    if TABLE not in root.files or IMAGES not in root.folders:
        return False
    return set(COLUMNS.names()) <= set(columns_of(source, root.join(TABLE)))


def read(source: Source, root: Folder) -> Listing:
    """The classes are ordered; the unlabelled test images are ignored."""
    return read_labelled(
        source, root, root.join(TABLE), COLUMNS, LAYOUT, images=root.folders[IMAGES]
    )
