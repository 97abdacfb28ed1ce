"""What a study keeps of its datasets: all but the images, so that it can be read without them."""

import filecmp
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from anynet_study.data.packed.dataset import CAPTIONS, PackedDataset
from anynet_study.data.packed.digests import DIGESTS, check_kept, has_digests
from anynet_study.data.packed.meta import SPLITS
from anynet_study.files import naming, replacing_folder

KINDS = ("labels", "moments")
FILES = ("meta.json", *(f"{split}_{kind}.npy" for split in SPLITS for kind in KINDS))
#: The file with the group of each image, if there are groups: they stay whole in validation.
GROUPS = "split.csv"

#: The folder, and the datasets that were opened in it.
_KEPT: ContextVar[tuple[Path, dict[str, PackedDataset]] | None] = ContextVar("kept", default=None)


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
            with naming(temporary / name):
                (temporary / name).write_bytes((source / name).read_bytes())


@contextmanager
def reading_kept(folder: Path) -> Iterator[None]:
    """Inside, datasets whose labels are kept in `folder` are those; they have no images."""
    before = _KEPT.set((folder, {}))
    try:
        yield
    finally:
        _KEPT.reset(before)


def kept_dataset(name: str) -> PackedDataset | None:
    """The dataset without its images; None outside `reading_kept`, and for what is not kept.

    UserError for a file that has changed since.
    """
    if (reading := _KEPT.get()) is None:
        return None
    folder, opened = reading[0] / name, reading[1]
    if name not in opened:
        if not (folder / "meta.json").is_file():
            return None
        if has_digests(folder):
            check_kept(folder)
        opened[name] = PackedDataset.open(folder)
    return opened[name]
