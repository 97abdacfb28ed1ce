"""SIIM-ISIC 2020: photos of moles, several a patient, and whether they are malignant."""

from collections.abc import Sequence

from anynet_study.data.readers.labelled_table import Columns, read_labelled
from anynet_study.data.readers.listing import Listing
from anynet_study.data.readers.tables import columns_of
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "SIIM-ISIC"
COLUMNS = Columns("image_name", "target", "patient_id")
CLASSES = {"0": "benign", "1": "malignant"}


def recognises(source: Source, root: Folder) -> bool:
    """A table with these columns, whatever its name."""
    return _table(source, root) is not None


def read(source: Source, root: Folder) -> Listing:
    """Images of one patient are one group. JPEG files are read, not the DICOM ones."""
    table = _table(source, root)
    assert table is not None
    where = source.where(table)

    def class_names(labels: Sequence[str]) -> dict[str, str]:
        unknown = set(labels) - set(CLASSES)
        if unknown:
            raise UserError(f"{where}: target {min(unknown)!r}; legal: 0, 1")
        return CLASSES

    return read_labelled(source, root, table, COLUMNS, LAYOUT, class_names)


def _table(source: Source, root: Folder) -> str | None:
    tables = (root.join(name) for name in root.files if name.lower().endswith(".csv"))
    needed = set(COLUMNS.names())
    return next((table for table in tables if needed <= set(columns_of(source, table))), None)
