"""The part of datasets that a study keeps, to be read without them: all but the images."""

import filecmp
import shutil
from pathlib import Path

from anynet_study.core.files import naming, open_regular, replacing_folder
from anynet_study.data.packed.dataset import CAPTIONS, PackedDataset
from anynet_study.data.packed.digests import DIGESTS, check_kept, has_digests
from anynet_study.data.packed.meta import SPLITS

KINDS = ("labels", "moments")
FILES = ("meta.json", *(f"{split}_{kind}.npy" for split in SPLITS for kind in KINDS))
#: The file with the group of each image, if there are groups: they stay whole in validation.
GROUPS = "split.csv"


def keep_labels(dataset: PackedDataset, folder: Path) -> None:
    """Copy a dataset without its images to `folder`, under its name; replace an older copy."""
    source, target = dataset.folder, folder / dataset.folder.name
    # A dataset of an older version may have no digests.
    changing = [name for name in (CAPTIONS, DIGESTS) if (source / name).exists()]
    names = [*FILES, *changing, *([GROUPS] if dataset.meta.grouped else [])]
    whole = all((target / name).exists() for name in names)
    if whole and not any(filecmp.cmpfiles(source, target, ["meta.json", *changing], False)[1:]):
        return
    with replacing_folder(target) as temporary:
        for name in names:
            made = temporary / name
            with naming(made), open_regular(source / name) as file, made.open("xb") as copy:
                shutil.copyfileobj(file, copy)


class KeptDatasets:
    """The datasets of which a study keeps all but the images in `folder`, each opened once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._opened: dict[str, PackedDataset] = {}

    def find(self, name: str) -> PackedDataset | None:
        """The dataset without its images; None for what is not kept.

        UserError for a file that has changed since.
        """
        folder = self.folder / name
        if name not in self._opened:
            if not (folder / "meta.json").is_file():
                return None
            if has_digests(folder):
                check_kept(folder)
            self._opened[name] = PackedDataset.open(folder)
        return self._opened[name]
