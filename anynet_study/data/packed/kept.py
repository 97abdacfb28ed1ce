"""What a study keeps of its datasets: all but the images, so that looking at it needs no others."""

import filecmp
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from anynet_study.data.packed.dataset import CAPTIONS, PackedDataset
from anynet_study.data.packed.meta import SPLITS, read_meta
from anynet_study.files import naming

KINDS = ("labels", "moments")
FILES = ("meta.json", *(f"{split}_{kind}.npy" for split in SPLITS for kind in KINDS))
#: Which images belong together, where any do: validation images are drawn by groups.
GROUPS = "split.csv"

_FOLDER: ContextVar[Path | None] = ContextVar("kept", default=None)


def keep_labels(dataset: PackedDataset, folder: Path) -> None:
    """Keep all of a dataset but its images in `folder`, under its name, in the place of before."""
    source, target = dataset.folder, folder / dataset.folder.name
    captions = [CAPTIONS] if (source / CAPTIONS).exists() else []
    names = [*FILES, *captions, *([GROUPS] if dataset.meta.grouped else [])]
    whole = all((target / name).exists() for name in names)
    if whole and not any(filecmp.cmpfiles(source, target, ["meta.json", *captions], False)[1:]):
        return
    temporary = folder / f".{target.name}.{os.getpid()}.tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    for name in names:
        with naming(temporary / name):
            (temporary / name).write_bytes((source / name).read_bytes())
    shutil.rmtree(target, ignore_errors=True)
    temporary.rename(target)


@contextmanager
def reading_kept(folder: Path) -> Iterator[None]:
    """Inside, datasets whose labels are kept in `folder` are those; they have no images."""
    before = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(before)


def kept_dataset(name: str) -> PackedDataset | None:
    """The dataset without its images; None outside `reading_kept`, and for what is not kept."""
    folder = _FOLDER.get()
    if folder is None or not (folder / name / "meta.json").is_file():
        return None
    return PackedDataset(folder / name, read_meta(folder / name / "meta.json"))
